// trace.mjs <node_modules> <folder>: trace.json.gz of a run through Perfetto's own trace processor. It must have nothing
// to complain about and drop nothing; counts and times of kernels, copies, operators, stages and idle time must be those of
// profile.json.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { open } from "./trace_processor.mjs";

const [modules, folder] = process.argv.slice(2);
const profile = JSON.parse(readFileSync(join(folder, "profile.json"), "utf8"));
const trace = await open(modules, join(folder, "trace.json.gz"));
assert.deepEqual(await trace.query("select name, value from stats where severity != 'info' and value > 0"), [], "no error, nothing dropped");

const isCopy = "(s.name like 'copy%' or s.name = 'memset')";
const argument = key => `(select string_value from args where args.arg_set_id = s.arg_set_id and args.key = 'args.${key}')`;
const inStreams = "from slice s join thread_track t on s.track_id = t.id join thread using (utid) left join process using (upid) where thread.name like 'stream %'";
const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);

// Kernels: a trace has short names, so that pairs of calls and time are compared, and of each the words of its name.
const kernels = await trace.query(`select s.name kernel, process.name device, count(*) calls, sum(s.dur) total_ns ${inStreams} and not ${isCopy} group by 1, 2`);
const numbers = (calls, totalNs) => `${calls} launches, ${totalNs} ns`;
const traced = kernels.map(row => [numbers(row.calls, row.total_ns), row.kernel]).sort();
const wanted = profile.kernels.overall.map(row => [numbers(row.calls_count, row.total_ns), row.kernel_name]).sort();
assert.deepEqual(traced.map(([text]) => text), wanted.map(([text]) => text), "launches and time of each kernel");
const isAlone = text => wanted.filter(([other]) => other === text).length === 1;
traced.forEach(([text, name], index) => {
  const word = /[A-Za-z_]\w*/.exec(name)[0];
  if (isAlone(text)) assert.ok(wanted[index][1].includes(word), `${name} is ${wanted[index][1]}`);
});

// Each operator of each stage, and the copies, by the place that the trace tells of them.
const places = await trace.query(`
  select ifnull(${argument("stage")}, '') stage, ifnull(${argument("operator")}, '') op, ${isCopy} is_copy, count(*) calls, sum(s.dur) total_ns
  ${inStreams} group by 1, 2, 3`);
let operators = 0, copies = 0;
for (const stage of profile.stages) {
  const here = places.filter(row => row.stage === stage.name), work = new Map();
  for (const group of stage.kernel_groups ?? []) {
    const sums = work.get(group.op_name ?? "") ?? { calls: 0, total_ns: 0 };
    work.set(group.op_name ?? "", { calls: sums.calls + group.calls_count, total_ns: sums.total_ns + group.total_ns });
  }
  for (const row of here.filter(one => !one.is_copy)) {
    assert.deepEqual({ calls: row.calls, total_ns: row.total_ns }, work.get(row.op), `${stage.name}, ${row.op}: launches and their time`);
    work.delete(row.op);
    operators += 1;
  }
  assert.deepEqual([...work.keys()], [], `${stage.name}: operators that the trace lacks`);
  const activity = stage.traced?.activity, copied = here.filter(row => row.is_copy);
  if (!activity) continue;
  assert.deepEqual([sum(copied, "calls"), sum(copied, "total_ns")], [activity.copies_count, activity.copy_ns], `${stage.name}: copies and their time`);
  copies += activity.copies_count;
}

// Each arrow leads from a call of the host to a kernel, which did not start before it.
const arrows = await trace.query(`
  select count(*) n, sum(o.name not like 'launch a %') not_of_launches, sum(t.name not like 'stream %') not_to_kernels,
    sum(i.ts < o.ts) backwards from flow
  join slice o on flow.slice_out = o.id join slice i on flow.slice_in = i.id
  join thread_track k on i.track_id = k.id join thread t on k.utid = t.utid`);
const calls = await trace.query("select count(*) n from slice where name like 'launch a %'");
assert.equal(arrows[0].n, calls[0].n, "an arrow a launch");
if (arrows[0].n > 0) assert.deepEqual([arrows[0].not_of_launches, arrows[0].not_to_kernels, arrows[0].backwards], [0, 0, 0]);
const shaped = await trace.query(`
  select count(distinct s.id) n from slice s join args using (arg_set_id) where args.key = 'args.grid'`);
assert.equal(shaped[0].n, sum(kernels, "calls"), "kernels with their grids");
const idle = await trace.query(`
  select sum(s.dur) total_ns from slice s join thread_track t on s.track_id = t.id join thread using (utid)
  where thread.name like 'idle%'`);
const gaps = profile.stages.reduce((total, stage) => total + (stage.traced?.activity?.gap_ns ?? 0), 0);
assert.equal(idle[0].total_ns ?? 0, gaps, "idle time");
const stages = await trace.query(`
  select s.name stage, sum(s.dur) total_ns from slice s join thread_track t on s.track_id = t.id join thread using (utid)
  where thread.name like '%NVTX%' group by 1`);
for (const stage of profile.stages)
  if (stage.traced && !stage.traced.ranks)
    assert.equal(stages.find(row => row.stage === stage.name)?.total_ns, stage.traced.duration_ns, stage.name);
// Operators by the host's time: the ranges inside of a stage's.
const ranges = await trace.query(`
  with nvtx as (select s.id, s.name, s.ts, s.dur from slice s join thread_track t on s.track_id = t.id join thread using (utid) where thread.name like '%NVTX%')
  select stage.name stage, op.name op, count(*) calls, sum(op.dur) total_ns from nvtx stage
  join nvtx op on op.id != stage.id and op.ts >= stage.ts and op.ts + op.dur <= stage.ts + stage.dur group by 1, 2`);
let timed = 0;
for (const stage of profile.stages)
  for (const op of stage.operators ?? []) {
    if (op.total_ns == null || stage.traced.ranks) continue;
    const { calls, total_ns } = ranges.find(row => row.stage === stage.name && row.op === op.op_name) ?? {};
    assert.deepEqual([calls, total_ns], [op.calls_count, op.total_ns], `${stage.name}, ${op.op_name}: calls and the host's time`);
    timed += 1;
  }
console.log(`${basename(folder)}: ${timed} operators of the host, ${kernels.length} kernels, ${operators} operators, ${copies} copies agree, ${arrows[0].n} arrows`);
process.exit(0);

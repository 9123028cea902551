// trace.mjs <node_modules> <folder>: trace.json.gz of a run through Perfetto's own trace processor. It must have nothing
// to complain about and drop nothing; counts and times must be those of profile.json.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { open } from "./trace_processor.mjs";

const [modules, folder] = process.argv.slice(2);
const profile = JSON.parse(readFileSync(join(folder, "profile.json"), "utf8"));
const trace = await open(modules, join(folder, "trace.json.gz"));
assert.deepEqual(await trace.query("select name, value from stats where severity != 'info' and value > 0"), [], "no error, nothing dropped");

const rows = await trace.query(`
  select s.name kernel, count(*) calls, sum(s.dur) total_ns from slice s
  join thread_track t on s.track_id = t.id join thread using (utid)
  where thread.name like 'stream %' and s.name not like 'copy%' and s.name != 'memset' group by 1`);
const wanted = profile.kernels.overall;
assert.equal(rows.reduce((sum, row) => sum + row.calls, 0), wanted.reduce((sum, kernel) => sum + kernel.calls_count, 0), "launches");
assert.equal(rows.reduce((sum, row) => sum + row.total_ns, 0), wanted.reduce((sum, kernel) => sum + kernel.total_ns, 0), "their time");
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
assert.equal(shaped[0].n, rows.reduce((sum, row) => sum + row.calls, 0), "kernels with their grids");
const idle = await trace.query(`
  select sum(s.dur) total_ns from slice s join thread_track t on s.track_id = t.id join thread using (utid)
  where thread.name like 'idle%'`);
const gaps = profile.stages.reduce((sum, stage) => sum + (stage.traced?.activity?.gap_ns ?? 0), 0);
assert.equal(idle[0].total_ns ?? 0, gaps, "idle time");
const stages = await trace.query(`
  select s.name stage, sum(s.dur) total_ns from slice s join thread_track t on s.track_id = t.id join thread using (utid)
  where thread.name like '%NVTX%' group by 1`);
for (const stage of profile.stages)
  if (stage.traced && !stage.traced.ranks)
    assert.equal(stages.find(row => row.stage === stage.name)?.total_ns, stage.traced.duration_ns, stage.name);
console.log(`${rows.length} kernels agree, ${arrows[0].n} arrows`);
process.exit(0);

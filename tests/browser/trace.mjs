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
console.log(`${rows.length} kernels agree`);
process.exit(0);

// What report.html must show of a profile.json and a verdict.json.
import * as show from "./formats.mjs";

const narrowest = 3, mostRows = 1000;  // of a picture 1000 wide; of the table
const sum = values => values.reduce((total, value) => total + value, 0);
const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** What was counted of a kernel under an operator, all its grids together. */
function countersOf(stage, kernel, op) {
  const grids = (stage.counters?.kernels ?? []).filter(one => one.kernel_name === kernel && (one.op ?? "") === op);
  const reached = grids.filter(one => one.share_ratio != null && one.reached_ratio != null);
  const share = sum(reached.map(one => one.share_ratio));
  return { bound: grids[0]?.bound ?? "", roof: share > 0 ? sum(reached.map(one => one.share_ratio * one.reached_ratio)) / share : null };
}

function kernelRows(stage) {
  const rows = new Map();
  for (const group of stage.kernel_groups ?? []) {
    const kernel = group.kernel_name ?? "", op = group.op_name ?? "", key = JSON.stringify([kernel, op]);
    if (!rows.has(key)) rows.set(key, { stage: stage.name, kernel, op, own: 0, calls: 0, ...countersOf(stage, kernel, op) });
    rows.get(key).own += group.own_ns ?? group.total_ns ?? 0;
    rows.get(key).calls += group.calls_count ?? 0;
  }
  const all = [...rows.values()].sort((a, b) => byBytes(a.kernel, b.kernel) || byBytes(a.op, b.op));
  const whole = sum(all.map(row => row.own));
  for (const row of all) row.share = row.own / whole;
  return all;
}

function operatorRows(stage) {
  const rows = (stage.operators ?? []).map(one => ({ stage: stage.name, kernel: "", op: one.op_name ?? "", own: one.exclusive_ns ?? 0, calls: one.calls_count ?? 0, share: one.share_ratio, bound: "", roof: null }));
  const rest = stage.traced?.uncovered_ns;
  const hostNs = stage.traced?.thread_ns ?? stage.traced?.duration_ns;
  if (rows.length > 0 && rest > 0 && hostNs > 0)
    rows.push({ stage: stage.name, kernel: "", op: "(no operator)", own: rest, calls: 0, share: rest / hostNs, bound: "", roof: null });
  return rows;
}

const larger = (a, b) => b.own - a.own;

/** Rows of the table in its order, and of each stage in that of the icicle. */
export function rowsOf(profile) {
  const stages = profile.stages.map(stage => {
    const kernels = kernelRows(stage);
    return (kernels.length > 0 ? kernels : operatorRows(stage)).filter(row => row.own > 0).sort(larger);
  });
  const table = stages.flat().sort(larger);
  return { stages, table: table.slice(0, mostRows) };
}

/** The texts of a row, as a list: stage, whole name, operator, own time, share, calls, own time a launch, of its roof, bound by. */
export function textsOf(row, hasCounters) {
  const cells = [row.stage, row.kernel || row.op, row.kernel ? row.op : "", show.duration(row.own), row.share == null ? "–" : show.percent(row.share),
    row.calls > 0 ? String(row.calls) : "", row.calls > 0 ? show.duration(row.own / row.calls) : ""];
  return hasCounters ? [...cells, row.roof == null ? "" : show.ofRoof(row.roof), row.bound] : cells;
}

/** Blocks of the icicle, each with its rows; neighbours that are too narrow are one. */
export function blocksOf(stages) {
  const drawn = stages.map(rows => rows.filter(row => row.share != null)).filter(rows => rows.length > 0);
  const all = drawn.flat(), total = sum(all.map(row => row.own));
  const widthOf = rows => 1000 * sum(rows.map(row => row.own)) / total;
  const hasKernels = all[0]?.kernel !== "", hasOperators = !hasKernels || all.some(row => row.op !== "");
  const blocks = [];
  const put = (rows, layer, x, label) => blocks.push({ rows, layer, x, width: widthOf(rows), label });
  const layOut = (groups, left, layer, labelOf) => {
    let x = left, narrow = [];
    const putNarrow = () => {
      const rows = narrow.flat();
      if (widthOf(rows) >= narrowest) put(rows, layer, x - widthOf(rows), `${narrow.length} smaller`);
      narrow = [];
    };
    const lefts = groups.map(rows => {
      const at = x;
      if (widthOf(rows) < narrowest) narrow.push(rows);
      else { putNarrow(); put(rows, layer, at, labelOf(rows[0])); }
      x += widthOf(rows);
      return at;
    });
    putNarrow();
    return lefts;
  };
  layOut(drawn, 0, 0, row => row.stage).forEach((left, index) => {
    const names = [...new Set(drawn[index].map(row => row.op))].sort(byBytes);
    const operators = names.map(op => drawn[index].filter(row => row.op === op)).sort((a, b) => widthOf(b) - widthOf(a));
    const lefts = hasOperators ? layOut(operators, left, 1, row => row.op || "(no operator)") : [left];
    if (hasKernels) operators.forEach((rows, at) => rows[0].kernel && layOut(rows.map(row => [row]), lefts[at], hasOperators ? 2 : 1, row => row.kernel));
  });
  return blocks;
}

/** Label, value, change and note of each card. */
export function cardsOf(profile, verdict) {
  const { ttft, tpot, ...throughput } = profile.throughput, cards = [];
  const put = (label, value, note = "", stage = "") => {
    const numbers = verdict?.stages.find(one => one.stage === stage)?.numbers;
    cards.push([label, value, numbers ? `${show.change(numbers.slowdown_ratio)} against the baseline` : "", note]);
  };
  const p50 = (name, times) => (times.samples_count === 1 ? `${name}, n = 1` : `${name}, p50`);
  if (ttft.p50_ns != null) put(p50("TTFT", ttft), show.duration(ttft.p50_ns), "time to first token", "prefill");
  if (tpot.p50_ns != null)
    put(p50("TPOT", tpot), show.duration(tpot.p50_ns), `time per output token${tpot.p99_ns == null ? "" : `; p99 ${show.duration(tpot.p99_ns)}`}`, "decode_all");
  const rate = throughput.tokens_median_per_s, peak = throughput.memory_peak_bytes;
  if (rate != null) put("tokens/s", show.number(rate), `decoded, p50${throughput.batch_count > 1 ? `, batch ${throughput.batch_count}` : ""}`);
  if (throughput.energy_per_decoded_token_j != null)
    put("energy per token", show.energy(throughput.energy_per_decoded_token_j, throughput.energy_uncertainty_ratio), "decoded");
  if (rate == null)  // a program that tells nothing of tokens: its steps
    for (const { name, step } of profile.stages)
      if (step?.median_ns != null && cards.length < (peak == null ? 6 : 5)) put(name, show.duration(step.median_ns), step.source ?? "", name);
  if (peak != null) put("peak memory", show.bytes(peak));
  return cards;
}

/** "decode_all: 3.99 ms a token" */
export function headingOf(profile, stage) {
  const tokens = stage.name === "decode_all" && profile.throughput.decode_tokens_count > 0 ? profile.throughput.decode_tokens_count : 1;
  const median = (stage.step ?? stage.bare ?? {}).median_ns;
  return `${stage.name}: ${median == null ? "–" : show.duration(median / tokens)}${tokens > 1 && median != null ? " a token" : ""}`;
}

/** How many bars each row of a strip has: ranges are drawn four deep. */
export function barsOf(strip) {
  return strip.rows.filter(row => row.starts_ns.length === row.names.length).map(row => {
    const open = [];
    return row.starts_ns.filter((start, index) => {
      while (open.length > 0 && open.at(-1) <= start) open.pop();
      return open.push(start + row.durations_ns[index]) <= 4;
    }).length;
  });
}

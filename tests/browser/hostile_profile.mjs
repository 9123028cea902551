// hostile_profile.mjs <profile.json> <result>: the same run, in which whoever names kernels, operators, stages and devices wants
// a page to run a program or to ask for something. window.wasRun, a dialog or a request tells that one of them succeeded.
import { readFileSync, writeFileSync } from "node:fs";

const [from, to] = process.argv.slice(2);
const attacks = [
  `<img src=x onerror="window.wasRun=1">`,
  `"><script>window.wasRun=2;alert(2)</script>`,
  `</style></title></svg><script>window.wasRun=3</script>`,
  `' onmouseover='window.wasRun=4' "onfocus="window.wasRun=5" autofocus x="`,
  `</script><link rel=stylesheet href=http://localhost:9/a.css>`,
  `<svg onload=window.wasRun=6><!--`,
  `{{ run.pair }}{% include "page.css" %}`,
];
const named = new Set(["kernel_name", "op_name", "op", "stage", "stages", "name", "names", "what", "capture", "label", "device", "devices", "device_name",
  "category", "text", "evidence", "summary", "source", "method", "key", "value", "reason"]);
const kept = new Set(["decode_all"]);  // its figures are told by the token
const renamed = new Map();

/** One name is one name wherever it stands. */
function attack(name) {
  if (kept.has(name) || name === "") return name;
  if (!renamed.has(name)) renamed.set(name, attacks[renamed.size % attacks.length] + name);
  return renamed.get(name);
}

function walk(value, key) {
  if (typeof value === "string") return named.has(key) ? attack(value) : value;
  if (Array.isArray(value)) return value.map(element => walk(element, key));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, walk(inner, field)]));
}

const { environment, ...profile } = JSON.parse(readFileSync(from, "utf8"));
const hostile = walk(profile, "");
writeFileSync(to, JSON.stringify({ ...hostile, run: { ...hostile.run, pair: profile.run.pair }, environment }));

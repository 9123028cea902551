#include "trace_generator.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace profgate::bench {
namespace {

constexpr int layers = 32;
constexpr std::int64_t process = (std::int64_t{1} << 48) | (std::int64_t{4242} << 24);
constexpr std::int64_t thread = process | 4242;

struct operator_kind {
  const char* name;
  const char* kernel;
  int blocks;
  int mean_ns;
};

// The kernels of a decode step, with names as long as real ones.
constexpr std::array<operator_kind, 5> layer_operators{{
    {"attn.qkv",
     "void llm::cuda::vector_products::gemv<__nv_bfloat16, (llm::cuda::product_end)0, "
     "(llm::cuda::vector_products::weight_layout)0, (int)2, "
     "(int)4>(llm::cuda::vector_products::arguments<T1>)",
     256, 5400},
    {"attn.core",
     "void llm::cuda::attention_decode::split_attention<__nv_bfloat16, (int)128, (int)2, "
     "(int)8>(llm::cuda::attention_inputs<T1>, llm::cuda::attention_decode::token_place, llm::split_scratch)",
     8, 5900},
    {"attn.out",
     "void llm::cuda::vector_products::gemv<__nv_bfloat16, (llm::cuda::product_end)1, "
     "(llm::cuda::vector_products::weight_layout)0, (int)1, "
     "(int)8>(llm::cuda::vector_products::arguments<T1>)",
     128, 6800},
    {"mlp.gate_up",
     "void llm::cuda::vector_products::gemv<__nv_bfloat16, (llm::cuda::product_end)2, "
     "(llm::cuda::vector_products::weight_layout)0, (int)1, "
     "(int)4>(llm::cuda::vector_products::arguments<T1>)",
     264, 6700},
    {"mlp.down",
     "void llm::cuda::vector_products::gemv<__nv_bfloat16, (llm::cuda::product_end)1, "
     "(llm::cuda::vector_products::weight_layout)0, (int)1, "
     "(int)8>(llm::cuda::vector_products::arguments<T1>)",
     136, 7000},
}};
constexpr operator_kind embed{"embed", "void llm::cuda::tokens::embed_kernel<__nv_bfloat16>(const T1 *, int)",
                              1, 1300};
constexpr operator_kind lm_head{
    "lm_head",
    "void llm::cuda::vector_products::gemv<__nv_bfloat16, (llm::cuda::product_end)3, "
    "(llm::cuda::vector_products::weight_layout)0, (int)2, "
    "(int)4>(llm::cuda::vector_products::arguments<T1>)",
    264, 72000};
constexpr operator_kind sample{"sample", "llm::cuda::tokens::choose_kernel(const float *, int, int)", 64,
                               70000};
constexpr int block_threads = 256;

std::vector<operator_kind> step_operators() {
  std::vector<operator_kind> kinds{embed};
  for (int layer = 0; layer < layers; ++layer) {
    kinds.insert(kinds.end(), layer_operators.begin(), layer_operators.end());
  }
  kinds.insert(kinds.end(), {lm_head, sample});
  return kinds;
}

std::string mangled_name(const operator_kind& kind) {
  return "_ZN" + std::string(kind.name) + "_kernel";
}

constexpr const char* schema =
    "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME','NVIDIA Nsight Systems'),"
    "('EXPORT_PRODUCT_VERSION','2025.3.1'),('EXPORT_SCHEMA_VERSION','3.20.3');"
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT);"
    "INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'made');"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId "
    "INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId "
    "INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value "
    "INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass "
    "INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue "
    "INTEGER "
    "NOT NULL, callchainId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER "
    "NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId "
    "INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName "
    "INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER "
    "NOT "
    "NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, "
    "blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, "
    "localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, "
    "sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER "
    "NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId "
    "INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, graphNodeId INTEGER);"
    "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER "
    "NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, graphNodeId INTEGER NOT NULL, "
    "originalGraphNodeId INTEGER);";

constexpr std::int64_t first_node = (std::int64_t{2} << 32) + 1;  // as nsys numbers them

class database {
 public:
  explicit database(const std::filesystem::path& file) {
    std::filesystem::remove(file);
    sqlite3* opened = nullptr;
    check(sqlite3_open(file.c_str(), &opened));
    m_database.reset(opened);
    run("PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF");
  }
  void run(const char* text) { check(sqlite3_exec(m_database.get(), text, nullptr, nullptr, nullptr)); }
  sqlite3_stmt* prepare(const char* text) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(m_database.get(), text, -1, &statement, nullptr));
    return statement;
  }
  static void check(int result) {
    if (result != SQLITE_OK) throw std::runtime_error(sqlite3_errstr(result));
  }

 private:
  struct closer {
    void operator()(sqlite3* opened) const { sqlite3_close_v2(opened); }
  };
  std::unique_ptr<sqlite3, closer> m_database;
};

class insertion {
 public:
  insertion(database& into, const char* text) : m_statement(into.prepare(text)) {}
  ~insertion() { sqlite3_finalize(m_statement); }
  insertion(const insertion&) = delete;
  insertion& operator=(const insertion&) = delete;

  void row(std::initializer_list<std::int64_t> values) {
    int column = 0;
    for (const std::int64_t value : values) sqlite3_bind_int64(m_statement, ++column, value);
    if (sqlite3_step(m_statement) != SQLITE_DONE) throw std::runtime_error("a row was refused");
    sqlite3_reset(m_statement);
  }

 private:
  sqlite3_stmt* m_statement;
};

/// Host and device clocks of the made run.
class writer {
 public:
  explicit writer(const std::filesystem::path& file)
      : m_database(file), m_ready((m_database.run(schema), true)) {
    m_database.run("BEGIN");
    m_domain.row({1, 75, thread, text("LLM"), 1});
  }

  std::int64_t text(const std::string& value) {
    const auto known = m_texts.find(value);
    if (known != m_texts.end()) return known->second;
    const auto id = static_cast<std::int64_t>(m_texts.size()) + 1;
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> insert(
        m_database.prepare("INSERT INTO StringIds VALUES (?, ?)"), sqlite3_finalize);
    sqlite3_bind_int64(insert.get(), 1, id);
    sqlite3_bind_text(insert.get(), 2, value.c_str(), -1, SQLITE_TRANSIENT);
    sqlite3_step(insert.get());
    return m_texts[value] = id;
  }

  /// Each operator in its range, with a call of its own.
  void launch(const operator_kind& kind) {
    const std::int64_t opened = m_host_ns += 300;
    const std::int64_t called = m_host_ns += 400;
    m_host_ns += 3000 + random(1500);
    ++m_correlation;
    m_calls.row({called, m_host_ns, 0, thread, m_correlation, text("cudaLaunchKernelExC_v11060"), 0});
    run(kind, called + 5000, 0);
    m_host_ns += 300;
    m_ranges.row({opened, m_host_ns, 59, thread, text(kind.name), 1});
  }

  /// The whole step by one call: the host runs through no operator.
  void replay(const std::vector<operator_kind>& kinds) {
    const std::int64_t called = m_host_ns += 400;
    m_host_ns += 20000 + random(1500);
    ++m_correlation;
    m_calls.row({called, m_host_ns, 0, thread, m_correlation, text("cudaGraphLaunch_v10000"), 0});
    std::int64_t node = first_node;
    for (const operator_kind& kind : kinds) run(kind, called + 15000, node++);
  }

  /// Under the ranges of their operators the nodes are made that replay() runs.
  void capture() {
    std::int64_t node = first_node;
    for (const operator_kind& kind : step_operators()) {
      const std::int64_t opened = m_host_ns += 300;
      m_host_ns += 2000;
      m_nodes.row({m_host_ns, m_host_ns, 77, thread, text("cudaLaunchKernelExC_v11060"), node++});
      m_ranges.row({opened, m_host_ns += 300, 59, thread, text(kind.name), 1});
    }
  }

  void stage(const char* name, std::int64_t steps, trace_kind how) {
    const std::vector<operator_kind> kinds = step_operators();
    const std::int64_t opened = m_host_ns += 100000;
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t step_opened = m_host_ns += 500;
      if (how == trace_kind::eager) {
        for (const operator_kind& kind : kinds) launch(kind);
      } else {
        replay(kinds);
      }
      wait();
      m_ranges.row({step_opened, m_host_ns += 200, 59, thread, text("decode_step"), 1});
    }
    m_ranges.row({opened, m_host_ns += 1000, 59, thread, text(name), 1});
  }

  void wait() {
    const std::int64_t called = m_host_ns += 100;
    m_host_ns = std::max(m_host_ns, m_device_ns) + 2000;
    m_calls.row({called, m_host_ns, 0, thread, ++m_correlation, text("cudaStreamSynchronize_v3020"), 0});
  }

  std::int64_t finish() {
    m_database.run("COMMIT");
    return m_written;
  }

 private:
  /// On the device, as soon as it is free; `node` 0: not from a graph.
  void run(const operator_kind& kind, std::int64_t earliest_ns, std::int64_t node) {
    const std::int64_t started = std::max(m_device_ns + 900, earliest_ns);
    m_device_ns = started + kind.mean_ns + random(kind.mean_ns / 4);
    const std::int64_t demangled = text(kind.kernel);
    const std::int64_t function = text(std::string(kind.name) + "_kernel");
    const std::int64_t mangled = text(mangled_name(kind));
    m_kernels.row({started,
                   m_device_ns,
                   0,
                   1,
                   0,
                   13,
                   m_correlation,
                   process,
                   demangled,
                   function,
                   mangled,
                   1,
                   1,
                   64,
                   kind.blocks,
                   1,
                   1,
                   block_threads,
                   1,
                   1,
                   1024,
                   8192,
                   0,
                   0,
                   m_correlation,
                   32768,
                   node,
                   1});
    ++m_written;
  }

  std::int64_t random(int below) {
    return static_cast<std::int64_t>(m_random() % static_cast<unsigned>(below + 1));
  }

  database m_database;
  bool m_ready;
  insertion m_domain{
      m_database,
      "INSERT INTO NVTX_EVENTS (start, eventType, globalTid, text, domainId) SELECT ?1, ?2, ?3, "
      "value, ?5 FROM StringIds WHERE id = ?4"};
  insertion m_ranges{m_database,
                     "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId, domainId) VALUES "
                     "(?, ?, ?, ?, ?, ?)"};
  insertion m_calls{m_database, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, ?, ?, NULL)"};
  insertion m_kernels{m_database,
                      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                      "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, ?)"};
  insertion m_nodes{m_database, "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (?, ?, ?, ?, ?, ?, NULL)"};
  std::map<std::string, std::int64_t> m_texts;
  std::mt19937 m_random{1};
  std::int64_t m_host_ns = 1000000;
  std::int64_t m_device_ns = 0;
  std::int64_t m_correlation = 0;
  std::int64_t m_written = 0;
};

}  // namespace

std::int64_t write_trace(const std::filesystem::path& file, trace_kind kind, std::int64_t kernels) {
  const auto per_step = static_cast<std::int64_t>(step_operators().size());
  writer trace(file);
  if (kind == trace_kind::graph) trace.capture();
  trace.stage("prefill", 1, trace_kind::eager);
  trace.stage("decode_all", std::max<std::int64_t>(1, (kernels - 1) / per_step), kind);
  return trace.finish();
}

}  // namespace profgate::bench

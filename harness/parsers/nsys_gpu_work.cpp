#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "gpu_numbers.h"
#include "nsys_tables.h"
#include "sort_by_start.h"

namespace profgate::parsers {
namespace {

// ENUM_CUDA_MEMCPY_OPER
constexpr int host_to_device = 1;
constexpr int device_to_host = 2;
constexpr int device_to_device = 8;

// ENUM_CUDA_MEM_KIND
constexpr int pageable = 0;

std::uint32_t narrow(std::int64_t value) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(value) & 0xFFFFFFFF);
}

gpu_numbers read_gpu_numbers(const core::sqlite_database& database) {
  gpu_numbers gpus;
  const char* const table = "TARGET_INFO_CUDA_DEVICE";
  if (!database.has_table(table)) return gpus;
  for (const char* column : {"gpuId", "cudaId", "pid"})
    if (!database.has_column(table, column)) return gpus;
  core::sqlite_statement rows = database.query(fmt::format("SELECT gpuId, cudaId, pid FROM {}", table));
  while (rows.next()) {
    const int gpu = static_cast<int>(narrow(rows.integer(0)));
    gpus.add(narrow(rows.integer(2)), static_cast<int>(narrow(rows.integer(1))), gpu);
  }
  return gpus;
}

/// The first columns of every table of GPU work: start, end, deviceId, globalPid, correlationId.
constexpr const char* common_columns = "start, end, deviceId, globalPid, correlationId";

template <typename record>
void read_common(const core::sqlite_database& database, const core::sqlite_statement& rows, const char* what,
                 const gpu_numbers& gpus, record& work) {
  work.start_ns = rows.whole_number(0);
  work.end_ns = rows.whole_number(1);
  check_times(database, what, work.start_ns, work.end_ns);
  work.process_id = process_of(rows.integer(3));
  work.device = gpus.number(work.process_id, static_cast<int>(narrow(rows.integer(2))));
  work.correlation = narrow(rows.integer(4));
  work.launched_ns = work.start_ns;
}

void read_kernels(const core::sqlite_database& database, nsys_strings& strings, const gpu_numbers& gpus,
                  core::timeline& result) {
  const std::string table = "CUPTI_ACTIVITY_KIND_KERNEL";
  if (!database.has_table(table)) {
    result.kernels_absent_reason = database.has_table("TARGET_INFO_GPU")
                                       ? "nsys saw no kernel while it recorded"
                                       : "nsys found no GPU on the machine that recorded";
    return;
  }
  std::string columns = fmt::format("{}, demangledName, streamId", common_columns);
  for (const char* column : {"mangledName", "graphNodeId", "registersPerThread", "staticSharedMemory",
                             "dynamicSharedMemory", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
                             "clusterX", "clusterY", "clusterZ", "localMemoryPerThread"}) {
    columns += ", " + database.column_or_null(table, column);
  }
  result.kernels.reserve(database.rows_at_most(table));
  core::sqlite_statement rows = database.query(fmt::format("SELECT {} FROM {}", columns, table));
  while (rows.next()) {
    core::kernel_execution& kernel = result.kernels.emplace_back();
    read_common(database, rows, "a kernel", gpus, kernel);
    core::kernel_shape shape;
    shape.name = strings.at(rows.integer(5));
    kernel.stream = narrow(rows.integer(6));
    if (!rows.is_null(7)) shape.mangled_name = strings.at(rows.integer(7));
    kernel.graph_node = static_cast<std::uint64_t>(rows.integer(8));
    shape.registers_per_thread = narrow(rows.integer(9));
    shape.shared_bytes = narrow(rows.integer(10) + rows.integer(11));
    shape.dynamic_shared_bytes = narrow(rows.integer(11));
    for (std::size_t axis = 0; axis < 3; ++axis) {
      shape.grid[axis] = narrow(rows.integer(12 + static_cast<int>(axis)));
      shape.block[axis] = narrow(rows.integer(15 + static_cast<int>(axis)));
      shape.cluster[axis] = narrow(rows.integer(18 + static_cast<int>(axis)));
    }
    shape.local_bytes = narrow(rows.integer(21));
    kernel.shape = result.shapes.keep(shape);
  }
  sort_by_start(result.kernels);
}

core::copy_kind kind_of(std::int64_t copy_kind) {
  switch (copy_kind) {
    case host_to_device:
      return core::copy_kind::host_to_device;
    case device_to_host:
      return core::copy_kind::device_to_host;
    case device_to_device:
      return core::copy_kind::device_to_device;
    default:
      return core::copy_kind::other;
  }
}

void read_copies(const core::sqlite_database& database, const std::string& table, bool is_memset,
                 const gpu_numbers& gpus, core::timeline& result) {
  if (!database.has_table(table)) return;
  result.copies.reserve(result.copies.size() + database.rows_at_most(table));
  core::sqlite_statement rows = database.query(fmt::format(
      "SELECT {}, streamId, bytes, {}, {}, {}, {} FROM {}", common_columns,
      database.column_or_null(table, "graphNodeId"), is_memset ? "NULL" : "copyKind",
      database.column_or_null(table, "srcKind"), database.column_or_null(table, "dstKind"), table));
  const auto is_pageable = [&](int column) {
    return !rows.is_null(column) && rows.integer(column) == pageable;
  };
  while (rows.next()) {
    core::copy_execution& copy = result.copies.emplace_back();
    read_common(database, rows, is_memset ? "a memset" : "a copy", gpus, copy);
    copy.stream = narrow(rows.integer(5));
    copy.bytes = rows.integer(6);
    copy.graph_node = static_cast<std::uint64_t>(rows.integer(7));
    copy.kind = is_memset ? core::copy_kind::memset : kind_of(rows.integer(8));
    copy.is_pageable = is_pageable(9) || is_pageable(10);
  }
}

void read_opaque_graphs(const core::sqlite_database& database, const gpu_numbers& gpus,
                        core::timeline& result) {
  const std::string table = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
  if (!database.has_table(table)) return;
  core::sqlite_statement rows = database.query(fmt::format("SELECT {} FROM {}", common_columns, table));
  while (rows.next()) {
    read_common(database, rows, "a graph", gpus, result.opaque_graphs.emplace_back());
  }
  sort_by_start(result.opaque_graphs);
}

void read_graph_nodes(const core::sqlite_database& database, core::timeline& result) {
  const std::string table = "CUDA_GRAPH_NODE_EVENTS";
  if (!database.has_table(table)) return;
  result.graph_nodes.reserve(database.rows_at_most(table));
  core::sqlite_statement rows = database.query(
      fmt::format("SELECT start, globalTid, graphNodeId, {} FROM {} WHERE globalTid IS NOT NULL",
                  database.column_or_null(table, "originalGraphNodeId"), table));
  while (rows.next()) {
    const std::int64_t thread = rows.integer(1);
    result.graph_nodes.push_back({static_cast<std::uint64_t>(rows.integer(2)),
                                  static_cast<std::uint64_t>(rows.integer(3)), process_of(thread),
                                  thread_of(thread), rows.integer(0)});
  }
}

}  // namespace

void read_nsys_gpu_work(const core::sqlite_database& database, nsys_strings& strings,
                        core::timeline& result) {
  const gpu_numbers gpus = read_gpu_numbers(database);
  read_kernels(database, strings, gpus, result);
  read_copies(database, "CUPTI_ACTIVITY_KIND_MEMCPY", false, gpus, result);
  read_copies(database, "CUPTI_ACTIVITY_KIND_MEMSET", true, gpus, result);
  sort_by_start(result.copies);
  read_opaque_graphs(database, gpus, result);
  read_graph_nodes(database, result);
}

}  // namespace profgate::parsers

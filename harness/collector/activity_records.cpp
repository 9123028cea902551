#include "activity_records.h"

#include <cstring>

#include "capture_range.h"
#include "recording_file.h"

namespace profgate::collector {
namespace {

/// A kernel that a program launched inside of a capture range may start after its closing where the program
/// did not wait for the device. Whether it was launched inside, its call tells; the reader cuts exactly.
constexpr std::uint64_t longest_queue_ns = 10'000'000'000;

bool starts_with(const char* text, const char* start) {
  return std::strncmp(text, start, std::strlen(start)) == 0;
}

bool is_wanted_call(const char* name) {
  const char* const verb = starts_with(name, "cuda") ? name + 4 : starts_with(name, "cu") ? name + 2 : "";
  const bool is_launch = starts_with(verb, "Launch") && !starts_with(verb, "LaunchHostFunc");
  return is_launch || starts_with(verb, "GraphLaunch") || starts_with(verb, "Memcpy") ||
         starts_with(verb, "Memset") || std::strstr(verb, "Synchronize") != nullptr;
}

bool has_times(std::uint64_t start_ns, std::uint64_t end_ns) {
  return start_ns != 0 && end_ns >= start_ns;  // CUPTI writes zeros where it could not take them
}

std::uint32_t not_negative(std::int32_t value) {
  return value < 0 ? 0 : static_cast<std::uint32_t>(value);
}

copy_direction direction_of(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return copy_direction::host_to_device;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return copy_direction::device_to_host;
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return copy_direction::device_to_device;
    default:
      return copy_direction::other;
  }
}

/// Copies of every sort have these fields, under the same names.
template <typename cupti_record>
bool write_transfer(const cupti_record& record, copy_direction direction) {
  if (!has_times(record.start, record.end)) return false;
  if (!the_capture_range.was_open(record.start, longest_queue_ns)) return true;
  return the_recording.append(copy_record{record.start, record.end, record.bytes, record.graphNodeId,
                                          record.correlationId, record.deviceId, record.streamId,
                                          static_cast<std::uint32_t>(direction)});
}

}  // namespace

CUptiResult activity_records::enable_calls(const cupti_library& cupti) {
  const CUptiResult result = enable_calls_of(cupti, CUPTI_CB_DOMAIN_RUNTIME_API);
  return result == CUPTI_SUCCESS ? enable_calls_of(cupti, CUPTI_CB_DOMAIN_DRIVER_API) : result;
}

/// By name, not by number: the library that was found may know other calls than the headers. Where it cannot
/// choose single calls it records all of them, and write_call() drops the rest.
CUptiResult activity_records::enable_calls_of(const cupti_library& cupti, CUpti_CallbackDomain domain) {
  const bool is_runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  const auto enable_one = is_runtime ? cupti.enable_runtime_api : cupti.enable_driver_api;
  bool can_choose = enable_one != nullptr;
  for (std::uint32_t id = 1; id < max_callback_id; ++id) {
    const char* name = nullptr;
    if (cupti.get_callback_name(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) continue;
    if (!is_wanted_call(name)) continue;
    names_of(domain).name[id] = 1;
    can_choose = can_choose && enable_one(id, 1) == CUPTI_SUCCESS;
  }
  if (can_choose) return CUPTI_SUCCESS;
  return cupti.enable(is_runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER);
}

bool activity_records::write_kernel(const CUpti_ActivityKernel9& record) {
  if (!has_times(record.start, record.end)) return false;
  if (!the_capture_range.was_open(record.start, longest_queue_ns)) return true;
  const char* const name = record.name == nullptr ? "" : record.name;
  kernel_record kernel{};
  kernel.start_ns = record.start;
  kernel.end_ns = record.end;
  kernel.graph_node = record.graphNodeId;
  kernel.name_id = the_recording.intern(name, std::strlen(name));
  kernel.correlation = record.correlationId;
  kernel.device = record.deviceId;
  kernel.stream = record.streamId;
  kernel.grid[0] = not_negative(record.gridX);
  kernel.grid[1] = not_negative(record.gridY);
  kernel.grid[2] = not_negative(record.gridZ);
  kernel.block[0] = not_negative(record.blockX);
  kernel.block[1] = not_negative(record.blockY);
  kernel.block[2] = not_negative(record.blockZ);
  kernel.shared_bytes = not_negative(record.staticSharedMemory) + not_negative(record.dynamicSharedMemory);
  kernel.registers_per_thread = record.registersPerThread;
  kernel.cluster[0] = record.clusterX;
  kernel.cluster[1] = record.clusterY;
  kernel.cluster[2] = record.clusterZ;
  kernel.dynamic_shared_bytes = not_negative(record.dynamicSharedMemory);
  kernel.local_bytes = record.localMemoryPerThread;
  return kernel.name_id != 0 && the_recording.append(kernel);
}

bool activity_records::write_copy(const CUpti_ActivityMemcpy5& record) {
  return write_transfer(record, direction_of(record.copyKind));
}

bool activity_records::write_peer_copy(const CUpti_ActivityMemcpyPtoP4& record) {
  return write_transfer(record, copy_direction::device_to_device);
}

bool activity_records::write_memset(const CUpti_ActivityMemset4& record) {
  return write_transfer(record, copy_direction::memset);
}

bool activity_records::write_call(const cupti_library& cupti, const CUpti_ActivityAPI& record,
                                  CUpti_CallbackDomain domain) {
  if (record.cbid >= max_callback_id) return true;
  std::uint32_t& known = names_of(domain).name[record.cbid];
  if (known == 0) return true;
  if (!has_times(record.start, record.end)) return false;
  if (!the_capture_range.was_open(record.start, 0)) return true;
  if (known == 1) {
    const char* name = nullptr;
    if (cupti.get_callback_name(domain, record.cbid, &name) != CUPTI_SUCCESS || name == nullptr) return false;
    known = the_recording.intern(name, std::strlen(name)) + 1;
    if (known == 1) return false;
  }
  return the_recording.append(
      call_record{record.start, record.end, known - 1, record.threadId, record.correlationId, 0});
}

/// The structs are those of CUDA 12.0. Later ones are longer but start the same, so that records of any
/// library from 12 on can be read by them.
bool activity_records::write(const cupti_library& cupti, const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return write_kernel(reinterpret_cast<const CUpti_ActivityKernel9&>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return write_copy(reinterpret_cast<const CUpti_ActivityMemcpy5&>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return write_peer_copy(reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(record));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return write_memset(reinterpret_cast<const CUpti_ActivityMemset4&>(record));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return write_call(cupti, reinterpret_cast<const CUpti_ActivityAPI&>(record),
                        CUPTI_CB_DOMAIN_RUNTIME_API);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return write_call(cupti, reinterpret_cast<const CUpti_ActivityAPI&>(record),
                        CUPTI_CB_DOMAIN_DRIVER_API);
    default:
      return true;
  }
}

}  // namespace profgate::collector

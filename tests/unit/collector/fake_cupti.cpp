// A libcupti without a GPU: the functions that the collector uses, and the activity that a test asks for. It
// is a device for faults (a full buffer, a slow writer, a record without times, an error of any call) and the
// only way to drive the collector's writing thread on a machine without a driver.
//
//   FAKE_CUPTI_FAIL=<function>:<code>   that function returns this error
//   FAKE_CUPTI_NO_TIMES=1               kernels come without times, as where device memory ran out
//   FAKE_CUPTI_HOLD=1                   buffers are not readable before the collector has refused one, or the
//   end FAKE_CUPTI_ALL_CALLS=1              as a library that cannot choose single calls: others are recorded
//   too
#include <cupti.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#define FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr CUpti_CallbackId launch_id = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
constexpr CUpti_CallbackId graph_launch_id = CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000;
constexpr CUpti_CallbackId memcpy_id = CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020;
constexpr CUpti_CallbackId malloc_id = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;
constexpr CUpti_CallbackId driver_launch_id = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;

struct fake_state {
  std::recursive_mutex lock;
  std::condition_variable_any released;
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  CUpti_TimestampCallbackFunc timestamp = nullptr;
  std::set<CUpti_ActivityKind> kinds;
  std::set<std::pair<CUpti_ActivityKind, CUpti_CallbackId>> calls;
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  std::size_t dropped = 0;
  std::uint32_t correlation = 0;
  pid_t process = getpid();
  bool is_system_thread_id = false;
  bool is_held = std::getenv("FAKE_CUPTI_HOLD") != nullptr;
  std::vector<CUpti_ActivityKernel9> queued;
  CUpti_CallbackFunc on_event = nullptr;
  std::set<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> events;
};

fake_state& fake() {
  static auto* state = new fake_state;  // the collector's thread outlives static objects
  return *state;
}

CUptiResult result_of(const char* function) {
  const char* fail = std::getenv("FAKE_CUPTI_FAIL");
  if (fail == nullptr) return CUPTI_SUCCESS;
  const std::string text = fail;
  const std::size_t colon = text.find(':');
  return text.substr(0, colon) == function ? static_cast<CUptiResult>(std::atoi(text.c_str() + colon + 1))
                                           : CUPTI_SUCCESS;
}

std::uint64_t now() {
  return fake().timestamp == nullptr ? 1 : fake().timestamp();
}

void finish_buffer() {
  fake_state& state = fake();
  if (state.buffer != nullptr) state.complete(nullptr, 0, state.buffer, state.size, state.used);
  state.buffer = nullptr;
  state.used = 0;
}

/// Each record stands behind its size, so that any library's records can be walked.
template <typename record>
void append(const record& activity) {
  fake_state& state = fake();
  constexpr std::size_t bytes = sizeof(std::uint64_t) + (sizeof(record) + 7) / 8 * 8;
  if (state.buffer != nullptr && state.used + bytes > state.size) finish_buffer();
  if (state.buffer == nullptr) {
    std::size_t max_records = 0;
    state.request(&state.buffer, &state.size, &max_records);
  }
  if (state.buffer == nullptr) {
    ++state.dropped;
    state.is_held = false;
    state.released.notify_all();
    return;
  }
  const std::uint64_t length = bytes;
  std::memcpy(state.buffer + state.used, &length, sizeof length);
  std::memcpy(state.buffer + state.used + sizeof length, &activity, sizeof activity);
  state.used += bytes;
}

bool is_enabled(CUpti_ActivityKind kind) {
  return fake().kinds.count(kind) > 0;
}

void record_call(CUpti_ActivityKind kind, CUpti_CallbackId id, std::uint64_t start_ns, std::uint64_t end_ns) {
  fake_state& state = fake();
  if (!is_enabled(kind) && state.calls.count({kind, id}) == 0) return;
  CUpti_ActivityAPI call{};
  call.kind = kind;
  call.cbid = id;
  call.start = start_ns;
  call.end = end_ns;
  call.processId = static_cast<std::uint32_t>(getpid());
  call.threadId = state.is_system_thread_id ? static_cast<std::uint32_t>(syscall(SYS_gettid)) : 4242;
  call.correlationId = state.correlation;
  append(call);
}

void record_kernel(CUpti_ActivityKernel9 kernel) {
  if (!is_enabled(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)) return;
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  if (std::getenv("FAKE_CUPTI_NO_TIMES") == nullptr) {
    kernel.start = now();
    kernel.end = kernel.start + 1000;
  }
  append(kernel);
}

CUpti_ActivityKernel9 kernel_of(const char* name, std::uint64_t graph_node) {
  CUpti_ActivityKernel9 kernel{};
  kernel.deviceId = 1;
  kernel.streamId = 7;
  kernel.gridX = 2;
  kernel.gridY = 3;
  kernel.gridZ = 4;
  kernel.blockX = 128;
  kernel.blockY = 1;
  kernel.blockZ = 1;
  kernel.registersPerThread = 40;
  kernel.staticSharedMemory = 1024;
  kernel.dynamicSharedMemory = 512;
  kernel.localMemoryPerThread = 24;
  kernel.clusterX = 2;
  kernel.clusterY = 1;
  kernel.clusterZ = 4;
  kernel.correlationId = fake().correlation;
  kernel.graphNodeId = graph_node;
  kernel.name = name;
  return kernel;
}

}  // namespace

// What a test's program asks for. `name` must stay valid, as CUPTI's names do.

FAKE_EXPORT void fake_launch(const char* name, std::uint32_t node_count, int is_queued) {
  fake_state& state = fake();
  const std::lock_guard lock(state.lock);
  ++state.correlation;
  const std::uint64_t start_ns = now();
  // The runtime calls the driver, and both are recorded.
  record_call(CUPTI_ACTIVITY_KIND_DRIVER, driver_launch_id, start_ns, start_ns + 10);
  record_call(CUPTI_ACTIVITY_KIND_RUNTIME, node_count > 0 ? graph_launch_id : launch_id, start_ns,
              start_ns + 20);
  if (is_queued != 0) {
    state.queued.push_back(kernel_of(name, 0));
    return;
  }
  if (node_count == 0) record_kernel(kernel_of(name, 0));
  for (std::uint32_t node = 1; node <= node_count; ++node) record_kernel(kernel_of(name, node));
}

FAKE_EXPORT void fake_run_queued() {
  const std::lock_guard lock(fake().lock);
  for (const CUpti_ActivityKernel9& kernel : fake().queued) record_kernel(kernel);
  fake().queued.clear();
}

FAKE_EXPORT void fake_copy(std::uint64_t bytes, int is_memset) {
  fake_state& state = fake();
  const std::lock_guard lock(state.lock);
  ++state.correlation;
  const std::uint64_t start_ns = now();
  record_call(CUPTI_ACTIVITY_KIND_RUNTIME, malloc_id, start_ns, start_ns + 5);
  record_call(CUPTI_ACTIVITY_KIND_RUNTIME, memcpy_id, start_ns, start_ns + 20);
  if (is_memset != 0) {
    CUpti_ActivityMemset4 record{};
    record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    record.bytes = bytes;
    record.start = start_ns + 100;
    record.end = start_ns + 200;
    record.correlationId = state.correlation;
    append(record);
    return;
  }
  CUpti_ActivityMemcpy5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  record.bytes = bytes;
  record.start = start_ns + 100;
  record.end = start_ns + 300;
  record.correlationId = state.correlation;
  append(record);
}

/// A node is made, or copied from `original`; nodes are numbers here.
FAKE_EXPORT void fake_graph_node(std::uint64_t node, std::uint64_t original) {
  const CUpti_CallbackId id =
      original == 0 ? CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED : CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
  if (fake().events.count({CUPTI_CB_DOMAIN_RESOURCE, id}) == 0) return;
  CUpti_GraphData graph{};
  graph.node = reinterpret_cast<CUgraphNode>(node);
  graph.originalNode = reinterpret_cast<CUgraphNode>(original);
  CUpti_ResourceData resource{};
  resource.resourceDescriptor = &graph;
  fake().on_event(nullptr, CUPTI_CB_DOMAIN_RESOURCE, id, &resource);
}

FAKE_EXPORT void fake_module_load(const char* image, std::size_t bytes) {
  const CUpti_CallbackId id = CUPTI_CBID_RESOURCE_MODULE_LOADED;
  if (fake().events.count({CUPTI_CB_DOMAIN_RESOURCE, id}) == 0) return;
  CUpti_ModuleResourceData loaded{};
  loaded.cubinSize = bytes;
  loaded.pCubin = image;
  CUpti_ResourceData resource{};
  resource.resourceDescriptor = &loaded;
  fake().on_event(nullptr, CUPTI_CB_DOMAIN_RESOURCE, id, &resource);
}

/// The capture of a stream begins or ends: the runtime calls the driver.
FAKE_EXPORT void fake_capture_call(int is_begin, int by_driver, int by_runtime, std::uint32_t result) {
  const CUpti_CallbackId driver_id = is_begin != 0 ? CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2
                                                   : CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture;
  const CUpti_CallbackId runtime_id = is_begin != 0 ? CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000
                                                    : CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000;
  const auto tell = [&](bool is_asked, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        CUpti_ApiCallbackSite site) {
    if (!is_asked || fake().events.count({domain, id}) == 0) return;
    CUpti_CallbackData call{};
    call.callbackSite = site;
    call.functionReturnValue = &result;
    fake().on_event(nullptr, domain, id, &call);
  };
  tell(by_runtime != 0, CUPTI_CB_DOMAIN_RUNTIME_API, runtime_id, CUPTI_API_ENTER);
  tell(by_driver != 0, CUPTI_CB_DOMAIN_DRIVER_API, driver_id, CUPTI_API_ENTER);
  tell(by_driver != 0, CUPTI_CB_DOMAIN_DRIVER_API, driver_id, CUPTI_API_EXIT);
  tell(by_runtime != 0, CUPTI_CB_DOMAIN_RUNTIME_API, runtime_id, CUPTI_API_EXIT);
}

// CUPTI's functions.

FAKE_EXPORT CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = 424242;
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
              ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
              : "CUPTI_ERROR_FAKE";
  return CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* /*subscriber*/, CUpti_CallbackFunc callback,
                                       void* /*user*/) {
  fake().on_event = callback;
  return result_of("cuptiSubscribe");
}

FAKE_EXPORT CUptiResult cuptiEnableCallback(std::uint32_t /*enable*/, CUpti_SubscriberHandle /*subscriber*/,
                                            CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const CUptiResult result = result_of("cuptiEnableCallback");
  if (result == CUPTI_SUCCESS) fake().events.emplace(domain, id);
  return result;
}

FAKE_EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, std::uint64_t* id) {
  *id = reinterpret_cast<std::uint64_t>(node);
  return result_of("cuptiGetGraphNodeId");
}

FAKE_EXPORT CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  fake().is_system_thread_id = type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
  return result_of("cuptiSetThreadIdType");
}

FAKE_EXPORT CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp) {
  fake().timestamp = timestamp;
  return result_of("cuptiActivityRegisterTimestampCallback");
}

FAKE_EXPORT CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                       CUpti_BuffersCallbackCompleteFunc complete) {
  fake().request = request;
  fake().complete = complete;
  return result_of("cuptiActivityRegisterCallbacks");
}

FAKE_EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute /*attribute*/,
                                                  std::size_t* /*size*/, void* /*value*/) {
  return result_of("cuptiActivitySetAttribute");
}

FAKE_EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  fake().kinds.insert(kind);
  return result_of("cuptiActivityEnable");
}

FAKE_EXPORT CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, std::uint8_t /*enable*/) {
  fake().calls.emplace(CUPTI_ACTIVITY_KIND_RUNTIME, id);
  return result_of("cuptiActivityEnableRuntimeApi");
}

FAKE_EXPORT CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, std::uint8_t /*enable*/) {
  fake().calls.emplace(CUPTI_ACTIVITY_KIND_DRIVER, id);
  return result_of("cuptiActivityEnableDriverApi");
}

FAKE_EXPORT CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id,
                                             const char** name) {
  const bool is_runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  *name = is_runtime && id == launch_id           ? "cudaLaunchKernel_v7000"
          : is_runtime && id == graph_launch_id   ? "cudaGraphLaunch_v10000"
          : is_runtime && id == memcpy_id         ? "cudaMemcpyAsync_v3020"
          : is_runtime && id == malloc_id         ? "cudaMalloc_v3020"
          : !is_runtime && id == driver_launch_id ? "cuLaunchKernel"
                                                  : nullptr;
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}

FAKE_EXPORT CUptiResult cuptiActivityFlushAll(std::uint32_t flags) {
  fake_state& state = fake();
  if (getpid() != state.process) std::abort();  // CUPTI does not survive a fork
  const std::lock_guard lock(state.lock);
  if (flags != 0) {
    state.is_held = false;
    state.released.notify_all();
  }
  finish_buffer();
  return result_of("cuptiActivityFlushAll");
}

FAKE_EXPORT CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t valid_bytes,
                                                   CUpti_Activity** record) {
  fake_state& state = fake();
  {
    std::unique_lock lock(state.lock);
    state.released.wait(lock, [&] { return !state.is_held; });
  }
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    std::uint8_t* const previous = reinterpret_cast<std::uint8_t*>(*record) - sizeof(std::uint64_t);
    std::uint64_t length = 0;
    std::memcpy(&length, previous, sizeof length);
    next = previous + length;
  }
  if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next + sizeof(std::uint64_t));
  return result_of("cuptiActivityGetNextRecord");
}

FAKE_EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext /*context*/, std::uint32_t /*stream*/,
                                                          std::size_t* dropped) {
  const std::lock_guard lock(fake().lock);
  *dropped = fake().dropped;
  fake().dropped = 0;
  return CUPTI_SUCCESS;
}

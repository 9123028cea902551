#include "gpu_trace.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "activity_buffers.h"
#include "activity_records.h"
#include "clock.h"
#include "collector/fnv1a.h"
#include "cubin_kernels.h"
#include "cupti_library.h"
#include "recording_file.h"
#include "thread_ranges.h"

namespace profgate::collector {
namespace {

constinit cupti_library cupti;
constinit activity_buffers buffers;
constinit activity_records records;
pid_t recording_process = 0;  ///< a forked child has neither the writing thread nor CUDA

bool is_recording() {
  const pid_t process = __atomic_load_n(&recording_process, __ATOMIC_ACQUIRE);
  return process != 0 && process == getpid();
}

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = buffers.take();
  *size = *buffer == nullptr ? 0 : activity_buffers::buffer_bytes;
  *max_records = 0;  // as many as fit
}

void CUPTIAPI on_buffer_completed(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                                  std::size_t /*size*/, std::size_t valid_bytes) {
  if (buffer != nullptr) buffers.put_back_filled(buffer, valid_bytes);
}

std::uint64_t CUPTIAPI timestamp() {
  return now_ns();
}

/// On the writing thread.
void write_buffer(std::uint8_t* filled, std::size_t valid_bytes) {
  std::uint64_t dropped = 0;
  CUpti_Activity* record = nullptr;
  CUptiResult result = CUPTI_SUCCESS;
  while (valid_bytes > 0 && (result = cupti.get_next_record(filled, valid_bytes, &record)) == CUPTI_SUCCESS) {
    if (!records.write(cupti, *record)) ++dropped;
  }
  // Anything but the end of the buffer: a record that CUPTI itself cannot read, and all that follow it.
  if (valid_bytes > 0 && result != CUPTI_ERROR_MAX_LIMIT_REACHED) ++dropped;
  std::size_t dropped_by_cupti = 0;
  if (cupti.get_dropped_count(nullptr, 0, &dropped_by_cupti) == CUPTI_SUCCESS) dropped += dropped_by_cupti;
  if (dropped > 0) the_recording.count_dropped_activities(dropped);
}

void flush(std::uint32_t flags, std::int64_t timeout_s) {
  const std::uint64_t begin_ns = now_ns();
  const bool is_delivered = cupti.flush_all(flags) == CUPTI_SUCCESS;
  if (buffers.drain(timeout_s) && is_delivered) the_recording.mark_flushed(begin_ns);
}

void flush_at_exit() {
  if (is_recording()) flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, 30);
}

std::uint64_t id_of_node(CUgraphNode node) {
  std::uint64_t id = 0;
  return node != nullptr && cupti.get_graph_node_id(node, &id) == CUPTI_SUCCESS ? id : 0;
}

/// On the thread that captures or instantiates a graph.
void record_node(const CUpti_GraphData& graph, bool is_clone) {
  const std::uint64_t node = id_of_node(graph.node);
  thread_ranges* const thread = thread_ranges::current();
  if (node == 0 || thread == nullptr) return;
  if (!is_clone) thread->record_open_ranges();
  const std::uint64_t original = is_clone ? id_of_node(graph.originalNode) : 0;
  if (!the_recording.append(graph_node_record{now_ns(), node, original, thread->thread_id(), 0})) {
    the_recording.count_dropped_activities(1);
  }
}

/// On the thread that loads a module: the program's own, a library's, or one that was compiled just in time.
/// Its image is whole also where its functions are loaded lazily. About 1 ms a megabyte of machine code.
void record_code(const CUpti_ModuleResourceData& loaded) {
  if (loaded.pCubin == nullptr) return;
  std::uint64_t dropped = 0;
  cubin_kernels kernels(loaded.pCubin, loaded.cubinSize);
  for (kernel_code kernel{}; kernels.next(kernel);) {
    const std::uint64_t hash = fnv1a64(kernel.code, kernel.code_bytes);
    if (!the_recording.append_code_hash(kernel.name, kernel.name_length, hash)) ++dropped;
  }
  if (kernels.is_broken()) ++dropped;
  if (dropped > 0) the_recording.count_dropped_code_hashes(dropped);
}

void CUPTIAPI on_event(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RESOURCE || !is_recording()) return;
  const void* const resource = static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor;
  switch (id) {
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED:
    case CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED:
      return record_node(*static_cast<const CUpti_GraphData*>(resource),
                         id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
      return record_code(*static_cast<const CUpti_ModuleResourceData*>(resource));
    default:
      return;
  }
}

/// A CUPTI that does not tell of nodes leaves replayed kernels without operators, one that does not tell of
/// modules leaves kernels without the hash of their code, and nothing else. Nodes are made in a few
/// microseconds each, and never while anybody measures a replay.
void enable_events(CUpti_SubscriberHandle subscriber) {
  if (cupti.enable_callback == nullptr) return;
  cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
  if (cupti.get_graph_node_id == nullptr) return;
  for (const CUpti_CallbackId id :
       {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED}) {
    cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
  }
}

/// The name of the first step that fails, with its error; nothing where all succeed.
const char* enable_all(CUptiResult* error) {
  const auto fails = [&](CUptiResult result) {
    *error = result;
    return result != CUPTI_SUCCESS;
  };
  CUpti_SubscriberHandle subscriber = nullptr;
  // Also fails where another tool has CUPTI, which enabling alone may not tell.
  if (fails(cupti.subscribe(&subscriber, &on_event, nullptr))) return "cuptiSubscribe";
  enable_events(subscriber);
  // gettid(), as NVTX ranges carry it.
  if (fails(cupti.set_thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM))) return "cuptiSetThreadIdType";
  // One clock for ranges, calls and kernels. Without this CUPTI takes the wall clock, which may be set.
  if (fails(cupti.register_timestamp_callback(&timestamp))) return "cuptiActivityRegisterTimestampCallback";
  if (fails(cupti.register_callbacks(&on_buffer_requested, &on_buffer_completed))) {
    return "cuptiActivityRegisterCallbacks";
  }
  const char* const fetch_ms = std::getenv("PROFGATE_COLLECTOR_FETCH_MS");
  const long period_ms = fetch_ms == nullptr ? 0 : std::strtol(fetch_ms, nullptr, 10);
  if (period_ms > 0 && cupti.flush_period != nullptr)
    cupti.flush_period(static_cast<std::uint32_t>(period_ms));
  // Where CUPTI does not know this it zeroes the buffers by itself, only slower.
  std::uint8_t is_zeroed = 1;
  std::size_t size = sizeof is_zeroed;
  cupti.set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &is_zeroed);
  // Each kernel of a replayed graph has its own record as long as CUPTI_ACTIVITY_KIND_GRAPH_TRACE stays off.
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET}) {
    if (fails(cupti.enable(kind))) return "cuptiActivityEnable";
  }
  if (fails(records.enable_calls(cupti))) return "enabling the calls to be recorded";
  return nullptr;
}

void start() {
  char note[sizeof file_header::gpu_note] = {};
  if (!cupti.load(note, sizeof note)) {
    the_recording.describe_gpu(gpu_state::failed, 0, note);
    return;
  }
  std::uint32_t version = 0;
  cupti.get_version(&version);
  if (!buffers.start(&write_buffer)) {
    the_recording.describe_gpu(gpu_state::failed, version, "no memory or no thread for CUPTI's buffers");
    return;
  }
  CUptiResult error = CUPTI_SUCCESS;
  if (const char* const failed_step = enable_all(&error)) {
    const char* words = nullptr;
    if (cupti.get_result_string(error, &words) != CUPTI_SUCCESS || words == nullptr)
      words = "an unknown error";
    const bool is_taken = error == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    std::snprintf(note, sizeof note, "%s: %s (%d)%s; CUPTI is %s", failed_step, words,
                  static_cast<int>(error), is_taken ? ": another tool uses CUPTI in this process" : "",
                  cupti.path);
    the_recording.describe_gpu(gpu_state::failed, version, note);
    return;
  }
  __atomic_store_n(&recording_process, getpid(), __ATOMIC_RELEASE);
  the_recording.describe_gpu(gpu_state::recording, version, cupti.path);
  std::atexit(&flush_at_exit);
}

}  // namespace

void start_gpu_trace() {
  static constinit pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, &start);
}

void flush_gpu_trace() {
  if (is_recording()) flush(0, 1);
}

}  // namespace profgate::collector

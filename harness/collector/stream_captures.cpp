#include "stream_captures.h"

#include <cstdio>
#include <cstring>

#include "cupti_library.h"
#include "device_sync.h"

namespace profgate::collector {
namespace {

constinit cupti_library watching_cupti;

/// Calls to be told of that this thread is inside of: the runtime's is made of the driver's.
constinit thread_local int open_calls = 0;

struct capture_call {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  bool is_begin;
  bool is_in_every_cupti;  ///< of CUDA 12 and later
};

constexpr CUpti_CallbackDomain driver = CUPTI_CB_DOMAIN_DRIVER_API;
constexpr CUpti_CallbackDomain runtime = CUPTI_CB_DOMAIN_RUNTIME_API;
constexpr capture_call capture_calls[] = {
    {driver, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture, true, true},
    {driver, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz, true, true},
    {driver, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, true, true},
    {driver, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz, true, true},
    {driver, 720, true, false},  // cuStreamBeginCaptureToGraph, since CUDA 12.3, whose headers may be older
    {driver, 721, true, false},  // cuStreamBeginCaptureToGraph_ptsz
    {driver, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, false, true},
    {driver, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, false, true},
    {runtime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000, true, true},
    {runtime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_ptsz_v10000, true, true},
    {runtime, 452, true, false},  // cudaStreamBeginCaptureToGraph_v12030
    {runtime, 453, true, false},  // cudaStreamBeginCaptureToGraph_ptsz_v12030
    {runtime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000, false, true},
    {runtime, CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_ptsz_v10000, false, true},
};

/// A capture that was spoiled ends all the same; one that another thread or stream began goes on. Errors of
/// the runtime have the numbers of the driver's.
bool ends_capture(std::uint32_t result) {
  switch (result) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_CAPTURED_EVENT:
      return true;
    default:
      return false;
  }
}

/// On the thread that calls. Of nested calls the outermost counts.
void CUPTIAPI on_capture_call(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                              const void* data) {
  const capture_call* known = nullptr;
  for (const capture_call& call : capture_calls) {
    if (call.domain == domain && call.id == id) known = &call;
  }
  if (known == nullptr) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER) {
    if (open_calls++ == 0 && known->is_begin) the_device_sync.before_capture();
    return;
  }
  if (open_calls == 0 || --open_calls > 0) return;
  std::uint32_t result = CUDA_SUCCESS;
  if (call.functionReturnValue != nullptr) std::memcpy(&result, call.functionReturnValue, sizeof result);
  const bool is_over = known->is_begin ? result != CUDA_SUCCESS : ends_capture(result);
  if (is_over) the_device_sync.after_capture();
}

/// The first error of those that matter.
CUptiResult enable_capture_calls() {
  CUpti_SubscriberHandle subscriber = nullptr;
  const CUptiResult subscribed = watching_cupti.subscribe(&subscriber, &on_capture_call, nullptr);
  if (subscribed != CUPTI_SUCCESS) return subscribed;
  for (const capture_call& call : capture_calls) {
    const CUptiResult enabled = watching_cupti.enable_callback(1, subscriber, call.domain, call.id);
    if (enabled != CUPTI_SUCCESS && call.is_in_every_cupti) return enabled;
  }
  return CUPTI_SUCCESS;
}

}  // namespace

bool watch_stream_captures(char* problem, std::size_t capacity) {
  if (!watching_cupti.load(problem, capacity)) return false;
  if (watching_cupti.enable_callback == nullptr) {
    std::snprintf(problem, capacity, "%s has no cuptiEnableCallback", watching_cupti.path);
    return false;
  }
  const CUptiResult error = enable_capture_calls();
  if (error == CUPTI_SUCCESS) return true;
  const char* words = nullptr;
  if (watching_cupti.get_result_string(error, &words) != CUPTI_SUCCESS || words == nullptr)
    words = "an unknown error";
  const bool is_taken = error == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  std::snprintf(problem, capacity, "CUPTI cannot tell when a stream captures: %s (%d)%s; CUPTI is %s", words,
                static_cast<int>(error), is_taken ? ": another tool uses CUPTI in this process" : "",
                watching_cupti.path);
  return false;
}

}  // namespace profgate::collector

// Ranges for Python, which calls these by ctypes: an argument is a pointer or nothing, since every converted
// argument costs time. Works in any process: NVTX needs no CUDA.
#include <nvtx3/nvToolsExt.h>
#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

static nvtxDomainHandle_t domain = NULL;

/// The handle of ranges of that name, for as long as the process lives; null: there is no memory. Each name
/// is to be registered once: the adapter keeps the handles by name. Under Python's lock, so no two at once.
EXPORTED void* profgate_register_range(const char* name) {
  nvtxEventAttributes_t* range = calloc(1, sizeof *range);
  if (range == NULL) return NULL;
  if (domain == NULL) domain = nvtxDomainCreateA("LLM");
  range->version = NVTX_VERSION;
  range->size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range->messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  range->message.registered = nvtxDomainRegisterStringA(domain, name);
  return range;
}

EXPORTED void profgate_push_range(const void* range) {
  nvtxDomainRangePushEx(domain, (const nvtxEventAttributes_t*)range);
}

EXPORTED void profgate_pop_range(void) {
  nvtxDomainRangePop(domain);
}

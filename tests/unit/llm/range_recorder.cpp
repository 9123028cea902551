// An NVTX tool for tests: writes one line a push, "<depth> <domain>:<label>", to the file that RANGE_RECORD
// names. A label that was not registered is written as "plain <label>". It records one thread at a time.
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace {

std::mutex recording;
thread_local int depth = 0;

std::FILE* record_file() {
  static std::FILE* file = std::fopen(std::getenv("RANGE_RECORD"), "a");
  return file;
}

// Handles are pointers to the names themselves; they live as long as the process.
template <typename Handle>
Handle handle_of(const char* name) {
  return reinterpret_cast<Handle>(new std::string(name));
}

template <typename Handle>
const char* name_of(Handle handle) {
  return reinterpret_cast<const std::string*>(handle)->c_str();
}

nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
  return handle_of<nvtxDomainHandle_t>(name);
}

nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t /*domain*/, const char* text) {
  return handle_of<nvtxStringHandle_t>(text);
}

void record(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event, int at_depth) {
  const bool registered = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  const std::scoped_lock lock(recording);
  std::fprintf(record_file(), "%d %s:%s%s\n", at_depth, name_of(domain), registered ? "" : "plain ",
               registered ? name_of(event->message.registered) : event->message.ascii);
  std::fflush(record_file());
}

int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  record(domain, event, depth);
  return depth++;
}

int NVTX_API pop(nvtxDomainHandle_t /*domain*/) {
  return --depth;
}

template <typename Function>
void install(NvtxFunctionTable table, int index, Function function) {
  *table[index] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
    return 0;
  install(table, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  install(table, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  install(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  install(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}

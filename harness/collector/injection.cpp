// What NVTX calls: one function for each entry of its callback tables that opens, closes or names a range.
// Marks, categories, resources and thread names are left alone; NVTX then skips them by itself.
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#include <bit>
#include <cstring>

#include "capture_range.h"
#include "device_sync.h"
#include "gpu_trace.h"
#include "recording_file.h"
#include "thread_ranges.h"

namespace profgate::collector {
namespace {

constexpr std::uint32_t default_domain = 0;

/// Wide names are cut at 4096 bytes of UTF-8, so that they fit on any thread's stack.
std::uint32_t intern_wide(const wchar_t* text) {
  char utf8[4096];
  std::size_t used = 0;
  for (; *text != L'\0' && used + 4 <= sizeof utf8; ++text) {
    const auto code = std::bit_cast<std::uint32_t>(*text);  // signed on some machines
    const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
      utf8[used++] = static_cast<char>(code);
    } else if (code < 0x800) {
      utf8[used++] = static_cast<char>(0xC0 | code >> 6);
      utf8[used++] = tail(0);
    } else if (code < 0x10000) {
      utf8[used++] = static_cast<char>(0xE0 | code >> 12);
      utf8[used++] = tail(6);
      utf8[used++] = tail(0);
    } else {
      utf8[used++] = static_cast<char>(0xF0 | (code >> 18 & 0x07));
      utf8[used++] = tail(12);
      utf8[used++] = tail(6);
      utf8[used++] = tail(0);
    }
  }
  return the_recording.intern(utf8, used);
}

std::uint32_t id_of_text(const char* text) {
  return text == nullptr ? the_recording.intern("", 0) : the_recording.intern(text, std::strlen(text));
}

std::uint32_t id_of_text(const wchar_t* text) {
  return text == nullptr ? the_recording.intern("", 0) : intern_wide(text);
}

/// NVTX's handles are ours to choose: they are the ids themselves.
template <typename handle>
handle to_handle(std::uint32_t id) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): NVTX types a handle as a pointer; nobody follows it
  return reinterpret_cast<handle>(static_cast<std::uintptr_t>(id));
}

template <typename handle>
std::uint32_t to_id(handle value) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(value));
}

std::uint32_t name_of(const nvtxEventAttributes_t* attributes) {
  if (attributes != nullptr) {
    switch (attributes->messageType) {
      case NVTX_MESSAGE_TYPE_REGISTERED:
        return to_id(attributes->message.registered);
      case NVTX_MESSAGE_TYPE_ASCII:
        return id_of_text(attributes->message.ascii);
      case NVTX_MESSAGE_TYPE_UNICODE:
        return id_of_text(attributes->message.unicode);
      default:
        break;
    }
  }
  return the_recording.intern("", 0);
}

int push(std::uint32_t domain_id, std::uint32_t name_id) {
  thread_ranges* const thread = thread_ranges::current();
  return thread == nullptr ? NVTX_NO_PUSH_POP_TRACKING : thread->push(domain_id, name_id);
}

int pop(std::uint32_t domain_id) {
  thread_ranges* const thread = thread_ranges::current();
  return thread == nullptr ? NVTX_NO_PUSH_POP_TRACKING : thread->pop(domain_id);
}

nvtxRangeId_t start(std::uint32_t domain_id, std::uint32_t name_id) {
  thread_ranges* const thread = thread_ranges::current();
  return thread == nullptr ? 0 : thread->start(domain_id, name_id);
}

int range_push_ex(const nvtxEventAttributes_t* attributes) {
  return push(default_domain, name_of(attributes));
}
int range_push_a(const char* text) {
  return push(default_domain, id_of_text(text));
}
int range_push_w(const wchar_t* text) {
  return push(default_domain, id_of_text(text));
}
int range_pop() {
  return pop(default_domain);
}
nvtxRangeId_t range_start_ex(const nvtxEventAttributes_t* attributes) {
  return start(default_domain, name_of(attributes));
}
nvtxRangeId_t range_start_a(const char* text) {
  return start(default_domain, id_of_text(text));
}
nvtxRangeId_t range_start_w(const wchar_t* text) {
  return start(default_domain, id_of_text(text));
}
void range_end(nvtxRangeId_t id) {
  thread_ranges::end(id);
}

int domain_range_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return push(to_id(domain), name_of(attributes));
}
int domain_range_pop(nvtxDomainHandle_t domain) {
  return pop(to_id(domain));
}
nvtxRangeId_t domain_range_start_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  return start(to_id(domain), name_of(attributes));
}
void domain_range_end(nvtxDomainHandle_t /*domain*/, nvtxRangeId_t id) {
  thread_ranges::end(id);
}

nvtxStringHandle_t register_string_a(nvtxDomainHandle_t /*domain*/, const char* text) {
  return to_handle<nvtxStringHandle_t>(id_of_text(text));
}
nvtxStringHandle_t register_string_w(nvtxDomainHandle_t /*domain*/, const wchar_t* text) {
  return to_handle<nvtxStringHandle_t>(id_of_text(text));
}
nvtxDomainHandle_t domain_create_a(const char* text) {
  return to_handle<nvtxDomainHandle_t>(id_of_text(text));
}
nvtxDomainHandle_t domain_create_w(const wchar_t* text) {
  return to_handle<nvtxDomainHandle_t>(id_of_text(text));
}

struct callback {
  unsigned id;
  NvtxFunctionPointer function;
};

template <typename function>
callback to_callback(unsigned id, function* replacement) {
  return {id, reinterpret_cast<NvtxFunctionPointer>(replacement)};
}

template <std::size_t count>
bool install(const NvtxExportTableCallbacks& exported, NvtxCallbackModule module,
             const callback (&callbacks)[count]) {
  NvtxFunctionTable table = nullptr;
  unsigned table_size = 0;
  if (exported.GetModuleFunctionTable(module, &table, &table_size) == 0 || table == nullptr) return false;
  for (const callback& c : callbacks) {
    if (c.id < table_size && table[c.id] != nullptr) *table[c.id] = c.function;
  }
  return true;
}

bool start_once() {
  static constinit pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, [] {
    if (!the_recording.open_from_environment()) return;
    the_capture_range.read_environment();
    the_device_sync.read_environment();
    the_recording.describe_range_cost(thread_ranges::try_range_cost_ps());
    pthread_atfork(
        [] {
          the_capture_range.before_fork();
          the_recording.before_fork();
        },
        [] {
          the_recording.after_fork_in_parent();
          the_capture_range.after_fork();
        },
        [] {
          the_recording.after_fork_in_child();
          the_capture_range.after_fork();
          thread_ranges::forget_records_after_fork();
        });
  });
  return the_recording.is_open();
}

}  // namespace
}  // namespace profgate::collector

/// NVTX's entry, called once by each shared object that uses NVTX. Returns 1 when the collector is in place;
/// with 0 NVTX goes on without a tool.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table) {
  using namespace profgate::collector;
  const auto* exported = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (exported == nullptr || !start_once()) return 0;
  const callback core[] = {
      to_callback(NVTX_CBID_CORE_RangePushEx, &range_push_ex),
      to_callback(NVTX_CBID_CORE_RangePushA, &range_push_a),
      to_callback(NVTX_CBID_CORE_RangePushW, &range_push_w),
      to_callback(NVTX_CBID_CORE_RangePop, &range_pop),
      to_callback(NVTX_CBID_CORE_RangeStartEx, &range_start_ex),
      to_callback(NVTX_CBID_CORE_RangeStartA, &range_start_a),
      to_callback(NVTX_CBID_CORE_RangeStartW, &range_start_w),
      to_callback(NVTX_CBID_CORE_RangeEnd, &range_end),
  };
  const callback core2[] = {
      to_callback(NVTX_CBID_CORE2_DomainRangePushEx, &domain_range_push_ex),
      to_callback(NVTX_CBID_CORE2_DomainRangePop, &domain_range_pop),
      to_callback(NVTX_CBID_CORE2_DomainRangeStartEx, &domain_range_start_ex),
      to_callback(NVTX_CBID_CORE2_DomainRangeEnd, &domain_range_end),
      to_callback(NVTX_CBID_CORE2_DomainRegisterStringA, &register_string_a),
      to_callback(NVTX_CBID_CORE2_DomainRegisterStringW, &register_string_w),
      to_callback(NVTX_CBID_CORE2_DomainCreateA, &domain_create_a),
      to_callback(NVTX_CBID_CORE2_DomainCreateW, &domain_create_w),
  };
  const bool installed = install(*exported, NVTX_CB_MODULE_CORE, core);
  return install(*exported, NVTX_CB_MODULE_CORE2, core2) || installed ? 1 : 0;
}

/// CUDA's entry, called inside of the first cuInit() of a process whose CUDA_INJECTION64_PATH names this
/// library; before or after NVTX's. Always 1: what went wrong stands in the recording, and the program goes
/// on.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  using namespace profgate::collector;
  if (!start_once()) return 1;
  // A run whose ranges are timed has nothing of the GPU recorded.
  if (the_device_sync.is_asked()) {
    the_device_sync.start();
  } else {
    start_gpu_trace();
  }
  return 1;
}

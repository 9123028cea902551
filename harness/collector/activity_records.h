#pragma once

#include <cupti.h>

#include <cstdint>

#include "cupti_library.h"

namespace profgate::collector {

/// Turns CUPTI's records into the file's. Only the writing thread uses it, but for enable_calls().
class activity_records {
 public:
  /// Has CUPTI record the calls that the analysis needs: launches, graph launches, synchronisations, copies.
  CUptiResult enable_calls(const cupti_library& cupti);

  /// Writes what belongs to the recording. False: it found no room, or has no times.
  bool write(const cupti_library& cupti, const CUpti_Activity& record);

 private:
  static constexpr std::uint32_t max_callback_id = 4096;
  /// By callback id: 0 not wanted, 1 wanted, else the id of its name + 1.
  struct call_names {
    std::uint32_t name[max_callback_id] = {};
  };

  CUptiResult enable_calls_of(const cupti_library& cupti, CUpti_CallbackDomain domain);
  call_names& names_of(CUpti_CallbackDomain domain) {
    return domain == CUPTI_CB_DOMAIN_RUNTIME_API ? m_runtime : m_driver;
  }
  bool write_kernel(const CUpti_ActivityKernel9& record);
  bool write_copy(const CUpti_ActivityMemcpy5& record);
  bool write_peer_copy(const CUpti_ActivityMemcpyPtoP4& record);
  bool write_memset(const CUpti_ActivityMemset4& record);
  bool write_call(const cupti_library& cupti, const CUpti_ActivityAPI& record, CUpti_CallbackDomain domain);

  call_names m_runtime;
  call_names m_driver;
};

}  // namespace profgate::collector

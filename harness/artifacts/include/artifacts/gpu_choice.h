#pragma once

#include <optional>
#include <string>

#include "artifacts/gpu_facts.h"

/// The one GPU of a run: whose peaks are used, whose memory is planned with, which is watched, and on which
/// the workload and the tools around it run.
namespace profgate::artifacts {

/// Who chose it, and how. CUDA_VISIBLE_DEVICES may name several; the workload takes the first.
struct gpu_wish {
  std::optional<std::string> profgate_gpu;     ///< an index in PCI order, "GPU-…", or "0000:3b:00.0"
  std::optional<std::string> visible_devices;  ///< an index or "GPU-…" first; "": none may be used

  static gpu_wish of_this_process();  ///< PROFGATE_GPU and CUDA_VISIBLE_DEVICES
};

/// The GPU that is wished for, the first without a wish; the reason where there is none to be had. A wish for
/// one that is not there, or for a part of one (MIG), is bad_input with the list of those that are.
core::measured<gpu_device> chosen_gpu(const gpu_facts& facts,
                                      const gpu_wish& wish = gpu_wish::of_this_process());

/// Where PROFGATE_GPU is set: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER of this process, and so of all that
/// it starts, name that GPU. CUDA's own order is by speed, NVML's by PCI address.
void hand_gpu_to_children(const gpu_facts& facts);

/// step_failure, naming both, where the workload says that it ran on another GPU; empty: it does not say.
void require_chosen_gpu(const gpu_device& chosen, const std::string& pci_bus_id_of_workload);

/// "00000000:3B:00.0" and "3b:00.0" as CUDA spells them, "0000:3b:00.0"; nothing for other texts.
std::optional<std::string> normal_pci_bus_id(const std::string& text);

}  // namespace profgate::artifacts

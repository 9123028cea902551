#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace profgate::parsers {

/// Each process counts the devices that it may see: with a CUDA_VISIBLE_DEVICES of its own every rank works
/// on "device 0". Where one number stands for several GPUs so, work gets the GPUs' own numbers; elsewhere it
/// keeps those that CUDA and ncu use.
class gpu_numbers {
 public:
  /// `gpu`: what the process calls `device`, by a number that all processes share.
  void add(std::uint32_t process_id, int device, int gpu) {
    m_gpus[{process_id, device}] = gpu;
    if (m_first_gpu.try_emplace(device, gpu).first->second != gpu) m_is_ambiguous = true;
  }

  bool is_ambiguous() const { return m_is_ambiguous; }

  int number(std::uint32_t process_id, int device) const {
    if (!m_is_ambiguous) return device;
    const auto known = m_gpus.find({process_id, device});
    return known == m_gpus.end() ? device : known->second;
  }

 private:
  std::map<std::pair<std::uint32_t, int>, int> m_gpus;  ///< by process and CUDA's number
  std::map<int, int> m_first_gpu;                       ///< by CUDA's number
  bool m_is_ambiguous = false;
};

}  // namespace profgate::parsers

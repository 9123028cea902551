#pragma once

/// Whether a program that runs without its adapter uses PyTorch: then somebody should be told of the adapter.
namespace profgate::workload {

/// Asked again and again while programs that this process has started run.
class torch_watch {
 public:
  /// Looks for a process below this one that has imported torch, until there was one. It holds that process
  /// up for a moment, so nothing is to be timed meanwhile.
  void look();
  bool has_seen_torch() const { return m_has_seen_torch; }

 private:
  bool m_has_seen_torch = false;
};

}  // namespace profgate::workload

#pragma once

#include <string>
#include <vector>

#include "analysis/timeline_analysis.h"

namespace profgate::analysis {

/// A timeline written down by hand, in nanoseconds; everything in domain LLM and in process 1 or what
/// process() last said.
class timeline_builder {
 public:
  timeline_builder& process(std::uint32_t process_id) {
    m_process_id = process_id;
    return *this;
  }
  timeline_builder& range(const std::string& name, std::int64_t start_ns, std::int64_t end_ns,
                          std::uint32_t thread_id = 1) {
    m_timeline.ranges.push_back({"LLM", m_timeline.texts.keep(name), core::range_style::push_pop,
                                 m_process_id, thread_id, start_ns, end_ns});
    return *this;
  }
  timeline_builder& start_end(const std::string& name, std::int64_t start_ns, std::int64_t end_ns) {
    m_timeline.ranges.push_back({"LLM", m_timeline.texts.keep(name), core::range_style::start_end,
                                 m_process_id, 1, start_ns, end_ns});
    return *this;
  }
  timeline_builder& open_range(const std::string& name, std::int64_t start_ns) {
    m_timeline.ranges.push_back({"LLM", m_timeline.texts.keep(name), core::range_style::push_pop,
                                 m_process_id, 1, start_ns, std::nullopt});
    return *this;
  }
  timeline_builder& kernel(const std::string& name, std::int64_t launched_ns, std::int64_t start_ns,
                           std::int64_t end_ns, std::uint32_t thread_id = 1, int device = 0) {
    m_timeline.kernels.push_back({m_timeline.shapes.keep({m_timeline.texts.keep(name)}), device, 0,
                                  m_process_id, thread_id, launched_ns, start_ns, end_ns});
    return *this;
  }
  timeline_builder& copy(std::int64_t launched_ns, std::int64_t start_ns, std::int64_t end_ns, int device) {
    m_timeline.copies.push_back({core::copy_kind::host_to_device, false, device, 0, m_process_id, 1,
                                 launched_ns, start_ns, end_ns, 4096});
    return *this;
  }
  timeline_builder& no_kernels(const std::string& reason) {
    m_timeline.kernels_absent_reason = reason;
    return *this;
  }
  core::timeline build() const { return m_timeline; }

 private:
  std::uint32_t m_process_id = 1;
  core::timeline m_timeline{.tool = "embedded", .tool_version = "1"};
};

inline timeline_figures analyze_one(const core::timeline& timeline) {
  return analyze_timelines({{"a", std::nullopt, timeline}}, {"prefill", "decode_all"}, "LLM", "");
}

inline const operator_figures* find_operator(const traced_stage& stage, const std::string& name) {
  for (const operator_figures& figures : stage.operators) {
    if (figures.record.op_name == name) return &figures;
  }
  return nullptr;
}

}  // namespace profgate::analysis

#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "gate/judge.h"
#include "gate/judgement.h"
#include "gate/run_set.h"

/// Anchors (gate.anchor): copies of baselines in a folder of their own, which nothing moves but a person.
namespace profgate::baselines {

struct anchor_place {
  std::filesystem::path baselines_dir{};
  std::string name{};                    ///< "v1.0"
  std::filesystem::path history_file{};  ///< says which commits took a part; may be missing
};

/// bad_input where there is no anchor of that name, or its name cannot be one. For before the runs.
void require_anchor(const anchor_place& place);

/// Whether runs of the candidate, which needs none yet, could be judged against it. A damaged one is a
/// bad_input.
bool can_be_judged_since(const anchor_place& place, const gate::run_set& candidate);

/// <baselines_dir>/@v1.0/qwen3-0.6b/decode-b1/….json, each as a name below baselines_dir, sorted.
std::vector<std::filesystem::path> list_anchors(const std::filesystem::path& baselines_dir);

enum class move_anchor { no, yes };

/// Makes the baseline `file` the anchor of its key, by that name; returns where it lies. bad_input where
/// there is another one and it is not to be moved.
std::filesystem::path set_anchor(const std::filesystem::path& baselines_dir,
                                 const std::filesystem::path& file, const std::string& name,
                                 move_anchor move);

/// Adds to a judgement what is to be said against the anchor of the candidate's key. Nothing is run: where
/// the candidate was not, that is what is said.
void judge_since_anchor(const anchor_place& place, const gate::run_set& candidate,
                        const gate::judge_rules& rules, const std::vector<gate::waiver>& waivers,
                        const std::string& today, gate::judgement& whole);

}  // namespace profgate::baselines

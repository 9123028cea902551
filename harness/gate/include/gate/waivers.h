#pragma once

#include <string>
#include <vector>

#include "gate/judgement.h"

namespace profgate::gate {

/// Somebody answers for a slowdown, up to a size and a day.
struct waiver {
  std::string pair{};
  std::string stage{};
  std::string owner{};
  std::string reason{};
  std::string expires{};     ///< "2026-12-01", the last day it holds
  double max_ratio = 0;      ///< 0.05: up to 5 % slower, a rate up to 5 % lower
  std::string defined_at{};  ///< "waivers.yaml:3"
};

/// Whether `text` is a day of the calendar, "YYYY-MM-DD".
bool is_date(const std::string& text);

/// Marks the stages whose failure is waived; a slowdown beyond max_ratio stays one, and says so.
/// Call it before conclude.
void apply_waivers(const std::vector<waiver>& waivers, const std::string& today, judgement& judged);

/// An expired waiver of the pair fails the gate, whatever the runs say: it was to be looked at by then.
/// Call it after conclude.
void fail_expired(const std::vector<waiver>& waivers, const std::string& today, judgement& judged);

}  // namespace profgate::gate

// Any bytes as nsys's SQLite export, grown from small valid ones: a timeline that the analysis can read, or a
// bad_input, never anything else.
#include <cstdlib>
#include <string>
#include <string_view>

#include "analysis/timeline_analysis.h"
#include "core/error.h"
#include "memory_file.h"
#include "parsers/timeline.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const profgate::fuzz::memory_file file;
  if (!file.set(data, size)) return 0;
  try {
    profgate::core::timeline timeline = profgate::parsers::read_nsys_sqlite(file.path());
    profgate::analysis::analyze_timelines({{"fuzzed", std::nullopt, std::move(timeline)}},
                                          {"prefill", "decode_all"}, "LLM", "");
  } catch (const profgate::core::bad_input& refused) {
    // No content keeps SQLite from opening a file: then nothing at all would be tried.
    static const std::string not_opened = file.path().string() + ": cannot be opened";
    if (std::string_view(refused.what()).starts_with(not_opened)) std::abort();
  }
  return 0;
}

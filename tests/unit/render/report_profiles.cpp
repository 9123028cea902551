#include "report_profiles.h"

#include <filesystem>

#include "analysis/profile.h"
#include "golden_cases.h"
#include "golden_files.h"
#include "parsers/timeline.h"

namespace profgate::render {
namespace {

namespace fs = std::filesystem;

/// A trace that was sent, and nothing else.
std::string profile_of_trace(const fs::path& file) {
  analysis::run_facts facts;
  facts.run_id = facts.model = file.stem().string();
  facts.created_utc = "2026-01-01T00:00:00Z";
  facts.pair = file.filename().string();
  facts.config = "files";
  facts.device = "cuda";
  facts.mode = "deep";
  facts.bare.bench_absent_reason = "nothing was timed without a profiler";
  facts.bare.stages = {"prefill", "decode"};
  facts.captures.push_back({file.filename().string(), std::nullopt, parsers::read_nsys_sqlite(file)});
  facts.counters.absent_reason = "no counters were given";
  return analysis::profile_json(facts);
}

}  // namespace

std::map<std::string, std::string> report_profiles() {
  std::map<std::string, std::string> texts;
  for (const golden_case& entry : golden_cases()) texts[entry.name] = analysis::profile_json(entry.facts);
  const fs::path data = PROFGATE_TEST_DATA;
  const fs::path recorded = data / "nsight/h200-2025.3.1";
  for (const char* name :
       {"llama-3.1-8b.decode-b1", "llama-3.1-8b.prefill-2k", "deepseek-ocr-decoder.decode-b1"})
    texts[name] = read(recorded / name / "profile.json");
  texts["pytorch"] = profile_of_trace(recorded / "pytorch-2.11/llama_steps.sqlite");
  for (const fs::directory_entry& run : fs::directory_iterator(data / "profiles/cpu"))
    texts[run.path().filename().string()] = read(run.path() / "profile.json");
  return texts;
}

}  // namespace profgate::render

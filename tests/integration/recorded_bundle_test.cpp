#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "pair_fixture.h"

/// A whole run of llama-3.1-8b on an H200, analysed again: what profgate said there, it says here.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path recorded = fs::path(PROFGATE_TEST_DATA) / "nsight/h200-2025.3.1/llama-3.1-8b.decode-b1";

/// Where two documents differ, one line each; numbers may differ in what a compiler rounds otherwise.
void differences(const json& expected, const json& actual, const std::string& where,
                 std::vector<std::string>& found) {
  if (expected.is_number() && actual.is_number()) {
    const auto a = expected.get<double>();
    const auto b = actual.get<double>();
    if (std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b))) return;
  } else if (expected.is_object() && actual.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      if (actual.contains(key)) {
        differences(value, actual[key], where + "/" + key, found);
      } else {
        found.push_back(where + "/" + key + " is gone");
      }
    }
    for (const auto& [key, value] : actual.items()) {
      if (!expected.contains(key)) found.push_back(where + "/" + key + " is new");
    }
    return;
  } else if (expected.is_array() && actual.is_array() && expected.size() == actual.size()) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      differences(expected[i], actual[i], where + "/" + std::to_string(i), found);
    }
    return;
  } else if (expected == actual) {
    return;
  }
  found.push_back(where + ": " + expected.dump().substr(0, 200) + " became " + actual.dump().substr(0, 200));
}

/// Files and steps are not those of the recording: large files were left out of it. Nor is the hash of the
/// configuration, which covers keys that came later, too.
json figures_of(const fs::path& file) {
  json profile = json::parse(std::ifstream(file));
  profile.erase("artifacts");
  profile.erase("steps");
  profile.at("run").erase("config_hash");
  return profile;
}

class recorded_bundle : public pair_fixture {};

TEST_F(recorded_bundle, is_analysed_as_on_the_day_of_its_recording) {
  const fs::path run = m_project / "20261115-120738-llama-3.1-8b.decode-b1";
  fs::copy(recorded, run, fs::copy_options::recursive);
  const command_result result = profgate({"analyze", run.string()});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  std::vector<std::string> found;
  differences(figures_of(recorded / "profile.json"), figures_of(run / "profile.json"), "", found);
  if (std::getenv("PROFGATE_UPDATE_GOLDENS") != nullptr) {
    fs::copy_file(run / "profile.json", recorded / "profile.json", fs::copy_options::overwrite_existing);
  }
  EXPECT_THAT(found, ::testing::IsEmpty())
      << "if that is meant, run this test with PROFGATE_UPDATE_GOLDENS=1";
}

}  // namespace
}  // namespace profgate::integration

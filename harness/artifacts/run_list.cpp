#include "artifacts/run_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>

#include "artifacts/files.h"
#include "core/error.h"
#include "core/json.h"

namespace profgate::artifacts {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_letter_or_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_character(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '_' || c == '+' || c == '-';
}

bool is_valid_pair(std::string_view pair) {
  const std::size_t dot = pair.rfind('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < pair.size() && pair.size() <= 200 &&
         is_letter_or_digit(pair.front()) && std::all_of(pair.begin(), pair.end(), is_name_character);
}

constexpr std::string_view time_pattern = "00000000-000000";

}  // namespace

void require_valid_pair(std::string_view pair) {
  if (is_valid_pair(pair)) return;
  throw core::bad_input(fmt::format("'{}' is not the name of a pair", pair),
                        "write it as <model>.<config>, of letters, digits and . _ + - only, such as "
                        "llama-tiny.smoke ('profgate list' shows them)");
}

std::string make_run_id(std::string_view pair, core::utc_clock::time_point when, int ordinal) {
  const std::string first = fmt::format("{}-{}", core::utc_compact(when), pair);
  return ordinal == 1 ? first : fmt::format("{}-{}", first, ordinal);
}

std::optional<run_id_parts> parse_run_id(std::string_view name) {
  if (name.size() <= time_pattern.size() + 1 || name[time_pattern.size()] != '-') return std::nullopt;
  const std::string_view time = name.substr(0, time_pattern.size());
  const bool has_form = std::equal(time.begin(), time.end(), time_pattern.begin(),
                                   [](char c, char form) { return form == '0' ? is_digit(c) : c == form; });
  const std::string_view rest = name.substr(time_pattern.size() + 1);
  if (!has_form || !is_valid_pair(rest)) return std::nullopt;
  return run_id_parts{std::string(time), std::string(rest)};
}

namespace fs = std::filesystem;

namespace {

/// 1 for the first run of its second, N for the one whose id ends in "-N".
int ordinal_of(const run_info& run) {
  const std::string rest = parse_run_id(run.run_id)->rest;
  return rest == run.pair ? 1 : std::atoi(rest.substr(run.pair.size() + 1).c_str());
}

/// Clocks of two machines that share a folder may differ by this much.
constexpr std::chrono::minutes tolerated_clock_skew{5};

/// What the runs are sorted by.
auto age_key(const run_info& run, const std::string& latest_time) {
  std::string time = parse_run_id(run.run_id)->time;
  const bool is_of_the_past = time <= latest_time;
  return std::make_tuple(is_of_the_past, std::move(time), run.pair, ordinal_of(run));
}

bool id_belongs_to(const std::string& rest, const std::string& pair) {
  if (rest == pair) return true;
  const std::string stem = pair + "-";
  return rest.size() > stem.size() && rest.compare(0, stem.size(), stem) == 0 &&
         rest.find_first_not_of("0123456789", stem.size()) == std::string::npos;
}

}  // namespace

void write_run_marker(const fs::path& run_directory, std::string_view pair, const std::string& created_utc) {
  nlohmann::ordered_json marker;
  marker["schema_version"] = "1.0";
  marker["run_id"] = run_directory.filename().string();
  marker["pair"] = pair;
  marker["created_utc"] = created_utc;
  write_file_atomically(run_directory / run_marker_name, core::json_text(marker));
}

namespace {

nlohmann::json read_marker(const fs::path& folder) {
  if (!file_exists(folder / run_marker_name)) return {};
  return core::parse_json(read_file(folder / run_marker_name, 1 << 20));
}

/// Empty where it is absent or no text.
std::string text_of(const nlohmann::json& marker, const char* key) {
  if (!marker.is_object()) return "";
  const auto found = marker.find(key);
  return found != marker.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace

std::string marked_run_id(const fs::path& folder) {
  return text_of(read_marker(folder), "run_id");
}

std::optional<run_info> read_run(const fs::path& run_directory) {
  const std::string run_id = run_directory.filename().string();
  const std::optional<run_id_parts> parts = parse_run_id(run_id);
  std::error_code failure;
  if (!parts || fs::symlink_status(run_directory, failure).type() != fs::file_type::directory) {
    return std::nullopt;
  }
  const nlohmann::json marker = read_marker(run_directory);
  run_info run{run_directory, run_id, text_of(marker, "pair"), text_of(marker, "created_utc")};
  if (text_of(marker, "run_id") != run_id || !id_belongs_to(parts->rest, run.pair)) return std::nullopt;
  return run;
}

std::vector<run_info> list_runs(const fs::path& stage2_dir, const std::optional<std::string>& pair,
                                core::utc_clock::time_point now) {
  std::vector<run_info> runs;
  std::error_code failure;
  auto entry = fs::directory_iterator(stage2_dir, failure);
  for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
    std::optional<run_info> run = read_run(entry->path());
    if (run && (!pair || run->pair == *pair)) runs.push_back(std::move(*run));
  }
  if (failure && failure != std::errc::no_such_file_or_directory) {
    throw core::bad_input("cannot list the runs in " + stage2_dir.string() + ": " + failure.message(),
                          "check the folder and its permissions");
  }
  const std::string latest_time = core::utc_compact(now + tolerated_clock_skew);
  std::sort(runs.begin(), runs.end(), [&](const run_info& a, const run_info& b) {
    return age_key(a, latest_time) < age_key(b, latest_time);
  });
  return runs;
}

}  // namespace profgate::artifacts

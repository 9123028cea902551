// What a project brings: settings, rules, pairs, waivers.
#include <cstdlib>
#include <string>

#include "analysis/kernel_patterns.h"
#include "config/config.h"
#include "fuzz_targets.h"
#include "memory_file.h"
#include "pair_manifest.h"
#include "read_waivers.h"

namespace profgate::fuzz {
namespace {

/// What was accepted reads back as itself.
void read_as_file(std::string_view text) {
  const config::resolved read = config::parse_resolved(text, "fuzzed.yaml");
  const std::string yaml = read.to_yaml();
  const config::resolved again = config::parse_resolved(yaml, "fuzzed.yaml");
  if (again.to_yaml() != yaml || again.hash() != read.hash()) std::abort();
}

void read_as_overrides(std::string_view text) {
  config::request wanted;
  wanted.runner = "";  // no file is needed: only the overrides are of interest
  wanted.environment_overrides = config::split_overrides(text);
  config::compose(wanted);
}

}  // namespace

/// The first byte decides whether the rest is a file or the text of PROFGATE_OVERRIDES.
void read_configuration(std::string_view bytes) {
  if (bytes.empty()) return;
  if (bytes.front() == 'o') {
    read_as_overrides(bytes.substr(1));
  } else {
    read_as_file(bytes.substr(1));
  }
}

void read_category_rule(std::string_view bytes) {
  analysis::parse_category_rule(std::string(bytes), "fuzzed");
}

void read_manifest(std::string_view bytes) {
  static const memory_file file;
  file.set(bytes);
  cli::read_pair_manifest(file.path());
}

void read_waivers(std::string_view bytes) {
  cli::parse_waivers(std::string(bytes), "fuzzed");
}

}  // namespace profgate::fuzz

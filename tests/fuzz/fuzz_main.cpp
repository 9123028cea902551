// The fuzz program: fuzz --target=<name> <libFuzzer's options> <corpus folder>...
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "core/error.h"
#include "fuzz_targets.h"
#include "llm/failure.h"

namespace {

using namespace profgate;

/// The names are those of corpus/ and of the tests fuzz.<name>.
const struct target {
  std::string_view name;
  void (*read)(std::string_view bytes);
  bool may_be_from_another_version = false;  // refused as not_possible: a newer profgate wrote it
} targets[] = {
    {"categories", fuzz::read_category_rule, true},
    {"config", fuzz::read_configuration},
    {"cubin", fuzz::read_cubin},
    {"environment", fuzz::read_environment, true},
    {"hf_config", fuzz::read_hf_config},
    {"manifest", fuzz::read_manifest},
    {"ncu", fuzz::read_ncu_table},
    {"nsys_sqlite", fuzz::read_nsys_sqlite},
    {"ppm", fuzz::read_ppm},
    {"profile", fuzz::read_profile, true},
    {"result", fuzz::read_result},
    {"run_folder", fuzz::read_run_folder, true},
    {"run_set", fuzz::read_run_set, true},
    {"safetensors", fuzz::read_safetensors},
    {"status", fuzz::read_status},
    {"timeline", fuzz::read_embedded_timeline},
    {"verdict", fuzz::read_verdict, true},
    {"waivers", fuzz::read_waivers, true},
};

const target* chosen = nullptr;

}  // namespace

/// libFuzzer leaves options with two dashes to the program, and hands them on to its own jobs.
extern "C" int LLVMFuzzerInitialize(int* argument_count, char*** arguments) {
  constexpr std::string_view option = "--target=";
  for (int i = 1; i < *argument_count; ++i) {
    const std::string_view argument = (*arguments)[i];
    if (!argument.starts_with(option)) continue;
    chosen = std::find_if(std::begin(targets), std::end(targets),
                          [&](const target& each) { return each.name == argument.substr(option.size()); });
  }
  if (chosen == nullptr || chosen == std::end(targets)) {
    std::fputs("fuzz: say --target=<one of>:", stderr);
    for (const target& each : targets) std::fprintf(stderr, " %s", each.name.data());
    std::fputs("\n", stderr);
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    chosen->read({reinterpret_cast<const char*>(data), size});
  } catch (const core::bad_input&) {
    return 0;
  } catch (const core::not_possible&) {
    if (!chosen->may_be_from_another_version) throw;
  } catch (const llm::failure& refused) {  // the engine's own way to say so
    if (refused.code() != llm::exit_code::bad_input || refused.remedy().empty()) std::abort();
  }
  return 0;
}

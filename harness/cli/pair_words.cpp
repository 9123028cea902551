#include "pair_words.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace profgate::cli {

void add_pair_words(CLI::App* command, const std::shared_ptr<pair_options>& options,
                    const std::function<void()>& finish) {
  CLI::Option* pair =
      command->add_option("pair", options->pair, "<model>.<config>, as `profgate list` shows it");
  command->add_option("overrides", options->overrides, "group=choice or a.b=value");
  command->add_option("--build-dir", options->build_dir,
                      "Build folder of the project that registers the pair");
  CLI::Option* manifest =
      command->add_option("--manifest", options->manifest, "The pair's manifest file instead of its name");
  command->callback([options, pair, manifest, finish] {
    // With a manifest the first word is an override already.
    if (manifest->count() > 0 && pair->count() > 0) {
      options->overrides.insert(options->overrides.begin(), options->pair);
    } else if (manifest->count() == 0 && pair->count() == 0) {
      throw CLI::RequiredError("pair");
    }
    finish();
  });
}

}  // namespace profgate::cli

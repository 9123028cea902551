#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <functional>
#include <new>
#include <string_view>

#include "ad_hoc_pair.h"
#include "command_line.h"
#include "commands.h"
#include "core/interrupt.h"
#include "terminal.h"

namespace {

using profgate::core::exit_code;
namespace cli = profgate::cli;

/// What the chosen subcommand will do; set while the command line is parsed.
using action = std::function<exit_code()>;

void add_doctor(CLI::App& app, action& chosen) {
  auto options = std::make_shared<cli::doctor_options>();
  CLI::App* command =
      app.add_subcommand("doctor", "Check driver, GPU, Nsight tools and disk; name the fix of each fault");
  command->add_flag("--json", options->as_json, "Print JSON");
  command->add_option("--runs-dir", options->runs_dir, "Folder of the runs")->capture_default_str();
  command->add_option("--require", options->require,
                      "Exit with 3 where one of these is missing: gpu, nsys, ncu (comma separated)");
  command->callback([&chosen, options] { chosen = [options] { return cli::doctor(*options); }; });
}

void add_list(CLI::App& app, action& chosen) {
  auto options = std::make_shared<cli::list_options>();
  CLI::App* command =
      app.add_subcommand("list", "List the registered pairs and whether this machine can run them");
  command->add_option("--build-dir", options->build_dir, "Build folder of the project that registers them");
  command->callback([&chosen, options] { chosen = [options] { return cli::list(*options); }; });
}

void add_server_options(CLI::App* command, const std::shared_ptr<cli::pair_options>& options,
                        const std::string& commands) {
  command
      ->add_option("--ready-port", options->ready_port,
                   commands + ": the client runs once this port takes connections")
      ->check(CLI::Range(1, 65535));
  command->add_option("--ready-text", options->ready_text,
                      "The same, once a line of the server's output has this expression");
}

CLI::App* add_pair_command(CLI::App& app, action& chosen, const std::string& name,
                           const std::string& description, exit_code (*run)(const cli::pair_options&),
                           const std::shared_ptr<cli::pair_options>& options) {
  CLI::App* command = app.add_subcommand(name, description);
  add_pair_words(command, options, [&chosen, options, run] {
    chosen = [options, run] {
      cli::split_server_command(*options);
      return run(*options);
    };
  });
  add_server_options(command, options, "-- <server> -- <client>");
  return command;
}

void add_config_and_run(CLI::App& app, action& chosen) {
  add_pair_command(app, chosen, "config",
                   "Print a pair's resolved configuration and where each value came from", cli::show_config,
                   std::make_shared<cli::pair_options>());
  auto options = std::make_shared<cli::pair_options>();
  add_pair_command(app, chosen, "run", "Run all steps of a pair", cli::run, options)
      ->add_option(
          "--save", options->save,
          "-- <command>: write its settings to conf/workload/<name>.yaml, and print the line of CMake "
          "that registers it")
      ->check([](const std::string& name) {
        return std::string(name.empty() ? "a configuration needs a name: --save quick" : "");
      });
}

void add_ab(CLI::App& app, action& chosen) {
  auto pair = std::make_shared<cli::pair_options>();
  auto options = std::make_shared<cli::ab_options>();
  CLI::App* command = app.add_subcommand("ab",
                                         "Run a pair's build and a baseline's, or two commands (ab -- A … -- "
                                         "B …), in turns and tell whether it got "
                                         "slower, and why");
  CLI::Option* baseline = command->add_option("--baseline", options->baseline,
                                              "A commit, branch or tag to build, or a build folder");
  add_pair_words(command, pair, [&chosen, options, pair, baseline] {
    options->pair = *pair;
    if (baseline->count() == 0 && pair->command.empty())
      throw CLI::RequiredError("--baseline, or two commands");
    if (!pair->command.empty() && (baseline->count() > 0 || !options->candidate.empty()))
      throw CLI::ExcludesError("--baseline and --candidate", "two commands");
    chosen = [options] {
      cli::split_server_commands(*options);
      return options->is_exact ? cli::bisect_exactly(*options) : cli::compare_builds(*options);
    };
  });
  add_server_options(command, pair, "-- <server A> -- <client> -- <server B> [-- <client B>]");
  CLI::Option* of_baseline = command->add_option("--baseline-override", options->baseline_overrides,
                                                 "A setting of the baseline only");
  CLI::Option* of_candidate = command->add_option("--candidate-override", options->candidate_overrides,
                                                  "A setting of the candidate only");
  of_baseline->take_all();
  of_candidate->take_all();
  command->add_option("--out", options->out,
                      "Folder for runs, logs and traces; default <artifacts.stage2_dir>/ab/<pair>");
  CLI::Option* candidate = command->add_option(
      "--candidate", options->candidate,
      "With --baseline: judge this commit or build folder instead of the pair as it is built");
  CLI::Option* bisect = command->add_flag(
      "--bisect", options->for_bisect, "Exit with 125 where a commit cannot be judged, for git bisect run");
  command
      ->add_flag(
          "--exact", options->is_exact,
          "With --bisect, without git bisect run: find the first commit after --baseline that launches "
          "what --candidate launches, by one traced process a commit")
      ->needs(bisect)
      ->needs(baseline)
      ->needs(candidate)
      ->excludes(of_baseline)
      ->excludes(of_candidate);
}

void add_step(CLI::App& app, action& chosen) {
  auto options = std::make_shared<cli::step_options>();
  CLI::App* command = app.add_subcommand("step", "Run one step of a pair; this is what the CTest tests call");
  command->add_option("step", options->step, "prepare, stage1, timeline, counters, report, gate or prune")
      ->required();
  command->add_option("--manifest", options->manifest, "The pair's manifest file")->required();
  command->callback([&chosen, options] { chosen = [options] { return cli::step(*options); }; });
}

void add_session(CLI::App& app, action& chosen) {
  auto options = std::make_shared<cli::session_options>();
  CLI::App* command = app.add_subcommand("session", "Run ctest -L '^stage2$' and print one line a pair");
  command->add_option("--build-dir", options->build_dir,
                      "Build folder of the project that registers the pairs");
  command->add_flag("--before-ctest", options->is_before_ctest,
                    "Run nothing: print who else measures on this machine, for whom tests wait");
  command->add_flag("--after-ctest", options->is_after_ctest,
                    "Run nothing: print it of the pairs that the ctest which calls this has run");
  command->callback([&chosen, options] {
    chosen = [options] {
      if (options->is_before_ctest) return cli::tell_before_ctest();
      return options->is_after_ctest ? cli::tell_after_ctest(*options) : cli::session(*options);
    };
  });
}

void add_analyze_and_render(CLI::App& app, action& chosen) {
  auto run = std::make_shared<std::filesystem::path>();
  auto files = std::make_shared<cli::analyze_files_options>();
  CLI::App* analyze = app.add_subcommand(
      "analyze", "Make profile.json and the reports again from a run directory, or of profilers' files");
  CLI::Option* run_option = analyze->add_option("run", *run, "Run directory");
  CLI::Option* timeline = analyze->add_option("--timeline", files->timelines, "nsys's .sqlite export");
  CLI::Option* counters =
      analyze->add_option("--counters", files->counters, "ncu's table: ncu -i <report> --csv --page raw");
  CLI::Option* out = analyze->add_option("--out", files->out, "With these: a new folder for the reports");
  analyze->add_option("--set", files->overrides, "With these: a setting, such as workload.stages=[decode]");
  timeline->needs(out);
  counters->needs(out);
  analyze->callback([&chosen, run, files, run_option, out] {
    if (out->count() > 0) {
      if (files->timelines.empty() && files->counters.empty()) throw CLI::RequiredError("--timeline");
      if (run_option->count() > 0) throw CLI::ExcludesError("run", "--timeline");
      chosen = [files] { return cli::analyze_files(*files); };
    } else if (run_option->count() == 0) {
      throw CLI::RequiredError("run, or --timeline and --out");
    } else {
      chosen = [run] { return cli::analyze(*run); };
    }
  });

  auto templates_dir = std::make_shared<std::optional<std::filesystem::path>>();
  CLI::App* render = app.add_subcommand("render", "Make the reports again from a run's profile.json");
  render->add_option("run", *run, "Run directory")->required();
  render->add_option("--templates", *templates_dir, "Folder of templates instead of profgate's own");
  render->callback([&chosen, run, templates_dir] {
    chosen = [run, templates_dir] { return cli::render(*run, *templates_dir); };
  });
}

void add_compare(CLI::App& app, action& chosen) {
  auto options = std::make_shared<cli::compare_options>();
  CLI::App* command = app.add_subcommand(
      "compare", "Show two runs, baselines, commits or models side by side; nothing is judged");
  const std::string what = "run directory, profile.json, baseline file, run id, pair, or commit";
  auto models = std::make_shared<bool>(false);
  auto sides = std::make_shared<std::vector<std::string>>();
  command->add_option("sides", *sides,
                      "A and B: " + what +
                          "; with --models any number of pairs or run directories, "
                          "none: all pairs");
  command->add_flag("--models", *models, "One table over the latest runs of any set of pairs");
  command->add_option("--out", options->out,
                      "Write compare.md, compare.html and compare.json (of models: models.…) to this folder");
  command->add_flag("--json", options->as_json, "Print JSON instead of Markdown");
  command->add_option("--pair", options->pair, "The pair whose runs or baseline a commit stands for");
  command->add_option("--runs-dir", options->runs_dir, "Folder of the runs")->capture_default_str();
  command->add_option("--baselines-dir", options->baselines_dir, "Folder of the baselines")
      ->capture_default_str();
  command->callback([&chosen, options, models, sides] {
    if (*models) {
      chosen = [options, sides] {
        return cli::compare_models({*sides, options->runs_dir, options->out, options->as_json});
      };
      return;
    }
    if (sides->size() != 2)
      throw CLI::ValidationError(
          "compare takes two sides, A and B; many pairs in one table: compare --models");
    options->a = (*sides)[0];
    options->b = (*sides)[1];
    chosen = [options] { return cli::compare(*options); };
  });
}

void add_clean(CLI::App& app, action& chosen) {
  auto options = std::make_shared<cli::clean_options>();
  CLI::App* command = app.add_subcommand("clean", "Show which runs would be removed; --yes removes them");
  command->add_option("--runs-dir", options->runs_dir, "Folder of the runs")->capture_default_str();
  command->add_option("--pair", options->pair, "Only runs of this pair");
  command->add_option("--keep", options->keep, "Keep the newest N runs of each pair")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--older-than", options->older_than_days, "Only runs older than this many days")
      ->check(CLI::NonNegativeNumber);
  command->add_flag("--all", options->everything, "Every run");
  command
      ->add_option("--baselines-dir", options->baselines_dir,
                   "Folder of the baselines: runs that they come from stay")
      ->capture_default_str();
  command->add_flag("--yes", options->yes, "Remove them");
  command->callback([&chosen, options] { chosen = [options] { return cli::clean(*options); }; });
}

int fail(const std::string& what, const std::string& remedy, exit_code code) {
  cli::print_error("profgate: {}\n", what);
  if (!remedy.empty()) cli::print_error("  to fix it: {}\n", remedy);
  return static_cast<int>(code);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "profgate: profile a model, read why it is as fast as it is, and fail the build when it got slower"};
  app.set_version_flag("--version", PROFGATE_VERSION);
  app.require_subcommand(1);
  action chosen;
  add_doctor(app, chosen);
  add_list(app, chosen);
  add_config_and_run(app, chosen);
  add_ab(app, chosen);
  add_step(app, chosen);
  add_session(app, chosen);
  add_analyze_and_render(app, chosen);
  add_compare(app, chosen);
  add_clean(app, chosen);
  cli::add_baseline_commands(app, chosen);
  // What is to be run may have options that look like ours.
  char** const dashes = std::find(argv + 1, argv + argc, std::string_view("--"));
  if (dashes != argv + argc) cli::words_after_dashes().assign(dashes + 1, argv + argc);
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
    // Never undone: a signal that comes when all is done must not turn the outcome into another.
    [[maybe_unused]] static const auto* const guard = new profgate::core::interrupt_guard;
    return static_cast<int>(chosen());
  } catch (const CLI::ParseError& wrong) {
    if (wrong.get_exit_code() == 0) return app.exit(wrong);  // --help, --version
    cli::explain(wrong, app, {argv + 1, dashes});
    return static_cast<int>(exit_code::bad_input);
  } catch (const profgate::core::error& known) {
    return fail(known.what(), known.remedy(), known.code());
  } catch (const std::bad_alloc&) {
    return fail("out of memory", "close other programs, or profile a smaller configuration",
                exit_code::failed);
  } catch (const std::exception& unknown) {
    return fail(fmt::format("a fault of profgate itself: {}", unknown.what()),
                "please report it with the command line", exit_code::bad_input);
  }
}

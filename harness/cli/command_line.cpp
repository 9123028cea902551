#include "command_line.h"

#include <fmt/format.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>

#include "commands.h"
#include "core/slips.h"
#include "terminal.h"

namespace profgate::cli {

std::vector<std::string>& words_after_dashes() {
  static std::vector<std::string> words;
  return words;
}

void explain(const CLI::ParseError& wrong, const CLI::App& app, const std::vector<std::string>& typed) {
  const CLI::App* command = &app;
  std::string path = "profgate";
  std::size_t words = 0;  // of typed that name it
  for (; !command->get_subcommands().empty(); ++words) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  std::vector<std::string> commands;
  for (const CLI::App* each : command->get_subcommands([](const CLI::App*) { return true; }))
    commands.push_back(each->get_name());
  std::vector<std::string> known = commands;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  const bool lacks_command = !commands.empty() && words < typed.size() && !typed[words].starts_with("-");
  std::string remedy = fmt::format("`{} --help` shows what there is", path);
  for (std::size_t i = words; i < typed.size(); ++i) {
    const std::string name = typed[i].substr(0, typed[i].find('='));
    const bool is_name = name.starts_with("--") || (lacks_command && i == words);
    if (!is_name || std::find(known.begin(), known.end(), name) != known.end()) continue;
    if (const auto meant = core::nearest(name, known))
      remedy = fmt::format("did you mean '{}'? {}", *meant, remedy);
    break;
  }
  print_error("profgate: {}\n  to fix it: {}\n",
              lacks_command ? fmt::format("no command '{} {}'", path, typed[words]) : wrong.what(), remedy);
}

void add_pair_words(CLI::App* command, const std::shared_ptr<pair_options>& options,
                    const std::function<void()>& finish) {
  CLI::Option* pair =
      command->add_option("pair", options->pair, "<model>.<config>, as `profgate list` shows it");
  command->add_option("overrides", options->overrides, "group=choice or a.b=value");
  command->add_option("--build-dir", options->build_dir,
                      "Build folder of the project that registers the pair");
  CLI::Option* manifest =
      command->add_option("--manifest", options->manifest, "The pair's manifest file instead of its name");
  CLI::Option* adapter = command->add_option("--adapter", options->adapter,
                                             "What opens ranges in the program: workload.adapter");
  command->callback([options, pair, manifest, adapter, finish] {
    options->command = words_after_dashes();
    if (adapter->count() > 0) options->overrides.push_back("workload.adapter=" + options->adapter);
    // With a manifest or a command the first word is an override already.
    if ((manifest->count() > 0 || !options->command.empty()) && pair->count() > 0) {
      options->overrides.insert(options->overrides.begin(), options->pair);
    } else if (manifest->count() == 0 && pair->count() == 0 && options->command.empty()) {
      throw CLI::RequiredError("a pair, or -- and a command,");
    }
    finish();
  });
}

namespace {

using action = std::function<core::exit_code()>;

constexpr const char* source_text =
    "Run directory whose gate ran, folder of a comparison, or a run set's file";

void add_baselines_dir(CLI::App* command, std::filesystem::path& target) {
  command->add_option("--baselines-dir", target, "Folder of the baselines (gate.baselines_dir)")
      ->capture_default_str();
}

void add_history_file(CLI::App* command, std::optional<std::filesystem::path>& target) {
  command->add_option(
      "--history-file", target,
      std::string("The history; default: gate.history_file of the run, else ") + default_history_file);
}

void add_force(CLI::App* command, bool& target) {
  command->add_flag("--force", target, "Replace the file where it exists");
}

void add_save(CLI::App* baseline, action& chosen) {
  auto options = std::make_shared<baseline_save_options>();
  CLI::App* command = baseline->add_subcommand("save", "Write a run set to a file of its own");
  command->add_option("source", options->source, source_text)->required();
  command->add_option("--out", options->out, "The file")->required();
  add_force(command, options->force);
  command->callback([&chosen, options] { chosen = [options] { return baseline_save(*options); }; });
}

void add_record(CLI::App* baseline, action& chosen) {
  auto pair = std::make_shared<pair_options>();
  auto options = std::make_shared<baseline_record_options>();
  CLI::App* command =
      baseline->add_subcommand("record", "Run a pair's build for a baseline and write its run set");
  add_pair_words(command, pair, [&chosen, pair, options] {
    options->pair = *pair;
    chosen = [options] { return baseline_record(*options); };
  });
  command->add_option("--processes", options->processes, "Processes that count")
      ->check(CLI::Range(8, 1000))
      ->capture_default_str();
  command->add_option("--out", options->out,
                      "The file; default <artifacts.stage2_dir>/ab/<pair>/<time>.runs.json");
  add_force(command, options->force);
}

void add_list(CLI::App* baseline, action& chosen) {
  auto folder = std::make_shared<std::filesystem::path>(default_baselines_dir);
  CLI::App* command = baseline->add_subcommand("list", "List the accepted baselines");
  add_baselines_dir(command, *folder);
  command->callback([&chosen, folder] { chosen = [folder] { return baseline_list(*folder); }; });
}

void add_show(CLI::App* baseline, action& chosen) {
  auto options = std::make_shared<baseline_show_options>();
  CLI::App* command =
      baseline->add_subcommand("show", "Show a baseline: what, where, how fast, who accepted it");
  command->add_option("name", options->name, "As `baseline list` shows it, a pair, or a file")->required();
  add_baselines_dir(command, options->baselines_dir);
  command->callback([&chosen, options] { chosen = [options] { return baseline_show(*options); }; });
}

void add_anchor(CLI::App* baseline, action& chosen) {
  auto options = std::make_shared<baseline_anchor_options>();
  CLI::App* command = baseline->add_subcommand(
      "anchor",
      "Keep a copy of a baseline that no accept moves: gate.anchor holds losses since then against it");
  command->add_option("baseline", options->baseline, "As `baseline list` shows it, a pair, or a file")
      ->required();
  command->add_option("--name", options->name, "What gate.anchor calls it")->capture_default_str();
  command->add_flag("--force", options->force, "Move an anchor of that name");
  add_baselines_dir(command, options->baselines_dir);
  command->callback([&chosen, options] { chosen = [options] { return baseline_anchor(*options); }; });
}

void add_accept(CLI::App* baseline, action& chosen) {
  auto options = std::make_shared<baseline_accept_options>();
  CLI::App* command =
      baseline->add_subcommand("accept", "Make a run set the baseline of its pair and device");
  command->add_option("source", options->source, source_text)->required();
  command->add_option("--reason", options->reason, "Why these times are right from now on")->required();
  command->add_option(
      "--replaces", options->replaces,
      "content_sha256 of the baseline it replaces ('' for none): refused where it is another");
  add_baselines_dir(command, options->baselines_dir);
  add_history_file(command, options->history_file);
  command->callback([&chosen, options] { chosen = [options] { return baseline_accept(*options); }; });
}

void add_gate(CLI::App& app, action& chosen) {
  auto files = std::make_shared<judge_files_options>();
  auto test = std::make_shared<self_test_options>();
  auto words = std::make_shared<pair_options>();
  CLI::App* command = app.add_subcommand(
      "gate",
      "Judge again without running anything: a run directory, or two run sets; or test the gate itself");
  CLI::Option* baseline = command->add_option("--baseline", files->baseline, "Run set of the baseline");
  command->add_option("--candidate", files->candidate, "Run set of the candidate")->needs(baseline);
  command->add_option("--config", files->config, "A run's config.yaml, for its gate.*; else the defaults");
  command->add_flag("--stored", files->as_stored,
                    "As stored numbers, even where they are one comparison's arms");
  command->add_flag("--inconclusive-fails", files->inconclusive_fails, "Exit with 1 instead of 77");
  command->add_option("--out", files->out, "Write gate.md, gate.svg and verdict.json to this folder");
  add_baselines_dir(command, files->baselines_dir);
  auto is_self_test = std::make_shared<bool>(false);
  command->add_flag("--self-test", *is_self_test,
                    "Run the named pair against itself: unchanged it must pass, with a planted delay fail");
  CLI::Option* planted = command
                             ->add_option("--planted-ratio", test->planted_ratio,
                                          "With --self-test: size of the planted slowdown")
                             ->check(CLI::Range(0.0, 100.0))
                             ->capture_default_str();
  command->add_option("run", words->pair, "Run directory; with --self-test a pair");
  command->add_option("overrides", words->overrides, "With --self-test: group=choice or a.b=value");
  command->add_option("--build-dir", words->build_dir,
                      "With --self-test: build folder that registers the pair");
  command->add_option("--manifest", words->manifest, "With --self-test: the pair's manifest file");
  // Judged by other settings than it was measured with, nobody would notice that they were not asked.
  const auto refuse_word = [](const std::string& word) {
    throw CLI::ValidationError(
        word +
        " is of no use here: what was measured is judged by its own settings. To fix it: leave it out; a "
        "setting belongs to profgate run <pair> <setting>, to profgate ab or to --self-test");
  };
  command->callback([&chosen, files, test, words, is_self_test, baseline, planted, refuse_word] {
    if (*is_self_test) {
      test->pair = *words;
      chosen = [test] { return gate_self_test(*test); };
      return;
    }
    if (!words->overrides.empty()) refuse_word(words->overrides.front());
    if (planted->count() > 0) refuse_word("--planted-ratio");
    if (baseline->count() > 0) {
      if (files->candidate.empty()) throw CLI::RequiredError("--candidate");
      if (!words->pair.empty()) refuse_word(words->pair);
      chosen = [files] { return judge_files(*files); };
    } else if (words->pair.empty()) {
      throw CLI::RequiredError("run, or --baseline and --candidate, or --self-test and a pair");
    } else {
      files->run = words->pair;
      chosen = [files] { return judge_run(*files); };
    }
  });
}

void add_history(CLI::App& app, action& chosen) {
  auto shown = std::make_shared<history_show_options>();
  CLI::App* command =
      app.add_subcommand("history", "Draw how a pair's times went over the commits, with changes of level");
  CLI::Option* pair = command->add_option("pair", shown->pair, "<model>.<config>");
  command->add_option("--stage", shown->stage, "Only this stage");
  command->add_option("--anchor", shown->anchor,
                      "Commit that all times are compared with; else the first accepted");
  command->add_option("--out", shown->out, "Write to this .svg or .md instead of printing");
  add_history_file(command, shown->history_file);

  auto appended = std::make_shared<history_append_options>();
  CLI::App* append = command->add_subcommand("append", "Add a run set, such as that of a nightly run");
  append->add_option("source", appended->source, source_text)->required();
  add_history_file(append, appended->history_file);
  command->callback([&chosen, shown, appended, append, pair] {
    if (append->parsed()) {
      chosen = [appended] { return history_append(*appended); };
    } else if (pair->count() == 0) {
      throw CLI::RequiredError("pair");
    } else {
      chosen = [shown] { return history_show(*shown); };
    }
  });
}

}  // namespace

void add_baseline_commands(CLI::App& app, action& chosen) {
  CLI::App* baseline = app.add_subcommand("baseline", "Save, list, show, accept or anchor baselines");
  baseline->require_subcommand(1);
  add_save(baseline, chosen);
  add_record(baseline, chosen);
  add_list(baseline, chosen);
  add_show(baseline, chosen);
  add_accept(baseline, chosen);
  add_anchor(baseline, chosen);
  add_gate(app, chosen);
  add_history(app, chosen);
}

}  // namespace profgate::cli

#include "add_baseline_commands.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>

#include "commands.h"

namespace profgate::cli {
namespace {

using action = std::function<core::exit_code()>;

constexpr const char* source_text =
    "Run directory whose gate ran, folder of a comparison, or a run set's file";

void add_baselines_dir(CLI::App* command, std::filesystem::path& target) {
  command->add_option("--baselines-dir", target, "Folder of the baselines (gate.baselines_dir)")
      ->capture_default_str();
}

void add_history_file(CLI::App* command, std::filesystem::path& target) {
  command->add_option("--history-file", target, "The history (gate.history_file)")->capture_default_str();
}

void add_save(CLI::App* baseline, action& chosen) {
  auto options = std::make_shared<baseline_save_options>();
  CLI::App* command = baseline->add_subcommand("save", "Write a run set to a file of its own");
  command->add_option("source", options->source, source_text)->required();
  command->add_option("--out", options->out, "The file")->required();
  command->add_flag("--force", options->force, "Replace the file where it exists");
  command->callback([&chosen, options] { chosen = [options] { return baseline_save(*options); }; });
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
  auto options = std::make_shared<judge_files_options>();
  CLI::App* command = app.add_subcommand("gate", "Judge two recorded run sets, without running anything");
  command->add_option("--baseline", options->baseline, "Run set of the baseline")->required();
  command->add_option("--candidate", options->candidate, "Run set of the candidate")->required();
  command->add_option("--config", options->config, "A run's config.yaml, for its gate.*; else the defaults");
  command->add_flag("--stored", options->as_stored,
                    "As stored numbers, even where they are one comparison's arms");
  command->add_flag("--inconclusive-fails", options->inconclusive_fails, "Exit with 1 instead of 77");
  add_baselines_dir(command, options->baselines_dir);
  command->callback([&chosen, options] { chosen = [options] { return judge_files(*options); }; });
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
  CLI::App* baseline = app.add_subcommand("baseline", "Save, list, show or accept baselines");
  baseline->require_subcommand(1);
  add_save(baseline, chosen);
  add_list(baseline, chosen);
  add_show(baseline, chosen);
  add_accept(baseline, chosen);
  add_gate(app, chosen);
  add_history(app, chosen);
}

}  // namespace profgate::cli

#include "artifacts/git_facts.h"

#include <algorithm>

namespace profgate::artifacts {

git_facts gather_git_facts(const std::filesystem::path& project_dir, const command_runner& run) {
  const auto git = [&](std::vector<std::string> arguments) {
    // No optional locks: asking must not disturb somebody who commits meanwhile.
    std::vector<std::string> argv{"git", "--no-optional-locks", "-C", project_dir.string()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return run(argv);
  };
  const std::string failed =
      "git gave no answer for " + project_dir.string() +
      ": it is not installed, the folder is no repository, or it belongs to another user";
  const auto first_line = [&](const std::optional<std::string>& output) {
    if (!output || output->empty()) return core::measured<std::string>::absent(failed);
    return core::measured<std::string>(output->substr(0, output->find('\n')));
  };

  git_facts facts;
  facts.commit = first_line(git({"rev-parse", "--verify", "HEAD"}));
  facts.branch = first_line(git({"rev-parse", "--abbrev-ref", "HEAD"}));
  if (facts.branch.value_or("") == "HEAD") {
    facts.branch = core::measured<std::string>::absent("a commit is checked out, not a branch");
  }
  const std::optional<std::string> changes = git({"status", "--porcelain"});
  if (changes) {
    const std::int64_t count = std::count(changes->begin(), changes->end(), '\n');
    facts.changed_files_count = count;
    facts.dirty = count > 0;
  } else {
    facts.changed_files_count = core::measured<std::int64_t>::absent(failed);
    facts.dirty = core::measured<bool>::absent(failed);
  }
  return facts;
}

}  // namespace profgate::artifacts

#include <fmt/format.h>

#include <exception>

#include "core/error.h"
#include "judge_change.h"

/// judge_changes <folder of the changes> <folder of the results> [name…]; exit code 1 where a result is
/// wrong.
int main(int count, char** words) {
  using namespace profgate;
  if (count < 3) {
    fmt::print(stderr, "judge_changes <folder of the changes> <folder of the results> [name…]\n");
    return 2;
  }
  try {
    const changes::table all =
        changes::table_of(words[1], words[2], changes::names_in(words[1], {words + 3, words + count}));
    fmt::print("{}", all.text);
    return all.mistakes == 0 ? 0 : 1;
  } catch (const core::error& wrong) {
    fmt::print(stderr, "judge_changes: {}\n  to fix it: {}\n", wrong.what(), wrong.remedy());
  } catch (const std::exception& wrong) {
    fmt::print(stderr, "judge_changes: {}\n", wrong.what());
  }
  return 2;
}

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "core/error.h"
#include "process/runner.h"
#include "support.h"

namespace profgate::process {
namespace {

using ::testing::HasSubstr;

std::filesystem::path make_file(const std::filesystem::path& path, const std::string& content,
                                bool executable) {
  std::ofstream(path) << content;
  std::filesystem::permissions(
      path, executable ? std::filesystem::perms::owner_all : std::filesystem::perms::owner_read);
  return path;
}

std::string start_error_of(command what) {
  const outcome result = run(what);
  EXPECT_EQ(result.how, ending::not_started);
  EXPECT_EQ(result.wall_ns, -1);
  EXPECT_EQ(result.exit_code, -1);
  EXPECT_THAT(describe(result), HasSubstr("not started: "));
  return result.start_error;
}

TEST(start, says_which_directories_lack_the_program) {
  command what{{"no-such-tool"}, {{"PATH", "/bin:/nowhere"}}, {}, {}};
  EXPECT_EQ(start_error_of(what),
            "no executable file 'no-such-tool' in the directories of PATH (/bin:/nowhere)");
}

TEST(start, tells_the_reasons_apart) {
  const temp_dir directory;
  const auto error_of = [](const std::filesystem::path& program) {
    return start_error_of(command{{program.string()}, {}, {}, {}});
  };
  EXPECT_THAT(error_of(directory / "absent"), HasSubstr("absent does not exist"));
  EXPECT_THAT(error_of(directory.path()), HasSubstr("is a directory"));
  EXPECT_THAT(error_of(make_file(directory / "plain", "text", false)), HasSubstr("plain is not executable"));
  EXPECT_THAT(error_of(make_file(directory / "no-format", "text", true)),
              HasSubstr("no-format is no program for this machine"));
  EXPECT_THAT(error_of(make_file(directory / "script", "#!/no/such/interpreter\n", true)),
              HasSubstr("the interpreter or loader that it names does not exist"));
}

TEST(start, says_which_working_directory_is_missing) {
  command what = misbehave({"exit", "0"});
  what.working_directory = "/no/such/place";
  EXPECT_EQ(start_error_of(what),
            "cannot enter the working directory /no/such/place: No such file or directory");
}

TEST(start, looks_in_the_path_of_the_child_and_past_what_cannot_run) {
  const temp_dir directory;
  std::filesystem::create_directories(directory / "first/tool");
  std::filesystem::create_directories(directory / "second");
  std::filesystem::create_directories(directory / "third");
  make_file(directory / "second/tool", "text", false);
  std::filesystem::create_symlink(PROFGATE_MISBEHAVE, directory / "third/tool");
  command what{{"tool", "exit", "6"}, {}, {}, {}};
  what.set_environment["PATH"] = (directory / "first").string() + ":" + (directory / "second").string() +
                                 ":" + (directory / "third").string();
  EXPECT_EQ(run(what).exit_code, 6);
}

TEST(start, resolves_a_relative_program_from_the_working_directory) {
  const temp_dir directory;
  std::filesystem::create_symlink(PROFGATE_MISBEHAVE, directory / "tool");
  command what{{"./tool", "exit", "6"}, {}, {}, directory.path()};
  EXPECT_EQ(run(what).exit_code, 6);
}

TEST(start, refuses_commands_that_no_system_could_run) {
  const auto words_of = [](const command& what) -> std::string {
    try {
      run(what);
    } catch (const core::bad_input& e) {
      EXPECT_FALSE(e.remedy().empty());
      return e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(words_of(command{}), HasSubstr("has no program"));
  EXPECT_THAT(words_of(command{{""}, {}, {}, {}}), HasSubstr("has no program"));
  EXPECT_THAT(words_of(command{{"true", std::string("a\0b", 3)}, {}, {}, {}}), HasSubstr("NUL byte"));
  EXPECT_THAT(words_of(command{{"true"}, {{"A=B", "c"}}, {}, {}}), HasSubstr("'A=B' cannot be set"));
  EXPECT_THAT(words_of(command{{"true"}, {}, {""}, {}}), HasSubstr("cannot be set or unset"));
}

TEST(start, says_that_the_log_cannot_be_created) {
  run_options options;
  options.log_file = "/no/such/place/log.txt";
  try {
    run(misbehave({"exit", "0"}), options);
    FAIL() << "nothing was thrown";
  } catch (const core::step_failure& e) {
    EXPECT_STREQ(e.what(), "cannot create the log /no/such/place/log.txt: No such file or directory");
    EXPECT_THAT(e.remedy(), HasSubstr("writable"));
  }
}

}  // namespace
}  // namespace profgate::process

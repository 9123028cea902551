#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "process/runner.h"

namespace profgate::process {

// Long enough never to pass on the busiest machine: a test that waits for it has failed.
constexpr std::chrono::minutes far_away{2};

/// A directory of this test alone.
class temp_dir {
 public:
  temp_dir() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    m_path = std::filesystem::path(::testing::TempDir()) /
             ("profgate-process-" + std::to_string(::getpid()) + "-" + test->name());
    std::filesystem::create_directories(m_path);
  }
  ~temp_dir() { std::filesystem::remove_all(m_path); }
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;
  std::filesystem::path operator/(const char* name) const { return m_path / name; }
  const std::filesystem::path& path() const { return m_path; }

 private:
  std::filesystem::path m_path;
};

/// Shows, without a race, whether processes that opened it are still alive.
class life_line {
 public:
  explicit life_line(const temp_dir& directory) : m_path((directory / "fifo").string()) {
    EXPECT_EQ(::mkfifo(m_path.c_str(), 0600), 0);
    m_fd = ::open(m_path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ~life_line() { ::close(m_fd); }
  life_line(const life_line&) = delete;
  life_line& operator=(const life_line&) = delete;
  const std::string& path() const { return m_path; }

  /// How many processes have taken hold; -1: some of them still live.
  int ended_processes() {
    for (;;) {
      std::array<char, 4096> bytes{};
      const ssize_t count = ::read(m_fd, bytes.data(), bytes.size());
      if (count == 0) return m_seen;
      if (count < 0) return -1;
      m_seen += static_cast<int>(count);
    }
  }

  /// Waits until `count` processes have taken hold.
  void wait_for(int count) {
    while (m_seen < count) {
      pollfd event{m_fd, POLLIN, 0};
      ASSERT_GT(::poll(&event, 1, 60'000), 0) << "the processes did not start";
      ASSERT_EQ(ended_processes(), -1) << "the processes ended by themselves";
    }
  }

  /// Waits until all are gone; the limit only keeps a failing test from hanging.
  int wait_until_ended() {
    for (;;) {
      const int ended = ended_processes();
      if (ended >= 0) return ended;
      pollfd event{m_fd, POLLIN, 0};
      if (::poll(&event, 1, 60'000) <= 0) return -1;
    }
  }

 private:
  std::string m_path;
  int m_fd = -1;
  int m_seen = 0;
};

inline command misbehave(std::vector<std::string> words) {
  words.insert(words.begin(), PROFGATE_MISBEHAVE);
  command what;
  what.argv = std::move(words);
  return what;
}

/// stdout of a child that must end well.
inline std::string output_of(const command& what) {
  run_options options;
  options.capture_stdout = true;
  const outcome result = run(what, options);
  EXPECT_EQ(result.exit_code, 0) << describe(result);
  return result.captured;
}

/// Options that call `action` once the child has said "ready".
template <typename F>
run_options when_ready(const F& action) {
  run_options options;
  options.on_line = [action](std::string_view line) {
    if (line == "ready") action();
  };
  return options;
}

/// Options that stop the child once it has said "ready".
inline run_options stop_when_ready() {
  const auto is_ready = std::make_shared<bool>(false);
  run_options options = when_ready([is_ready] { *is_ready = true; });
  options.stop_request = [is_ready]() -> std::optional<std::string> {
    if (*is_ready) return "the disk is full";
    return std::nullopt;
  };
  return options;
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace profgate::process

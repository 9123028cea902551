#include "launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/error.h"

namespace profgate::process {
namespace {

// Where the child has no PATH at all: what a login shell would have.
constexpr const char* default_path = "/usr/local/bin:/usr/bin:/bin";

bool has_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

void check_words(const command& what) {
  if (what.argv.empty() || what.argv.front().empty()) {
    throw core::bad_input("a command to run has no program", "give the program as its first word");
  }
  for (const std::string& word : what.argv) {
    if (has_nul(word)) {
      throw core::bad_input(
          fmt::format("an argument of '{}' contains a NUL byte, which no program can receive",
                      what.argv.front()),
          "remove it from the configuration that gave the argument");
    }
  }
}

void check_variable(const std::string& name, const std::string& value) {
  if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
    throw core::bad_input(fmt::format("'{}' cannot be set or unset as an environment variable", name),
                          "use a name without '=' and a name and value without NUL bytes");
  }
}

std::vector<std::string> child_environment(const command& what) {
  for (const auto& [name, value] : what.set_environment) check_variable(name, value);
  for (const std::string& name : what.unset_environment) check_variable(name, "");

  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    const bool removed = std::find(what.unset_environment.begin(), what.unset_environment.end(), name) !=
                         what.unset_environment.end();
    if (!removed && !what.set_environment.contains(name)) environment.emplace_back(text);
  }
  for (const auto& [name, value] : what.set_environment) environment.push_back(name + "=" + value);
  return environment;
}

std::string path_of(const std::vector<std::string>& environment) {
  constexpr std::string_view prefix = "PATH=";
  for (const std::string& entry : environment) {
    if (entry.starts_with(prefix)) return entry.substr(prefix.size());
  }
  return default_path;
}

}  // namespace

prepared_command prepare(const command& what) {
  check_words(what);
  prepared_command prepared;
  prepared.arguments = what.argv;
  prepared.environment = child_environment(what);
  prepared.working_directory = what.working_directory.string();
  const std::string& name = what.argv.front();
  if (name.find('/') != std::string::npos) {
    prepared.program = name;
  } else if (const auto found = find_program(name, path_of(prepared.environment))) {
    prepared.program = found->string();
  } else {
    prepared.start_error = fmt::format("no executable file '{}' in the directories of PATH ({})", name,
                                       path_of(prepared.environment));
  }
  return prepared;
}

std::string explain_exec_failure(const prepared_command& prepared, int error) {
  const std::string& program = prepared.program;
  const std::filesystem::path full = std::filesystem::path(prepared.working_directory) / program;
  std::error_code ignored;
  if (error == ENOENT && std::filesystem::exists(full, ignored)) {
    return fmt::format("{} cannot run: the interpreter or loader that it names does not exist", program);
  }
  if (error == ENOENT) return fmt::format("{} does not exist", full.string());
  if (error == EACCES && std::filesystem::is_directory(full, ignored)) {
    return fmt::format("{} is a directory", full.string());
  }
  if (error == EACCES) return fmt::format("{} is not executable (permission denied)", full.string());
  if (error == ENOEXEC) {
    return fmt::format("{} is no program for this machine, or a script without a '#!' line", full.string());
  }
  return fmt::format("{} cannot be executed: {}", full.string(), std::strerror(error));
}

std::optional<std::string> why_not_startable(const command& what) {
  const prepared_command prepared = prepare(what);
  if (!prepared.start_error.empty()) return prepared.start_error;
  const std::filesystem::path full = std::filesystem::path(prepared.working_directory) / prepared.program;
  std::error_code ignored;
  if (std::filesystem::is_directory(full, ignored)) return explain_exec_failure(prepared, EACCES);
  if (::access(full.c_str(), X_OK) != 0) return explain_exec_failure(prepared, errno);
  return std::nullopt;
}

namespace {

std::atomic<int> held_descriptor{-1};

// A bigger pipe lets a chatty child run on while we write the log. Where the system allows less, less it is.
constexpr int output_pipe_bytes = 1 << 20;

[[noreturn]] void throw_no_resources(const char* what, const std::string& program, int error) {
  throw core::step_failure(fmt::format("cannot start {}: {}: {}", program, what, std::strerror(error)),
                           "end other programs, or raise the limits on processes and open files (ulimit -u, "
                           "ulimit -n)");
}

/// Moves a descriptor away from 0, 1 and 2, which the child gets new ones for.
core::owned_fd above_stdio(int fd) {
  core::owned_fd original(fd);
  if (fd < 0 || fd >= first_free_fd) return original;
  return core::owned_fd(::fcntl(fd, F_DUPFD_CLOEXEC, first_free_fd));
}

struct pipe_ends {
  core::owned_fd read;
  core::owned_fd write;
};

pipe_ends take_ends(const std::array<int, 2>& fds, const std::string& program) {
  pipe_ends ends;
  ends.read = above_stdio(fds[0]);
  ends.write = above_stdio(fds[1]);
  if (!ends.read.is_open() || !ends.write.is_open()) throw_no_resources("pipe", program, errno);
  return ends;
}

pipe_ends make_pipe(const std::string& program) {
  std::array<int, 2> fds{-1, -1};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) throw_no_resources("pipe", program, errno);
  return take_ends(fds, program);
}

/// A socket, since only a socket can be written to without the risk of SIGPIPE.
pipe_ends make_control_channel(const std::string& program) {
  std::array<int, 2> fds{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    throw_no_resources("socketpair", program, errno);
  }
  return take_ends(fds, program);
}

pipe_ends make_output_pipe(const std::string& program) {
  pipe_ends ends = make_pipe(program);
  ::fcntl(ends.write.get(), F_SETPIPE_SZ, output_pipe_bytes);
  ::fcntl(ends.read.get(), F_SETFL, O_NONBLOCK);
  return ends;
}

std::vector<char*> as_pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// "For ever" is often said as the largest number there is, which does not fit into nanoseconds.
std::int64_t to_ns(std::chrono::milliseconds duration) {
  constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365 * 100);
  return std::chrono::nanoseconds(std::min(duration, for_ever)).count();
}

/// fork() with every signal blocked in the new process, so that none of our handlers ever runs there.
pid_t fork_without_signals() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) return 0;
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = fork_error;
  return pid;
}

}  // namespace

supervised_child::supervised_child(const prepared_command& prepared, const run_options& options) {
  const core::owned_fd null_device = above_stdio(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_device.is_open()) throw_no_resources("/dev/null", prepared.program, errno);
  pipe_ends report = make_pipe(prepared.program);
  pipe_ends control = make_control_channel(prepared.program);
  pipe_ends output = make_output_pipe(prepared.program);
  pipe_ends captured;
  if (options.capture_stdout) captured = make_output_pipe(prepared.program);

  const std::vector<char*> argv = as_pointers(prepared.arguments);
  const std::vector<char*> environment = as_pointers(prepared.environment);
  supervisor_setup setup;
  setup.program = prepared.program.c_str();
  setup.argv = argv.data();
  setup.environment = environment.data();
  setup.working_directory = prepared.working_directory.empty() ? nullptr : prepared.working_directory.c_str();
  setup.control_fd = control.read.get();
  setup.report_fd = report.write.get();
  setup.null_fd = null_device.get();
  setup.stdout_fd = options.capture_stdout ? captured.write.get() : output.write.get();
  setup.stderr_fd = output.write.get();
  setup.held_fd = held_descriptor;
  setup.deadline_ns = options.deadline ? to_ns(*options.deadline) : -1;
  setup.grace_ns = to_ns(options.grace);
  setup.leftover_grace_ns = to_ns(options.leftover_grace);

  m_supervisor = fork_without_signals();
  if (m_supervisor == 0) supervise(setup);
  if (m_supervisor < 0) throw_no_resources("fork", prepared.program, errno);
  m_control = std::move(control.write);
  m_report = std::move(report.read);
  m_output = std::move(output.read);
  m_captured = std::move(captured.read);
}

void hold_until_children_end(int descriptor) {
  held_descriptor = descriptor;
}

supervised_child::~supervised_child() {
  // An exception may bring us here while the child runs. Closing the control channel ends it; closing the
  // output as well keeps it from blocking on a pipe that nobody reads any more.
  m_control.reset();
  m_output.reset();
  m_captured.reset();
  while (::waitpid(m_supervisor, nullptr, 0) < 0 && errno == EINTR) continue;
}

void supervised_child::send(char request) {
  // A supervisor that is gone needs no request; MSG_NOSIGNAL: nor is that worth a SIGPIPE.
  ::send(m_control.get(), &request, 1, MSG_NOSIGNAL);
}

}  // namespace profgate::process

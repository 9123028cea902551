#include "workload/server.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "core/error.h"
#include "core/owned_fd.h"

namespace profgate::workload {
namespace {

constexpr std::uint16_t only_port = 40000;
constexpr int not_possible_here = 77;

/// This process alone gets a network in which `only_port` is the one the system gives to who connects.
bool enter_network_of_one_port() {
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  const core::owned_fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP;
  std::ofstream range("/proc/sys/net/ipv4/ip_local_port_range");
  range << only_port << " " << only_port + 1 << std::endl;
  return ::ioctl(any.get(), SIOCSIFFLAGS, &loopback) == 0 && range.good();
}

int look_for_a_server_that_is_not_there() {
  if (!enter_network_of_one_port()) return not_possible_here;
  server_rules rules;
  rules.ready_port = only_port;
  try {
    const server_run looking(rules, "/nonexistent/server.pid", [](const std::string&) {});
    return 0;
  } catch (const core::step_failure&) {
    return 1;  // "port 40000 takes connections before the server was started"
  }
}

TEST(server_run, does_not_take_its_own_connection_for_a_server) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(look_for_a_server_that_is_not_there());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == not_possible_here) GTEST_SKIP() << "no network of its own for a process here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace profgate::workload

#include "process/process_tree.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "child_scan.h"

namespace profgate::process {

process_tree::process_tree(pid_t root) {
  add(root);
  add_descendants();
}

void process_tree::add(pid_t pid) {
  if (pid <= 1) return;
  const bool is_known = std::any_of(m_members.begin(), m_members.end(),
                                    [&](const member& each) { return each.pid == pid && send(each, 0); });
  if (is_known) return;
  core::owned_fd fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!fd.is_open() && errno != ENOSYS && errno != EPERM) return;  // it has ended meanwhile
  m_members.push_back({pid, std::move(fd)});
}

void process_tree::add_descendants() {
  // By index: those that are added have children, too.
  for (std::size_t i = 0; i < m_members.size(); ++i) {
    std::vector<pid_t> children;
    for_each_child(
        m_members[i].pid,
        [](const child_entry& child, void* list) {
          static_cast<std::vector<pid_t>*>(list)->push_back(child.pid);
        },
        &children);
    // What has a number that was given away since is not ours.
    if (!send(m_members[i], 0)) continue;
    for (const pid_t child : children) add(child);
  }
}

bool process_tree::send(const member& to, int signal) {
  if (to.fd.is_open()) return ::syscall(SYS_pidfd_send_signal, to.fd.get(), signal, nullptr, 0) == 0;
  return ::kill(to.pid, signal) == 0;  // an old kernel, or a sandbox that forbids it
}

bool process_tree::is_alive() const {
  return std::any_of(m_members.begin(), m_members.end(), [](const member& each) { return send(each, 0); });
}

void process_tree::signal_root(int signal) {
  add_descendants();
  if (m_members.empty()) return;
  send(m_members.front(), signal);
  send(m_members.front(), SIGCONT);  // one that is stopped would not see it
}

void process_tree::signal_all(int signal) {
  add_descendants();
  for (const member& each : m_members) {
    send(each, signal);
    send(each, SIGCONT);
  }
}

}  // namespace profgate::process

#pragma once

#include <cstddef>
#include <string>

/// What the verbs of the test program share.
namespace misbehave {

/// Writes all of it to stdout, unbuffered.
void say(const std::string& text);

[[noreturn]] void wait_forever();

// Verbs that start other processes; each returns the exit code.
int leave_daemon(const char* fifo);
int leave_zombies();
int stubborn_tree(const char* fifo);
int keep_forking(const char* fifo);
int kill_parent(const char* fifo);
int use_resources_in_grandchild(std::size_t megabytes);

}  // namespace misbehave

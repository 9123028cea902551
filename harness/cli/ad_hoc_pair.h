#pragma once

#include <string>
#include <vector>

#include "commands.h"
#include "pair_manifest.h"

namespace profgate::cli {

/// What stands for the configuration's name in that of a pair that nobody registered.
inline constexpr const char* ad_hoc_config = "adhoc";

/// Any command as a pair that nobody registered: it runs in the current folder, which gets the runs, with
/// profgate's own settings and those of ./conf where there are some. Called "<program>.adhoc", after the
/// script where the program is an interpreter.
pair_manifest ad_hoc_pair(const std::vector<std::string>& command);

/// Takes a typed server and its client apart, <server words> -- <client words>: the client and when it is to
/// run become overrides. Leaves options without ready_port and ready_text as they are.
void split_server_command(pair_options& options);
/// The same of two that are to be compared, <server A> -- <client> -- <server B> [-- <client B>]: what stays
/// are the words of the servers, as split_commands() takes them.
void split_server_commands(ab_options& options);

/// "bench" of {"python3", "-u", "dir/bench.py"}.
std::string name_of_program(const std::vector<std::string>& command);

struct two_commands {
  std::vector<std::string> baseline;
  std::vector<std::string> candidate;
};

/// `A words -- B words`, as they stand after the first `--` of `profgate ab`. bad_input where there is no
/// other `--`, or more than one: whose they are nobody knows.
two_commands split_commands(const std::vector<std::string>& words);

}  // namespace profgate::cli

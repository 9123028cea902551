#include "artifacts/redact.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace profgate::artifacts {
namespace {

bool is_token_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// "32", "8,16,32", "0.5": numbers of at most six digits each. Nobody's key is that short.
bool is_short_numbers(std::string_view text) {
  std::size_t digits = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && c != ',' && c != '.' && c != ' ') return false;
    digits = digit ? digits + 1 : 0;
    if (digits > 6) return false;
  }
  return true;
}

bool names_a_secret(std::string_view name, std::string_view value) {
  static constexpr std::array<std::string_view, 6> always{"secret",     "password",   "passwd",
                                                          "passphrase", "credential", "authorization"};
  const std::string lower = lower_case(name);
  const auto is_in_name = [&](std::string_view word) { return lower.find(word) != std::string::npos; };
  if (std::any_of(always.begin(), always.end(), is_in_name)) return true;
  // "tokenizer" is a word of the trade; "token" and "key" are too, but then their values are numbers.
  std::size_t token = lower.find("token");
  while (token != std::string::npos && lower.compare(token, 7, "tokeniz") == 0) {
    token = lower.find("token", token + 5);
  }
  return (token != std::string::npos || is_in_name("key")) && !is_short_numbers(value);
}

/// Replaces the run of token characters after each `prefix` that starts a word, where it is long enough.
void redact_after_prefix(std::string& text, std::string_view prefix, std::size_t least_length) {
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
    if (at > 0 && is_token_character(text[at - 1])) continue;
    const std::size_t start = at + prefix.size();
    std::size_t end = start;
    while (end < text.size() && (is_token_character(text[end]) || text[end] == '.')) ++end;
    if (end - start >= least_length) text.replace(start, end - start, redaction);
  }
}

/// scheme://user:password@host → scheme://[redacted]@host
void redact_address_users(std::string& text) {
  for (std::size_t at = text.find("://"); at != std::string::npos; at = text.find("://", at + 3)) {
    const std::size_t start = at + 3;
    const std::size_t host_end = text.find_first_of("/?# \t\n\"'", start);
    const std::size_t sign = text.substr(start, host_end - start).rfind('@');
    if (sign != std::string::npos) text.replace(start, sign, redaction);
  }
}

/// …?token=x&n=1 → …?token=[redacted]&n=1
void redact_query_parameters(std::string& text) {
  for (std::size_t at = text.find_first_of("?&"); at != std::string::npos;
       at = text.find_first_of("?&", at + 1)) {
    const std::size_t equals = text.find('=', at);
    if (equals == std::string::npos) return;
    const std::string name = text.substr(at + 1, equals - at - 1);
    if (!std::all_of(name.begin(), name.end(), is_token_character)) continue;
    const std::size_t end = std::min(text.find_first_of("&# \t\n\"'", equals), text.size());
    if (names_a_secret(name, text.substr(equals + 1, end - equals - 1))) {
      text.replace(equals + 1, end - equals - 1, redaction);
    }
  }
}

bool may_name_an_option(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return is_token_character(c) || c == '.' || c == '+'; });
}

}  // namespace

std::string redact_text(std::string_view text) {
  std::string out(text);
  redact_address_users(out);
  redact_query_parameters(out);
  for (const std::string_view scheme : {"Bearer ", "bearer ", "Basic "}) redact_after_prefix(out, scheme, 1);
  for (const std::string_view prefix :
       {"hf_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "nvapi-", "AKIA"}) {
    redact_after_prefix(out, prefix, 16);
  }
  return out;
}

std::vector<std::string> redact_argv(const std::vector<std::string>& argv) {
  std::vector<std::string> out;
  out.reserve(argv.size());
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const std::string& argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const bool is_option = may_name_an_option(name);
    if (is_option && equals != std::string::npos && names_a_secret(name, argument.substr(equals + 1))) {
      out.push_back(name + "=" + std::string(redaction));
      continue;
    }
    out.push_back(redact_text(argument));
    const bool takes_next =
        is_option && equals == std::string::npos && name.front() == '-' && i + 1 < argv.size();
    if (takes_next && argv[i + 1].compare(0, 2, "--") != 0 && names_a_secret(name, argv[i + 1])) {
      out.emplace_back(redaction);
      ++i;
    }
  }
  return out;
}

std::map<std::string, std::string> allowed_environment(const std::vector<std::string>& variables) {
  static constexpr std::array<std::string_view, 14> prefixes{
      "CUDA_",  "CUBLAS_", "NVIDIA_", "NCCL_", "NVTX_",     "NSYS_", "PROFGATE_",
      "CTEST_", "OMP_",    "GOMP_",   "KMP_",  "OPENBLAS_", "MKL_",  "LC_"};
  static constexpr std::array<std::string_view, 5> names{"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "LANG",
                                                         "TMPDIR"};
  std::map<std::string, std::string> out;
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = variable.substr(0, equals);
    const std::string value = variable.substr(equals + 1);
    const bool allowed = std::find(names.begin(), names.end(), name) != names.end() ||
                         std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
                           return name.compare(0, prefix.size(), prefix) == 0;
                         });
    if (allowed) out[name] = names_a_secret(name, value) ? std::string(redaction) : redact_text(value);
  }
  return out;
}

std::map<std::string, std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  return allowed_environment(variables);
}

}  // namespace profgate::artifacts

#include "artifacts/redact.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "secret_names.h"

namespace profgate::artifacts {
namespace {

bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}
bool is_token_character(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-';
}
bool is_option_character(char c) {
  return is_token_character(c) || c == '.' || c == '+';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// How the access tokens of well-known services begin, and how long the rest is at least. Where `is_word`
/// is set, it is one run of letters and digits: "hf_transformers_cache" is none.
struct token_shape {
  std::string_view prefix;
  std::size_t least_length;
  bool is_word;
};

constexpr token_shape token_shapes[] = {
    {"hf_", 16, true},      {"ghp_", 16, true},      {"gho_", 16, true},         {"ghs_", 16, true},
    {"ghu_", 16, true},     {"ghr_", 16, true},      {"github_pat_", 16, false}, {"glpat-", 16, false},
    {"gldt-", 16, false},   {"sk-ant-", 16, false},  {"sk-proj-", 16, false},    {"sk-", 16, true},
    {"sk_live_", 16, true}, {"sk_test_", 16, true},  {"rk_live_", 16, true},     {"xoxb-", 16, false},
    {"xoxp-", 16, false},   {"xoxa-", 16, false},    {"xapp-", 16, false},       {"nvapi-", 16, false},
    {"AKIA", 16, true},     {"ASIA", 16, true},      {"AIza", 30, false},        {"ya29.", 16, false},
    {"npm_", 30, true},     {"pypi-AgE", 16, false}, {"dckr_pat_", 16, false},   {"SG.", 30, false},
    {"shpat_", 16, true},   {"dop_v1_", 16, true},   {"r8_", 30, true},          {"gsk_", 30, true},
    {"hvs.", 16, false},    {"dapi", 32, true},
};

/// Replaces what follows each `shape.prefix` that starts a word, where it is long enough.
void redact_after_prefix(std::string& text, const token_shape& shape) {
  for (std::size_t at = text.find(shape.prefix); at != std::string::npos;
       at = text.find(shape.prefix, at + 1)) {
    if (at > 0 && is_token_character(text[at - 1])) continue;
    const std::size_t start = at + shape.prefix.size();
    std::size_t end = start;
    while (end < text.size() && (is_token_character(text[end]) || text[end] == '.')) ++end;
    const bool is_word = std::all_of(text.begin() + static_cast<std::ptrdiff_t>(start),
                                     text.begin() + static_cast<std::ptrdiff_t>(end), is_alphanumeric);
    if (end - start >= shape.least_length && (is_word || !shape.is_word)) {
      text.replace(start, end - start, redaction);
    }
  }
}

/// A JSON Web Token: three runs of base64url with dots between, the first of which is {"… in base64.
void redact_web_tokens(std::string& text) {
  for (std::size_t at = text.find("eyJ"); at != std::string::npos; at = text.find("eyJ", at + 1)) {
    if (at > 0 && is_token_character(text[at - 1])) continue;
    std::size_t end = at;
    while (end < text.size() && (is_token_character(text[end]) || text[end] == '.')) ++end;
    const std::string_view token = std::string_view(text).substr(at, end - at);
    if (token.size() >= 30 && std::count(token.begin(), token.end(), '.') >= 2) {
      text.replace(at, end - at, redaction);
    }
  }
}

void redact_private_keys(std::string& text) {
  constexpr std::string_view end_mark = "PRIVATE KEY-----";
  for (std::size_t at = text.find(end_mark); at != std::string::npos; at = text.find(end_mark, at + 1)) {
    const std::size_t start = at + end_mark.size();
    const std::size_t end = std::min(text.find("-----END", start), text.size());
    if (end > start) text.replace(start, end - start, redaction);
    at = std::min(text.find(end_mark, start), text.size());  // that of the END line
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

/// https://hooks.slack.com/services/T0/B0/x → …/services/[redacted]
void redact_hooks(std::string& text) {
  for (const std::string_view hook : {"hooks.slack.com/services/", "discord.com/api/webhooks/"}) {
    for (std::size_t at = text.find(hook); at != std::string::npos; at = text.find(hook, at + 1)) {
      const std::size_t start = at + hook.size();
      const std::size_t end = std::min(text.find_first_of(" \t\n\"'?#", start), text.size());
      text.replace(start, end - start, redaction);
    }
  }
}

/// A name and its value in a text, as "name=value", "name: value", "\"name\": \"value\"", "--name value".
struct name_and_value {
  std::string_view name;
  char before = ' ';      ///< what stands before the name
  char separator = '=';   ///< =, : or a space
  std::size_t start = 0;  ///< of the value
  std::size_t end = 0;
};

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

/// Past a quotation mark, that of a JSON text inside a JSON text (\") too.
std::size_t skip_quote(std::string_view text, std::size_t at) {
  const std::size_t mark = at < text.size() && text[at] == '\\' ? at + 1 : at;
  const bool is_quote = mark < text.size() && (text[mark] == '"' || text[mark] == '\'');
  return is_quote ? mark + 1 : at;
}

std::size_t end_of_quoted(std::string_view text, std::size_t start) {
  const char quote = text[start - 1];
  const bool is_escaped = start >= 2 && text[start - 2] == '\\';
  for (std::size_t i = start; i < text.size(); ++i) {
    const bool after_backslash = i > start && text[i - 1] == '\\';
    if (text[i] == quote && after_backslash == is_escaped) return is_escaped ? i - 1 : i;
  }
  return text.size();
}

/// Where an unquoted value ends depends on what it is a part of. In doubt late: half a password is one too.
std::size_t end_of_bare(std::string_view text, const name_and_value& found) {
  const char* ends = " \t\r\n;\"'";
  if (found.before == '?' || found.before == '&') ends = " \t\r\n;\"'&#";
  if (found.before == ';' && found.separator == '=') ends = "\r\n;\"'";  // Password=with spaces;Database=x
  std::size_t end = std::min(text.find_first_of(ends, found.start), text.size());
  while (end > found.start && std::string_view(",)]}").find(text[end - 1]) != std::string_view::npos) --end;
  return end;
}

/// A header's value is the rest of its line: "Cookie: a=1; b=2".
std::size_t end_of_header(std::string_view text, std::size_t start) {
  return std::min(text.find_first_of("\r\n\"'", start), text.size());
}

bool is_header_to_line_end(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower == "cookie" || lower == "set-cookie" || lower.ends_with("authorization");
}

/// "Bearer", "Basic", "AWS4-HMAC-SHA256": says how the rest of a header is meant, and may stay.
std::size_t after_scheme(std::string_view text, std::size_t start) {
  std::size_t end = start;
  while (end < text.size() && is_token_character(text[end])) ++end;
  return end - start >= 3 && end - start <= 16 && end + 1 < text.size() && text[end] == ' ' ? end + 1 : start;
}

/// The value that follows the name at [from, to), if one does.
bool find_value(std::string_view text, std::size_t from, std::size_t to, name_and_value& found) {
  found.name = text.substr(from, to - from);
  found.before = from == 0 ? ' ' : text[from - 1];
  const std::size_t after_quote = skip_quote(text, to);
  std::size_t at = skip_spaces(text, after_quote);
  const bool is_option = found.name.size() > 2 && found.name.front() == '-' && after_quote == to;
  if (at < text.size() && (text[at] == '=' || (text[at] == ':' && text.substr(at, 2) != "::"))) {
    found.separator = text[at];
    at = skip_spaces(text, at + 1);
  } else if (is_option && at > to && at < text.size() && text[at] != '-') {
    found.separator = ' ';
  } else {
    return false;
  }
  found.start = skip_quote(text, at);
  if (found.start >= text.size() || is_space(text[found.start])) return false;
  if (text.substr(found.start).starts_with(redaction)) return false;  // done before
  if (found.start > at) {
    found.end = end_of_quoted(text, found.start);
  } else if (found.separator == ':' && is_header_to_line_end(found.name)) {
    found.start = after_scheme(text, found.start);
    found.end = end_of_header(text, found.start);
  } else {
    found.end = end_of_bare(text, found);
  }
  return found.end > found.start;
}

/// Everything in `text` that is called a secret.
void redact_named(std::string& text) {
  for (std::size_t from = 0; from < text.size();) {
    if (!is_option_character(text[from])) {
      ++from;
      continue;
    }
    std::size_t to = from;
    while (to < text.size() && is_option_character(text[to])) ++to;
    name_and_value found;
    // "/opt/key:/usr/lib" is a list of folders, "a/key=x" an address's part.
    const bool starts_here =
        from == 0 || std::string_view(" \t\r\n?&;,{(['\"`|@").find(text[from - 1]) != std::string_view::npos;
    const bool is_found = starts_here && find_value(text, from, to, found);
    const found_in where =
        found.before == '?' || found.before == '&' ? found_in::address_query : found_in::text;
    const std::string value = is_found ? text.substr(found.start, found.end - found.start) : std::string();
    if (is_found && names_a_secret(found.name, value, where)) {
      text.replace(found.start, found.end - found.start, redaction);
      to = found.start + redaction.size();
    }
    from = to;
  }
}

bool may_name_an_option(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_option_character);
}

std::string_view program_of(const std::vector<std::string>& argv) {
  if (argv.empty()) return {};
  const std::string_view first = argv.front();
  return first.substr(first.rfind('/') + 1);  // npos + 1 is 0
}

/// -p is a password to many programs, and a port, a project or "keep as it was" to others.
bool is_password_after_p(std::string_view program, std::string_view value) {
  static constexpr std::array<std::string_view, 24> others{
      "mkdir", "cp",      "ssh",   "scp",   "docker", "podman", "make",   "patch",
      "ps",    "grep",    "nvcc",  "tar",   "rsync",  "pytest", "touch",  "perf",
      "pgrep", "taskset", "ninja", "cmake", "ctest",  "nsys",   "python", "python3"};
  const bool is_other = std::find(others.begin(), others.end(), program) != others.end();
  return !is_other && !value.empty() && value.front() != '-' && value.front() != '$' &&
         !is_short_numbers(value) && !is_file_path(value);
}

/// What a short option gives away; nothing where it is a harmless one. `value` is the argument after it.
bool takes_a_password(std::string_view program, std::string_view option, std::string_view value) {
  if (option == "-p") return is_password_after_p(program, value);
  return option == "-a" && program == "redis-cli";
}

/// curl -u name:password → name:[redacted]; docker -u 1000:1000 stays.
std::string without_password_of_user(const std::string& value) {
  const std::size_t colon = value.find(':');
  if (colon == std::string::npos || colon + 1 == value.size() || is_short_numbers(value)) return value;
  return value.substr(0, colon + 1) + std::string(redaction);
}

bool has_attached_password(std::string_view program, std::string_view argument) {
  static constexpr std::array<std::string_view, 7> programs{
      "mysql", "mysqldump", "mysqladmin", "mariadb", "mysqlimport", "sshpass", "7z"};
  return argument.size() > 2 && argument.starts_with("-p") &&
         std::find(programs.begin(), programs.end(), program) != programs.end();
}

}  // namespace

std::string redact_text(std::string_view text) {
  std::string out(text);
  redact_address_users(out);
  redact_hooks(out);
  redact_private_keys(out);
  redact_web_tokens(out);
  redact_named(out);
  for (const std::string_view scheme : {"Bearer ", "bearer "}) redact_after_prefix(out, {scheme, 16, false});
  for (const token_shape& shape : token_shapes) redact_after_prefix(out, shape);
  return out;
}

std::vector<std::string> redact_argv(const std::vector<std::string>& argv) {
  const std::string_view program = program_of(argv);
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
    if (has_attached_password(program, argument)) {
      out.push_back("-p" + std::string(redaction));
      continue;
    }
    out.push_back(redact_text(argument));
    if (!is_option || equals != std::string::npos || name.front() != '-' || i + 1 == argv.size()) continue;
    const std::string& next = argv[i + 1];
    if (next.starts_with("--")) continue;
    if (names_a_secret(name, next) || takes_a_password(program, name, next)) {
      out.emplace_back(redaction);
      ++i;
    } else if (name == "-u" || name == "--user" || name == "--proxy-user") {
      out.push_back(without_password_of_user(redact_text(next)));
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

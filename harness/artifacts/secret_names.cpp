#include "secret_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace profgate::artifacts {
namespace {

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_decimal_digit(char c) {
  return c >= '0' && c <= '9';
}

/// "clientSecret" and "CLIENT_SECRET" are both "client", "secret".
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool starts_word =
        is_upper(c) && i > 0 &&
        (is_lower_or_digit(name[i - 1]) ||
         (is_upper(name[i - 1]) && i + 1 < name.size() && is_lower_or_digit(name[i + 1])));
    const bool separates = std::isalnum(static_cast<unsigned char>(c)) == 0;
    if ((starts_word || separates) && !words.back().empty()) words.emplace_back();
    if (!separates) words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

template <std::size_t count>
bool is_one_of(std::string_view word, const std::array<std::string_view, count>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// A last word after which the value tells of a secret, and is none: "--key-file", "token_count".
bool only_describes(std::string_view word) {
  static constexpr std::array<std::string_view, 46> describing{
      "file",    "files",   "path",     "paths",   "dir",       "folder",   "name",     "names",
      "type",    "types",   "len",      "length",  "size",      "sizes",    "count",    "ttl",
      "timeout", "mode",    "format",   "policy",  "algorithm", "lifetime", "url",      "uri",
      "env",     "layout",  "dtype",    "heads",   "dim",       "budget",   "limit",    "strategy",
      "method",  "scheme",  "provider", "column",  "index",     "field",    "interval", "usage",
      "store",   "backend", "rotation", "enabled", "required",  "manager"};
  return is_one_of(word, describing);
}

/// "HF_TOKEN_2", "API_KEY_B64" and "DB_PASS_PROD" still end in the word before.
bool only_varies(std::string_view word) {
  static constexpr std::array<std::string_view, 16> varying{
      "value", "text", "string", "base64",  "b64",  "hex",     "raw",       "old",
      "new",   "prod", "dev",    "staging", "test", "primary", "secondary", "default"};
  return is_one_of(word, varying) || std::all_of(word.begin(), word.end(), is_decimal_digit);
}

/// These name a secret wherever in a name they stand.
bool always_names_one(std::string_view word) {
  static constexpr std::array<std::string_view, 10> parts{
      "secret",     "password", "passwd",    "passphrase", "passcode",
      "credential", "apikey",   "accesskey", "privatekey", "authorization"};
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return word.find(part) != std::string_view::npos; });
}

/// These do where a name ends in them.
bool names_one_at_end(std::string_view word) {
  static constexpr std::array<std::string_view, 17> endings{
      "pass",    "pwd",    "pw",      "auth",      "creds",   "cred",   "cookie",   "cookies", "jwt",
      "sshpass", "dbpass", "keypass", "storepass", "userpwd", "rootpw", "userpass", "psk"};
  return is_one_of(word, endings);
}

/// "key" and "token" are words of the trade too: then their values are numbers, or the word before says so.
bool is_key_or_token(const std::vector<std::string>& words, std::size_t at) {
  const std::string_view word = words[at];
  const bool is_token = word.ends_with("token") || word.ends_with("tokens");
  static constexpr std::array<std::string_view, 6> other_keys{"monkey", "donkey",  "turkey",
                                                              "hotkey", "hotkeys", "keykey"};
  const bool is_key = (word.ends_with("key") || word.ends_with("keys")) && !is_one_of(word, other_keys);
  if (!is_token && !is_key) return false;
  static constexpr std::array<std::string_view, 28> of_the_trade{
      "eos",     "bos",    "pad",  "unk",    "mask",  "sep",     "cls",     "stop",      "special", "image",
      "sort",    "public", "pub",  "cache",  "group", "primary", "foreign", "partition", "index",   "lookup",
      "routing", "object", "json", "config", "query", "prompt",  "next",    "per"};
  return at == 0 || !is_one_of(words[at - 1], of_the_trade);
}

/// "$HF_TOKEN", "${TOKEN}", "$(cat x)", "%TOKEN%", "<token>", "***": stands for a secret.
bool only_stands_for(std::string_view value) {
  if (value.starts_with("${") || value.starts_with("$(") || value.starts_with("{{")) return true;
  if (value.size() > 2 && value.front() == '<' && value.back() == '>') return true;
  if (value.size() > 2 && value.front() == '%' && value.back() == '%') return true;
  if (value.find_first_not_of('*') == std::string_view::npos) return true;
  const auto is_in_variable = [](char c) { return is_upper(c) || is_decimal_digit(c) || c == '_'; };
  return value.front() == '$' && value.size() > 1 &&
         std::all_of(value.begin() + 1, value.end(), is_in_variable);
}

bool is_a_setting(std::string_view value) {
  static constexpr std::array<std::string_view, 30> settings{
      "true",   "false",  "yes",  "no",    "on",       "off",       "none", "null", "auto", "default",
      "basic",  "digest", "ntlm", "oauth", "oauth2",   "negotiate", "tls",  "mtls", "iam",  "sasl",
      "bearer", "token",  "ldap", "oidc",  "kerberos", "anonymous", "any",  "saml", "jwt",  "disabled"};
  std::string lower(value);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return is_one_of(lower, settings);
}

}  // namespace

bool is_short_numbers(std::string_view text, std::size_t most_digits) {
  std::size_t digits = 0;
  for (const char c : text) {
    if (!is_decimal_digit(c) && c != ',' && c != '.' && c != ' ' && c != ':') return false;
    digits = is_decimal_digit(c) ? digits + 1 : 0;
    if (digits > most_digits) return false;
  }
  return true;
}

bool is_file_path(std::string_view text) {
  const bool starts_like_one =
      text.starts_with("./") || text.starts_with("../") || text.starts_with("~/") ||
      (text.starts_with('/') && text.find_first_of("/.", 1) != std::string_view::npos);
  return starts_like_one && std::all_of(text.begin(), text.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                  std::string_view("/._-~").find(c) != std::string_view::npos;
         });
}

bool names_a_secret(std::string_view name, std::string_view value, found_in where) {
  std::vector<std::string> words = words_of(name);
  if (words.empty() || value.empty() || only_stands_for(value)) return false;
  while (words.size() > 1 && only_varies(words.back())) words.pop_back();
  if (words.size() > 1 && only_describes(words.back())) return false;
  if (std::any_of(words.begin(), words.end(), always_names_one)) return !is_a_setting(value);
  if (is_a_setting(value) || is_file_path(value)) return false;
  const bool is_address = value.find("://") != std::string_view::npos;  // its own secrets are seen in it
  const std::string_view last = words.back();
  if (last == "pwd" && words.size() == 1 && value.front() == '/') return false;  // the shell's folder
  if (names_one_at_end(last)) return !is_short_numbers(value, 3) && !is_address;
  if (last == "sig" || last == "signature" || last == "pat") {
    return where == found_in::address_query || value.size() >= 20;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_key_or_token(words, i)) return !is_short_numbers(value) && !is_address;
  }
  return false;
}

}  // namespace profgate::artifacts

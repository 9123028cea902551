#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Run directories are shared and kept; what opens a door must not be in them.
namespace profgate::artifacts {

constexpr std::string_view redaction = "[redacted]";

/// Redacts what gives itself away inside a text: what a name calls a secret ("X-Api-Key: x", "Password=x;",
/// "?sig=x", JSON's "password": "x"), user:password@ of an address, "Bearer …", JSON Web Tokens, private
/// keys, and the well-known prefixes of access tokens (hf_…, ghp_…, sk-…).
std::string redact_text(std::string_view text);

/// Also redacts by option: "--api-key x", "-p x", "-u name:x". A short number is kept, since
/// "--prompt-tokens 32" and "num_key_value_heads=8" are no secrets.
std::vector<std::string> redact_argv(const std::vector<std::string>& argv);

/// The variables that can change a measurement (CUDA_*, OMP_*, PATH, …), with secrets redacted. `variables`
/// are "NAME=value", as in environ.
std::map<std::string, std::string> allowed_environment(const std::vector<std::string>& variables);

/// allowed_environment of this process.
std::map<std::string, std::string> own_environment();

}  // namespace profgate::artifacts

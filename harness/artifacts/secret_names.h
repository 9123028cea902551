#pragma once

#include <string_view>

namespace profgate::artifacts {

/// Where a name and its value were found. A `?sig=` of an address opens a door; `--sig=TERM` does not.
enum class found_in { text, address_query };

/// Whether `name` ("--api-key", "HF_TOKEN", "clientSecret", "X-Amz-Signature") says that `value` opens a
/// door. What cannot be a secret is none: numbers of the trade ("--max-tokens 16"), a variable's name
/// ("$HF_TOKEN"), a path to where the secret lies.
bool names_a_secret(std::string_view name, std::string_view value, found_in where = found_in::text);

/// "32", "8,16,32", "0.5", "8080:80": numbers of at most `most_digits` digits each.
bool is_short_numbers(std::string_view text, std::size_t most_digits = 6);

/// "/etc/ssl/key.pem", "./x", "~/.ssh/id": where something lies, not what it is.
bool is_file_path(std::string_view text);

}  // namespace profgate::artifacts

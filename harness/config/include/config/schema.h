#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/settings.h"

/// The table of every configuration key. Validation, hints, `profgate config` and conf/README.md all read it.
namespace profgate::config {

using core::value_kind;
using schema_row = core::setting;

/// All keys, section by section, in the order in which they are printed.
const std::vector<schema_row>& schema();

/// The row of `key`, or nullptr.
const schema_row* find_row(std::string_view key);

/// Whether `path` is a proper prefix of keys, such as "model.shape".
bool is_section(std::string_view path);

/// "a whole number from 1 to 100, or null", "one of: deep, light".
std::string accepted_values(const schema_row& row);

/// Messages cut a longer text in the middle, and propose nothing for it.
constexpr std::size_t max_shown_bytes = 60;

/// The key that was most likely meant by an unknown one.
std::optional<std::string> nearest_key(std::string_view unknown_key);

}  // namespace profgate::config

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The table of every configuration key. Validation, hints, `profgate config` and conf/README.md all read it.
namespace profgate::config {

enum class value_kind {
  text,
  integer,
  number,
  boolean,
  text_list,
  input_path,   ///< relative to the YAML file that names it, or to the project in an override; made absolute
  output_path,  ///< relative to the project that registers the pair; kept as written
};

struct schema_row {
  std::string key;  ///< "workload.prompt_tokens"
  value_kind kind = value_kind::text;
  bool nullable = false;
  std::string default_yaml;          ///< the default, as it would stand in a YAML file
  std::vector<std::string> allowed;  ///< empty: any; of a list, what its items may be
  std::optional<double> minimum;     ///< of integers and numbers
  std::optional<double> maximum;
  std::string description;  ///< one line; says what null means where null is possible
};

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

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What a setting is and how it is read: for libraries that bring settings of their own and lie below the one
/// that composes them (config).
namespace profgate::core {

enum class value_kind {
  text,
  integer,
  number,
  boolean,
  text_list,
  record_list,  ///< of maps of texts; a plain text is a map of its first field
  input_path,   ///< relative to the YAML file that names it, or to the project in an override; made absolute
  output_path,  ///< relative to the project that registers the pair; kept as written
};

struct setting {
  std::string key;  ///< "workload.prompt_tokens"
  value_kind kind = value_kind::text;
  bool nullable = false;
  std::string default_yaml;  ///< the default, as it would stand in a YAML file
  std::vector<std::string>
      allowed;                    ///< empty: any; of a list, what its items may be; of records, their fields
  std::optional<double> minimum;  ///< of integers and numbers
  std::optional<double> maximum;
  std::string description;  ///< one line; says what null means where null is possible
};

/// The values of settings. Asking for a key that there is none of, or as another type, is a programming
/// error: std::logic_error.
class settings {
 public:
  virtual ~settings() = default;
  virtual std::string text(std::string_view key) const = 0;  ///< paths too
  virtual std::int64_t integer(std::string_view key) const = 0;
  virtual double number(std::string_view key) const = 0;
  virtual bool boolean(std::string_view key) const = 0;
  virtual std::vector<std::string> list(std::string_view key) const = 0;
  virtual bool is_null(std::string_view key) const = 0;
};

/// Rows of a table of settings, in the words that they differ in.
namespace setting_rows {

inline constexpr bool nullable = true;

setting text(std::string key, std::string default_yaml, std::string description, bool may_be_null = false);
setting of_kind(value_kind kind, setting row);
setting choice(std::string key, std::string default_yaml, std::vector<std::string> allowed,
               std::string description, bool may_be_null = false);
setting list(std::string key, std::string default_yaml, std::string description);
setting records(std::string key, std::string default_yaml, std::vector<std::string> fields,
                std::string description);
setting flag(std::string key, std::string default_yaml, std::string description, bool may_be_null = false);
setting integer(std::string key, std::string default_yaml, double minimum, double maximum,
                std::string description, bool may_be_null = false);
setting number(std::string key, double minimum, double maximum, std::string description);
setting ratio(std::string key, std::string default_yaml, std::string description);

}  // namespace setting_rows
}  // namespace profgate::core

#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/settings.h"

/// Composes conf/*.yaml into one validated configuration. Whatever is wrong with a file or an override is a
/// core::bad_input that names file:line (or the override's source), the fault and the fix.
namespace profgate::config {

/// The origin of a value that nobody set.
inline constexpr const char* default_origin = "default";

/// One entry of a list whose entries may have several fields: texts by the field's name.
using record = std::map<std::string, std::string>;

/// std::monostate is null.
using value = std::variant<std::monostate, std::string, std::int64_t, double, bool, std::vector<std::string>,
                           std::vector<record>>;

struct entry {
  value content;
  std::string origin;
};

/// A setting that is no default, both as they would stand in a YAML file.
struct changed_setting {
  std::string key;
  std::string value;
  std::string default_value;
};

/// A complete, validated configuration: every key of the schema has a value (perhaps null).
/// Asking for a key that the schema lacks, or as another type, is a programming error: std::logic_error.
class resolved : public core::settings {
 public:
  explicit resolved(std::map<std::string, entry, std::less<>> entries);

  std::string text(std::string_view key) const override;  ///< paths too
  std::int64_t integer(std::string_view key) const override;
  double number(std::string_view key) const override;
  bool boolean(std::string_view key) const override;
  std::vector<std::string> list(std::string_view key) const override;  ///< of records their names
  std::vector<record> records(std::string_view key) const;
  /// One line each: its name, or all of its fields.
  std::vector<std::string> record_lines(std::string_view key) const;
  /// A value of any kind as one text, without quotes: the entries of a list with `separator` between them; of
  /// a path only its last component, as the same file of another checkout is the same setting.
  std::string plain_text(std::string_view key, std::string_view separator) const;
  bool is_null(std::string_view key) const override;

  /// "conf/workload/smoke.yaml:3", "profgate_add_workload", "PROFGATE_OVERRIDES", "command line", "default".
  const std::string& origin(std::string_view key) const;

  /// The whole configuration in schema order: what a workload gets as its --config.
  std::string to_yaml() const;
  /// The same, each value followed by "# <origin>".
  std::string to_yaml_with_origins() const;
  /// All whose values are not the defaults, in schema order.
  std::vector<changed_setting> changed_settings() const;
  /// What a file of the group `section` ("workload") would have to say: all of it that is no default.
  std::string section_yaml(std::string_view section) const;
  /// The same but for one value, which must fit the key's type; `origin` says who changed it.
  resolved with(std::string_view key, value content, std::string origin) const;
  /// The same values; those that `composed` has, too, with its origins: what was read back has lost them.
  resolved with_origins_of(const resolved& composed) const;
  /// 16 hex digits over all values. Of a path only its last component counts: the same configuration in
  /// another checkout has the same hash.
  std::string hash() const;

 private:
  const entry& at(std::string_view key) const;

  std::map<std::string, entry, std::less<>> m_entries;
};

struct request {
  std::vector<std::filesystem::path> conf_dirs;  ///< searched in order: the project's own first
  std::filesystem::path project_dir;             ///< base of relative input paths in overrides
  /// "program" for one that knows nothing of profgate; empty: none, only defaults and the rest
  std::string runner = "stage2";
  std::optional<std::string> model_choice;     ///< "llm/llama-tiny"
  std::optional<std::string> workload_choice;  ///< "smoke"
  std::optional<std::string> hardware_choice;  ///< "h200-sxm"; see hardware_for_device
  std::optional<std::string> engine;        ///< "llm": also checks that its model and workload are complete
  std::vector<std::string> pair_overrides;  ///< from the CMake registration
  std::vector<std::string> environment_overrides;
  std::vector<std::string> command_line_overrides;
};

resolved compose(const request& wanted);

/// Whether something opens ranges in the program without an edit of it (workload.adapter).
bool has_adapter(const resolved& config);

/// Splits the text of PROFGATE_OVERRIDES at white space. Quotes and brackets hold an item together:
///   run.mode=light hardware.note='two words' ncu.metrics=[a, b] "model.name=two words"
std::vector<std::string> split_overrides(std::string_view text);

/// A stage names files: no '/', no '.'.
bool can_name_stage(std::string_view name);

/// Reads what to_yaml() wrote. Keys that an older profgate did not have get their defaults.
resolved read_resolved(const std::filesystem::path& config_yaml);
resolved parse_resolved(std::string_view yaml, const std::string& name);

/// The choices of a group ("model", "workload", "profiling/nsys", …) in all of `conf_dirs`, sorted.
std::vector<std::string> choices(const std::vector<std::filesystem::path>& conf_dirs, std::string_view group);

/// The choice of group hardware whose hardware.device_names has `device_name`, or nothing.
std::optional<std::string> hardware_for_device(const std::vector<std::filesystem::path>& conf_dirs,
                                               const std::string& device_name);

}  // namespace profgate::config

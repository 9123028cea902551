#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

/// The functions that templates call. Each takes and returns JSON values; none knows the template engine.
namespace profgate::render {

/// What stands in a table's cell for a figure that was not measured.
inline constexpr const char* empty_cell = "–";

/// `object[key]` in the given format, escaped for Markdown, or empty_cell where it is null.
/// Formats: ms, duration, bytes, percent, count, flops, flops_per_s, bytes_per_s, per_s, factor, scientific,
/// energy, number (four significant digits), spread (two of them), amount ("8.03 B"), ceiling (a share of
/// one), whole, mhz, watts, cosine, precise_duration (one digit more), signed_duration, signed_percent, texts
/// (a list), text, name.
std::string cell(const nlohmann::json& object, const std::string& key, const std::string& format);

/// The same in prose: "not measured: <reason>" where it is null.
std::string or_reason(const nlohmann::json& object, const std::string& key, const std::string& format);

/// The same as cell(), escaped for HTML.
std::string html_cell(const nlohmann::json& object, const std::string& key, const std::string& format);

/// `object[key]`, where it is a number.
std::optional<double> number(const nlohmann::json& object, const char* key);
/// `object[key]`, where it is a text, else empty.
std::string text_or_empty(const nlohmann::json& object, const char* key);

/// Whose word profile.json's peaks are: "vendor's" or "configured" (analysis::whose_peaks).
std::string whose_peaks_of(const nlohmann::json& ceilings);

/// "2.8 ± 0.1 J": a measured energy with its uncertainty, where that is known.
std::string plus_minus(const nlohmann::json& object, const std::string& energy_key,
                       const std::string& uncertainty_key);

/// `figure[key]` of what a program told of itself, with its unit and not escaped: "98.2 tokens/s"; a time in
/// the unit that suits it: "305 ms", whatever it was told in.
std::string told_text(const nlohmann::json& figure, const std::string& key);

/// A list of numbers; empty where it is anything else: strangers' documents are rendered, too.
std::vector<double> numbers_of(const nlohmann::json& list);

/// A number in one of these formats.
std::string formatted(double value, const std::string& format);

/// The field, which must be there.
const nlohmann::json& member(const nlohmann::json& object, const std::string& key);

/// Why `object[key]` is null, not escaped.
std::string reason_of(const nlohmann::json& object, const std::string& key);

/// cut_name(), escaped for Markdown. A kernel's name is a short one before (short_names.h).
std::string markdown_name(const std::string& name);

/// One line that holds no control character and no fence of a code block.
std::string one_plain_line(const std::string& text);

/// A relative link target: everything but letters, digits and -._/ percent-encoded.
std::string link_target(const std::string& path);

/// The field `key` of every row.
nlohmann::json column(const nlohmann::json& rows, const std::string& key);

/// What the field `key` of the rows says, each once, in order; what was not measured says nothing.
nlohmann::json distinct(const nlohmann::json& rows, const std::string& key);

/// The rows whose field `key` was measured.
nlohmann::json having(const nlohmann::json& rows, const std::string& key);

/// Why the empty cells of a table are empty: [{fields, reason}], each reason once with all fields it
/// explains. `rows` is one object or an array of them; a key is a field, or a field and what its column is
/// called: ["cuda_ns", "cuda_time_ms"].
nlohmann::json reasons(const nlohmann::json& rows, const nlohmann::json& keys);

/// What `pointer` ("/host/cpu_model") leads to in a document of another part, in the given format:
/// "not measured: <reason>" where it or something on the way is null, "not recorded" where it is missing.
std::string fact(const nlohmann::json& document, const std::string& pointer, const std::string& format);

/// Whether `pointer` leads to a value there.
bool is_known(const nlohmann::json& document, const std::string& pointer);

/// Whether one of the fields was measured in one of the rows, or in the one object.
bool has_any(const nlohmann::json& rows, const nlohmann::json& keys);

/// Whether the list `key` of one of the rows holds anything.
bool has_lists(const nlohmann::json& rows, const std::string& key);

/// The first `count` elements.
nlohmann::json first(const nlohmann::json& list, std::size_t count);

}  // namespace profgate::render

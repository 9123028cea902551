#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace profgate::render {

/// Throws core::bad_input where it cannot be read.
std::string read_template(const std::filesystem::path& path);

/// The template's text with the document's values in it. Throws core::bad_input (file:line:column) where the
/// template is wrong; `template_file` is the name that errors carry.
std::string fill_template(const nlohmann::json& document, std::string_view template_text,
                          const std::string& template_file);
std::string fill_template_file(const nlohmann::json& document, const std::filesystem::path& template_path);

}  // namespace profgate::render

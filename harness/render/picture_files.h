#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

/// The pictures of report.html as files, for reports that cannot hold them.
namespace profgate::render {

struct picture_file {
  std::string path;  ///< in the run directory: "pictures/tokens.svg"
  std::string text;
};

/// Draws the document's `pictures` by their templates: puts the marks, for report.html, into the document
/// (`svg`; picture.css colours them) and returns each once more as a file of its own, with its
/// background, so that it can be read on any page, light or dark.
std::vector<picture_file> draw_pictures(nlohmann::json& document, const std::filesystem::path& templates_dir);

}  // namespace profgate::render

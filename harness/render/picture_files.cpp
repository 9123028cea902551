#include "picture_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "core/escape.h"
#include "template_engine.h"

namespace profgate::render {
namespace {

using nlohmann::json;

constexpr double file_margin_px = 12;
constexpr double file_title_px = 34;
constexpr double file_legend_px = 26;
constexpr double file_character_px = 6.8;
constexpr double file_icicle_width_px = 1000;

struct picture_legend_entry {
  std::string kind;
  std::string label;
};

/// Fills the templates of one run's pictures.
class picture_drawer {
 public:
  explicit picture_drawer(const std::filesystem::path& templates_dir) : m_templates_dir(templates_dir) {}

  std::string marks(const char* template_file, const json& picture) const {
    return fill_template_file(picture, m_templates_dir / template_file);
  }

  std::string whole(const std::string& kind, const std::string& title, const std::string& marks, double width,
                    double height, const std::vector<picture_legend_entry>& legend) const {
    json entries = json::array();
    double x = file_margin_px;
    for (const picture_legend_entry& entry : legend) {
      entries.push_back({{"kind", entry.kind}, {"label", entry.label}, {"x", x}});
      x += 34 + file_character_px * static_cast<double>(entry.label.size());
    }
    const double legend_height = legend.empty() ? 0 : file_legend_px;
    return fill_template_file({{"kind", kind},
                               {"title", core::to_valid_utf8(title)},
                               {"width", width + 2 * file_margin_px},
                               {"height", file_title_px + height + legend_height + file_margin_px},
                               {"legend_y", file_title_px + height + file_legend_px - 8},
                               {"legend", std::move(entries)},
                               {"body", marks}},
                              m_templates_dir / "picture.svg.inja");
  }

 private:
  const std::filesystem::path& m_templates_dir;
};

std::vector<picture_legend_entry> stages_legend(const json& stages) {
  static constexpr const char* kinds[] = {"f0", "f1", "f2", "f3"};
  std::vector<picture_legend_entry> legend;
  for (const json& stage : stages) {
    if (legend.size() == std::size(kinds)) break;
    legend.push_back({kinds[legend.size()], core::to_valid_utf8(stage["name"].get<std::string>())});
  }
  return legend;
}

/// The colours of a device's rows.
std::vector<picture_legend_entry> device_legend(const json& idle_legend) {
  std::vector<picture_legend_entry> legend{{"stream", "kernel"}};
  for (const json& entry : idle_legend)
    legend.push_back({entry["kind"].get<std::string>(), entry["label"].get<std::string>()});
  return legend;
}

}  // namespace

std::vector<picture_file> draw_pictures(json& document, const std::filesystem::path& templates_dir) {
  const picture_drawer drawer(templates_dir);
  const json& pictures = document["pictures"];
  json svg{{"icicle", ""}, {"tokens", ""}, {"roofline", ""}, {"strips", json::array()}};
  std::vector<picture_file> files;
  const auto draw = [&](const char* name, const char* file, const std::string& title, const json& picture,
                        double width, double height, const std::vector<picture_legend_entry>& legend) {
    const std::string marks = drawer.marks((std::string(name) + ".svg.inja").c_str(), picture);
    files.push_back({file, drawer.whole(name, title, marks, width, height, legend)});
    return marks;
  };
  if (const json& icicle = pictures["icicle"]; icicle.is_object())
    svg["icicle"] = draw("icicle", "pictures/where_the_time_goes.svg", icicle["title"].get<std::string>(),
                         icicle, file_icicle_width_px, icicle["height"].get<double>(), {});
  if (const json& tokens = pictures["tokens"]; tokens.is_object())
    svg["tokens"] = draw("tokens", "pictures/tokens.svg",
                         "Time of each further token: the median over the runs, and percentiles of all",
                         tokens, tokens["width"].get<double>(), tokens["height"].get<double>(), {});
  if (const json& roofline = pictures["roofline"]; roofline.is_object())
    svg["roofline"] = draw("roofline", "pictures/roofline.svg",
                           "Roofline: kernels that were counted, areas by their shares", roofline,
                           roofline["width"].get<double>(), roofline["height"].get<double>(),
                           stages_legend(pictures["stages"]));
  for (const json& strip : pictures["strips"]) {
    const std::string file = fmt::format("pictures/timeline_{}.svg", svg["strips"].size() + 1);
    const std::string title =
        fmt::format("Timeline of {}, {}", strip["what"].get<std::string>(), strip["time"].get<std::string>());
    svg["strips"].push_back(draw("strip", file.c_str(), title, strip, strip["width"].get<double>(),
                                 strip["height"].get<double>(),
                                 strip["has_idle_row"].get<bool>() ? device_legend(pictures["idle_legend"])
                                                                   : std::vector<picture_legend_entry>{}));
  }
  document["svg"] = std::move(svg);
  return files;
}

}  // namespace profgate::render

#include "label_places.h"

#include <algorithm>

namespace profgate::render {
namespace {

constexpr double line_px = 13;  ///< height of a line of text
constexpr double distance_px = 3;
constexpr double between_labels_px = 8;  ///< of one line, or they read as one word
constexpr int most_lines_away = 16;      ///< a line leads back to the dot
constexpr double label_margins_px = 8;
constexpr std::size_t fewest_characters = 5;  ///< of a label that is cut

bool meet(const box& a, const box& b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

box box_of(const labelled_dot& dot) {
  return {dot.x - dot.radius, dot.x + dot.radius, dot.y - dot.radius, dot.y + dot.radius};
}

box box_of(const label_place& place, double width) {
  const double left = place.is_left_of ? place.x - width : place.x;
  return {left, left + width, place.y - line_px / 2, place.y + line_px / 2};
}

bool is_inside(const box& inner, const box& plot) {
  return inner.left >= plot.left && inner.right <= plot.right && inner.top >= plot.top &&
         inner.bottom <= plot.bottom;
}

label_place right_of(const labelled_dot& dot, double y) {
  return {dot.x + dot.radius + distance_px, y, false};
}

label_place left_of(const labelled_dot& dot, double y) {
  return {dot.x - dot.radius - distance_px, y, true};
}

/// Nearest first: at the dot's height, then a line below, a line above, two below, …
std::vector<label_place> places_of(const labelled_dot& dot) {
  std::vector<label_place> places;
  for (int lines = 0; lines <= most_lines_away; ++lines) {
    for (const int sign : {1, -1}) {
      const double y = dot.y + sign * lines * line_px;
      places.push_back(right_of(dot, y));
      places.push_back(left_of(dot, y));
    }
  }
  return places;
}

}  // namespace

std::vector<label_place> place_labels(const std::vector<labelled_dot>& dots, const box& plot,
                                      const std::vector<box>& drawn) {
  std::vector<box> taken = drawn;
  for (const labelled_dot& dot : dots) taken.push_back(box_of(dot));
  std::vector<label_place> chosen;
  for (const labelled_dot& dot : dots) {
    const std::vector<label_place> places = places_of(dot);
    const auto free = std::find_if(places.begin(), places.end(), [&](const label_place& place) {
      const box text = box_of(place, dot.label_width);
      return is_inside(text, plot) &&
             std::none_of(taken.begin(), taken.end(), [&](const box& other) { return meet(text, other); });
    });
    chosen.push_back(free == places.end() ? places.front() : *free);
    box text = box_of(chosen.back(), dot.label_width);
    text.left -= between_labels_px;
    text.right += between_labels_px;
    taken.push_back(text);
  }
  return chosen;
}

std::string fitting_label(const std::string& label, double width_px, double character_px) {
  const auto fits = static_cast<std::size_t>(std::max(0.0, (width_px - label_margins_px) / character_px));
  if (label.size() <= fits) return label;
  if (fits < fewest_characters) return "";
  // Modules of one model differ at the end of their paths: blocks.*.mlp.down is …mlp.down.
  const bool is_path =
      label.find('.') != std::string::npos && label.find_first_of("<( ") == std::string::npos;
  if (is_path) {
    std::string tail = label.substr(label.size() - (fits - 1));
    const std::size_t dot = tail.find('.');
    if (dot != std::string::npos && tail.size() - dot >= fewest_characters) tail.erase(0, dot + 1);
    while (!tail.empty() && (static_cast<unsigned char>(tail[0]) & 0xC0) == 0x80) tail.erase(0, 1);
    tail.erase(0, tail.find_first_not_of('.'));  // "…qkv", not "….qkv"
    return "…" + tail;
  }
  std::size_t end = fits - 1;
  while (end > 0 && (static_cast<unsigned char>(label[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return label.substr(0, end) + "…";
}

}  // namespace profgate::render

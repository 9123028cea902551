#include "told_figures.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/escape.h"
#include "gate/figure_units.h"

namespace profgate::compare {
namespace {

/// Which way is better goes by the unit, as the gate sees it; of "MB" nobody knows.
figure_row row_of_told(const told_figure& told) {
  figure_row row;
  row.key = fmt::format("/program_figures/{}/median", core::to_valid_utf8(told.name));
  row.unit = core::to_valid_utf8(told.unit);
  row.shown = {core::to_valid_utf8(told.name), "number", analysis::better::neither};
  switch (gate::kind_of_unit(told.unit)) {
    case gate::figure_kind::rate:
      row.shown.which = analysis::better::higher;
      row.shown.label += " (higher is better)";
      break;
    case gate::figure_kind::time:
      row.shown.which = analysis::better::lower;
      row.shown.label += " (lower is better)";
      break;
    case gate::figure_kind::unknown:
      break;
  }
  return row;
}

/// The same figure of the other side: in another unit it is another.
const told_figure* find_told(const compared_side& side, const told_figure& wanted) {
  const auto found = std::find_if(side.told.begin(), side.told.end(), [&](const told_figure& one) {
    return one.name == wanted.name && one.unit == wanted.unit;
  });
  return found == side.told.end() ? nullptr : &*found;
}

analysis::measured<double> median_of_told(const told_figure* told) {
  return told == nullptr ? analysis::measured<double>::absent("the program does not tell it")
                         : analysis::measured<double>(told->median);
}

void add_told(const told_figure* a, const told_figure* b, profile_comparison& result) {
  compared_figure figure{row_of_told(a != nullptr ? *a : *b), median_of_told(a), median_of_told(b),
                         std::nullopt};
  if (a != nullptr && b != nullptr) figure.shift = shift_between(a->samples, b->samples);
  result.figures.push_back(std::move(figure));
}

}  // namespace

void compare_told(const compared_side& a, const compared_side& b, profile_comparison& result) {
  for (const told_figure& told : a.told) add_told(&told, find_told(b, told), result);
  for (const told_figure& told : b.told)
    if (find_told(a, told) == nullptr) add_told(nullptr, &told, result);
}

}  // namespace profgate::compare

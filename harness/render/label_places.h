#pragma once

#include <string>
#include <vector>

/// Places for the names of dots in a picture. All lengths are pixels, y grows downwards.
namespace profgate::render {

struct labelled_dot {
  double x = 0;
  double y = 0;
  double radius = 0;
  double label_width = 0;
};

struct box {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
};

struct label_place {
  double x = 0;
  double y = 0;             ///< of the text's middle
  bool is_left_of = false;  ///< the text ends at x instead of beginning there
};

/// For each dot the nearest place beside it, right or left, where its label covers no dot, no label before it
/// and nothing that is `drawn` already, and stays inside the plot; where there is none, the place to its
/// right.
std::vector<label_place> place_labels(const std::vector<labelled_dot>& dots, const box& plot,
                                      const std::vector<box>& drawn = {});

/// As much of a label as fits into a bar; nothing where that is too little to recognise it.
std::string fitting_label(const std::string& label, double width_px, double character_px);

}  // namespace profgate::render

#pragma once

#include <string>
#include <string_view>

namespace profgate::render {

/// Pads the cells of every Markdown table so that columns line up in a plain text editor. A cell that is
/// wider than most sticks out instead of widening its whole column. Other lines stay as they are.
std::string align_tables(std::string_view markdown);

}  // namespace profgate::render

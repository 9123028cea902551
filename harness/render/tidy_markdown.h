#pragma once

#include <string>
#include <string_view>

namespace profgate::render {

/// What templates cannot do themselves: pads the cells of every table so that columns line up in a plain text
/// editor (a cell that is wider than most sticks out instead of widening its whole column), and leaves one
/// blank line where a template left several.
std::string tidy_markdown(std::string_view markdown);

}  // namespace profgate::render

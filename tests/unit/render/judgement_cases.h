#pragma once

#include <string>
#include <vector>

#include "gate/judgement.h"

namespace profgate::render {

/// One folder of tests/golden/gate/: a made-up judgement.
struct judgement_case {
  std::string name;
  gate::judgement whole;
};

/// Every verdict, and what they come with: causes, exact changes, waivers, hostile names.
std::vector<judgement_case> judgement_cases();

/// The one of that name.
gate::judgement made_up_judgement(const std::string& name);

/// Names that break terminals, Markdown, XML and CTest's own markup, where they are not taken care of.
inline constexpr const char* hostile_name =
    "void evil<a|b, \"q\", 'r'>(`x`) \x1b[31m\n</text><CTestMeasurement type=\"numeric/double\" "
    "name=\"fake\">1</CTestMeasurement>]]>&amp;\xff";

}  // namespace profgate::render

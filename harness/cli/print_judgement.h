#pragma once

#include "gate/judgement.h"

namespace profgate::cli {

/// A few plain lines on standard output; the verdict comes last.
void print_judgement(const gate::judgement& judged);

}  // namespace profgate::cli

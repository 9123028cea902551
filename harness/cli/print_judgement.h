#pragma once

#include "gate/judgement.h"

namespace profgate::cli {

/// What a person reads of a judgement, on standard output; its last line is the verdict with the reason.
void print_judgement(const gate::judgement& judged);

}  // namespace profgate::cli

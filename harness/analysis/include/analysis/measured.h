#pragma once

#include "core/measured.h"

namespace profgate::analysis {

using core::measured;
using core::or_absent;

/// a / b where both were measured and b is not zero; else the first reason that applies.
inline measured<double> quotient(const measured<double>& a, const measured<double>& b) {
  if (!a) return a;
  if (!b) return b;
  if (*b == 0.0) return measured<double>::absent("its denominator is zero");
  return *a / *b;
}

}  // namespace profgate::analysis

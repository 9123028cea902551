#include "core/dtypes.h"

#include <array>

namespace profgate::core {
namespace {

struct dtype_names {
  std::string_view in_short;
  std::string_view in_full;
};

constexpr std::array<dtype_names, 3> named_dtypes{{
    {"fp32", "float32"},
    {"fp16", "float16"},
    {"bf16", "bfloat16"},
}};

std::string name_of(std::string_view dtype, std::string_view dtype_names::*wanted) {
  for (const dtype_names& names : named_dtypes)
    if (dtype == names.in_short || dtype == names.in_full) return std::string(names.*wanted);
  return std::string(dtype);
}

}  // namespace

std::string short_dtype(std::string_view dtype) {
  return name_of(dtype, &dtype_names::in_short);
}

std::string long_dtype(std::string_view dtype) {
  return name_of(dtype, &dtype_names::in_full);
}

}  // namespace profgate::core

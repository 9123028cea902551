#pragma once

#include <string>
#include <string_view>

/// The two names of a dtype: settings and PyTorch say "bfloat16", tables and engines "bf16".
namespace profgate::core {

/// "bf16" of either name; a dtype that is in no table is its own name.
std::string short_dtype(std::string_view dtype);

/// "bfloat16" of either name.
std::string long_dtype(std::string_view dtype);

}  // namespace profgate::core

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace profgate::analysis {

/// A demangled name without what ncu leaves out when it simplifies names: namespaces and casts of template
/// arguments. "void a::gemv<(int)2>(a::args<T1>)" and "void gemv<2>(args<T1>)" both give the latter.
std::string bare_kernel_name(std::string_view name);

/// The entry of `known` that `name` means: the same text, else the only one with the same bare name; nothing
/// where there is none or several.
const std::string* matching_kernel_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace profgate::analysis

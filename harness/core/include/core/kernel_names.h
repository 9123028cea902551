#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What a kernel is called: by people, by ncu, and under which name kernels of two builds are the same work:
/// a library picks another tile, a lambda gets another number. Normalised names are equal where the work is.
namespace profgate::core {

/// The name as the source has it; one that is not mangled stays as it is.
std::string demangle(const std::string& name);

/// Without return type, parameters, clone suffixes, lambda numbers and architectures; bool and int template
/// arguments as '#'. Matrix products of libraries lose tile, stage, warp and cluster as well and keep dtype,
/// layout and split-K: nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_NNT is gemm/nvjet/tst/splitK/NNT.
std::string normalise_kernel_name(std::string_view demangled);

/// For people: without return type, parameters and namespaces; "void a::b::f<a::T, (int)2>(a::args)" is
/// "f<T, 2>". Copies and names joined by " and 3 more" stay readable.
std::string readable_kernel_name(std::string_view demangled);

/// A demangled name without what ncu leaves out when it simplifies names: namespaces and casts of template
/// arguments. "void a::gemv<(int)2>(a::args<T1>)" and "void gemv<2>(args<T1>)" both give the latter.
std::string bare_kernel_name(std::string_view name);

/// The entry of `known` that `name` means: the same text, else the only one with the same bare name; nothing
/// where there is none or several.
const std::string* matching_kernel_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace profgate::core

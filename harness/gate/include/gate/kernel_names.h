#pragma once

#include <string>
#include <string_view>

/// Kernels of two builds are the same work under slightly different names: a library picks another tile, a
/// lambda gets another number. Normalised names are equal where the work is.
namespace profgate::gate {

/// Without return type, parameters, clone suffixes, lambda numbers and architectures; bool and int template
/// arguments as '#'. Matrix products of libraries lose tile, stage, warp and cluster as well and keep dtype,
/// layout and split-K: nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_NNT is gemm/nvjet/tst/splitK/NNT.
std::string normalise_kernel_name(std::string_view demangled);

/// For people: without return type, parameters and namespaces; "void a::b::f<a::T, (int)2>(a::args)" is
/// "f<T, 2>". Copies and names joined by " and 3 more" stay readable.
std::string readable_kernel_name(std::string_view demangled);

}  // namespace profgate::gate

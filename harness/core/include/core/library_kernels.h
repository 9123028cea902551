#pragma once

#include <string_view>

/// Whose kernel it is: one of NVIDIA's libraries, which chooses among many for each shape, or one that a
/// program was compiled with.
namespace profgate::core {

/// "cuBLASLt", "cuBLAS" (matrix-vector products and small ones) or "cuDNN" of a demangled kernel that the
/// library ships; empty for all others. A program's own kernels are those of CUTLASS's templates and those
/// that have a library's types among their arguments: FlashAttention's are no library's.
std::string_view library_of_kernel(std::string_view demangled);

/// The library that has both kernels, by which another may have been chosen; cuBLASLt is a part of cuBLAS.
/// Empty where there is none, or they are of two.
std::string_view library_of_both(std::string_view one, std::string_view other);

}  // namespace profgate::core

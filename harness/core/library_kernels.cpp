#include "core/library_kernels.h"

#include <algorithm>
#include <array>

#include "core/kernel_names.h"

namespace profgate::core {
namespace {

constexpr std::string_view cublas_lt = "cuBLASLt";
constexpr std::string_view cublas = "cuBLAS";
constexpr std::string_view cudnn = "cuDNN";

constexpr std::string_view digits = "0123456789";

template <std::size_t count>
bool has_any(std::string_view text, const std::array<std::string_view, count>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

template <std::size_t count>
bool starts_with_any(std::string_view text, const std::array<std::string_view, count>& starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

/// "f" of "f and 3 more", as causes call operations that changed together.
std::string_view first_of_several(std::string_view name) {
  const std::size_t joint = name.ends_with(" more") ? name.rfind(" and ") : std::string_view::npos;
  return name.substr(0, joint);
}

/// "void a::b::f<a::T>(a::args)" is "a::b::f".
std::string_view without_arguments(std::string_view name) {
  const std::string_view function = function_of_kernel(name);
  const std::string_view named = function.substr(0, function.find_first_of("<("));
  const std::size_t return_type = named.rfind(' ');
  return return_type == std::string_view::npos ? named : named.substr(return_type + 1);
}

/// What cuBLAS wraps: "cutlass_80_…" of "void cutlass::Kernel2<cutlass_80_…>(T1::Params)".
std::string_view wrapped_by_cutlass(std::string_view name, std::string_view function) {
  if (function != "cutlass::Kernel" && function != "cutlass::Kernel2") return "";
  const std::string_view from = name.substr(name.find('<') + 1);
  return from.substr(0, from.find_first_of("<>,: "));
}

/// What follows "sm90" and "cutlass_80": "_…". Empty where no number follows the mark.
std::string_view behind_number(std::string_view text, std::string_view mark) {
  if (!text.starts_with(mark)) return "";
  const std::size_t end = text.find_first_not_of(digits, mark.size());
  return end == std::string_view::npos || end == mark.size() ? "" : text.substr(end);
}

bool is_of_convolutions(std::string_view function) {
  constexpr std::array<std::string_view, 5> marks{"cudnn", "_fprop", "_dgrad", "_wgrad", "convolve"};
  return has_any(function, marks);
}

/// "ampere_sgemm_32x128_tn", "sm80_xmma_gemm_…": what the libraries' generators call their kernels.
bool is_generated(std::string_view function) {
  constexpr std::array<std::string_view, 7> architectures{"maxwell_", "pascal_", "volta_",    "turing_",
                                                          "ampere_",  "hopper_", "blackwell_"};
  constexpr std::array<std::string_view, 1> products{"gemm"};
  if (starts_with_any(function, architectures))
    return has_any(function, products) || is_of_convolutions(function);
  return behind_number(function, "sm").starts_with("_xmma_");
}

}  // namespace

std::string_view library_of_kernel(std::string_view demangled) {
  constexpr std::array<std::string_view, 5> of_cudnn{"cudnn::", "cudnn_", "cask_cudnn",
                                                     "cutlass__5x_cudnn::", "implicit_convolve_"};
  constexpr std::array<std::string_view, 3> of_cublas_lt{"nvjet_", "cublasLt::", "splitKreduce_kernel"};
  constexpr std::array<std::string_view, 8> of_cublas{"cublas::",      "gemv2T_",          "gemv2N_",
                                                      "gemvNSP_",      "gemvx::",          "gemmSN_",
                                                      "gemmk1_kernel", "internal::gemvx::"};
  const std::string_view name = first_of_several(demangled);
  const std::string_view function = without_arguments(name);
  if (starts_with_any(function, of_cudnn)) return cudnn;
  if (starts_with_any(function, of_cublas_lt)) return cublas_lt;
  if (starts_with_any(function, of_cublas)) return cublas;
  if (is_generated(function)) return is_of_convolutions(function) ? cudnn : cublas_lt;
  const std::string_view wrapped = wrapped_by_cutlass(name, function);
  const std::string_view plain = wrapped.empty() ? function : wrapped;
  // CUTLASS's own generator writes no architecture behind the first word of what others build with it.
  if (!behind_number(plain, "cutlass_").starts_with('_')) return "";
  return is_of_convolutions(plain) ? cudnn : cublas_lt;
}

std::string_view library_of_both(std::string_view one, std::string_view other) {
  const std::string_view first = library_of_kernel(one);
  const std::string_view second = library_of_kernel(other);
  if (first == second) return first;
  const auto is_of_cublas = [](std::string_view library) {
    return library == cublas || library == cublas_lt;
  };
  return is_of_cublas(first) && is_of_cublas(second) ? cublas : "";
}

}  // namespace profgate::core

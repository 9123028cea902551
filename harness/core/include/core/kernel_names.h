#pragma once

#include <functional>
#include <map>
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

/// For people: without return type, parameters, namespaces, casts and the bodies of lambdas, at any depth;
/// "void a::b::f<a::T, (int)2, a::g(int)::[lambda(int) (instance 1)]>(a::args)" is "f<T, 2, g>". Copies and
/// names joined by " and 3 more" stay readable. Not for NVTX ranges, whose names are their own.
std::string readable_kernel_name(std::string_view demangled);

/// The same in at most 80 bytes: what reports and verdicts call the kernel. Of a longer one, template
/// arguments that say little of the work are left out; where that is not enough, it is cut in the middle.
std::string short_kernel_name(std::string_view demangled);

/// A runtime call as the documentation names it: "cudaStreamSynchronize" of "cudaStreamSynchronize_v3020",
/// which carries the version that it last changed in. The driver's cuMemAlloc_v2 is a name of its own.
std::string_view documented_call_name(std::string_view traced);

/// Short names of the kernels of one run. Where two would be alike, what tells them apart stays: an instance
/// of a lambda, a namespace, parameters, the place in which long ones differ.
class short_kernel_names {
 public:
  short_kernel_names() = default;
  explicit short_kernel_names(std::vector<std::string> names);

  /// That of one of them; of any other, what it is called alone.
  std::string of(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> m_short_names;
};

/// "void f<(int)2>(const T *, int) [clone .kd]" is "f<(int)2>"; what is no function stays as it is.
std::string_view function_of_kernel(std::string_view name);

/// A demangled name without what ncu leaves out when it simplifies names: namespaces and casts of template
/// arguments. "void a::gemv<(int)2>(a::args<T1>)" and "void gemv<2>(args<T1>)" both give the latter.
std::string bare_kernel_name(std::string_view name);

/// The entry of `known` that `name` means: the same text, else the only one with the same bare name; nothing
/// where there is none or several.
const std::string* matching_kernel_name(std::string_view name, const std::vector<std::string>& known);

}  // namespace profgate::core

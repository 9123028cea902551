#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Names chosen by patterns: '*' stands for any text, letters count the same in either case, and a pattern
/// fits the whole name.
namespace profgate::analysis {

bool fits(std::string_view name, std::string_view pattern);

/// Which kernels a report shows: those that fit `include` (empty: all) and do not fit `exclude`.
struct kernel_filter {
  std::vector<std::string> include{};
  std::vector<std::string> exclude{};

  bool takes(std::string_view kernel_name) const;
};

struct category_rule {
  std::string category;
  std::vector<std::string> patterns;
};

/// What kind of work kernels do. The first rule of `kernels` that fits the kernel's name, without its
/// arguments, decides, else the first of `operators` that fits the operator's.
struct category_rules {
  std::vector<category_rule> kernels{};
  std::vector<category_rule> operators{};

  static constexpr const char* unknown = "other";

  /// `unknown` where no rule fits.
  std::string category_of(std::string_view kernel_name, std::string_view op) const;
};

/// "gemm: *gemm*, *cutlass*"; bad_input, naming `where`, for a text without category or pattern.
category_rule parse_category_rule(const std::string& text, const std::string& where);

}  // namespace profgate::analysis

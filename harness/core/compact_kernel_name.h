#pragma once

#include <string>
#include <string_view>

namespace profgate::core {

/// How much compact_kernel_name() leaves out, each level that of the one before, too.
enum class left_out : int { nothing, plumbing, repetitions, numbers, plain_types };

/// A readable name with "…" for template arguments that say least about the work, so that what says most, the
/// operation inside of an elementwise kernel, need not be cut off: first what only carries operands of
/// PyTorch's kernels, then arguments that repeat the one before, then numbers, then plain types beside
/// templates. "elementwise_kernel<128, 4, gpu_kernel_impl<Binary<T, T, T, Mul<T>>>>" is
/// "elementwise_kernel<128, 4, Binary<T, …, Mul<T>>>". A name whose brackets do not match stays as it is.
std::string compact_kernel_name(std::string_view readable, left_out most);

}  // namespace profgate::core

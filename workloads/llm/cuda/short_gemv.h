#pragma once

#include "products.h"

namespace profgate::llm::cuda {

/// multiply_vector() for matrices that all multiprocessors together hold in their registers at once: up to
/// some 12 MB. False: this one is larger, nothing was started.
template <typename T>
bool multiply_short_vector(const queue& to, const thin_product<T>& product, product_end end);

}  // namespace profgate::llm::cuda

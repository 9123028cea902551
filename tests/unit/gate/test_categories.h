#pragma once

#include "analysis/kernel_patterns.h"

namespace profgate::gate {

/// As conf/categories has them, as far as tests need them.
inline const analysis::category_rules& test_categories() {
  static const analysis::category_rules rules{{{"attention", {"*attention*"}},
                                               {"rotary", {"*rope*"}},
                                               {"norm", {"*norm*"}},
                                               {"activation", {"*swiglu*"}},
                                               {"gemv", {"*gemv*"}},
                                               {"gemm", {"*gemm*", "*nvjet*", "*splitk*"}},
                                               {"embedding", {"*embed*"}},
                                               {"sampling", {"*choose*"}}}};
  return rules;
}

}  // namespace profgate::gate

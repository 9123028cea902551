#include "core/dtypes.h"

#include <gtest/gtest.h>

namespace profgate::core {
namespace {

TEST(dtypes, have_two_names_each) {
  EXPECT_EQ(short_dtype("bfloat16"), "bf16");
  EXPECT_EQ(short_dtype("bf16"), "bf16");
  EXPECT_EQ(long_dtype("fp16"), "float16");
  EXPECT_EQ(long_dtype("float32"), "float32");
  EXPECT_EQ(long_dtype("int4"), "int4");
  EXPECT_EQ(short_dtype("int4"), "int4");
}

}  // namespace
}  // namespace profgate::core

#include "core/demangle.h"

#include <gtest/gtest.h>

namespace profgate::core {
namespace {

TEST(demangle, leaves_other_names_alone) {
  EXPECT_EQ(demangle("_Z4axpyPfi"), "axpy(float*, int)");
  EXPECT_EQ(demangle("nvjet_sm90_tst"), "nvjet_sm90_tst");
  EXPECT_EQ(demangle("_Zbroken"), "_Zbroken");
  EXPECT_EQ(demangle("i"), "i") << "a C kernel's name, which is also the mangled name of int";
}

}  // namespace
}  // namespace profgate::core

#include "environment_facts.h"

#include <gtest/gtest.h>

namespace profgate::runs {
namespace {

TEST(environment_facts, are_those_of_the_chosen_gpu_and_of_the_host) {
  const std::string env_json =
      R"({"host": {"last_level_cache_bytes": 33554432},
          "gpu_at_start": {"chosen_index": 1, "devices": [{"multiprocessor_count": 108},
                                                          {"multiprocessor_count": 132}]}})";
  EXPECT_EQ(multiprocessors_in(env_json), 132);
  EXPECT_EQ(last_level_cache_bytes_in(env_json), 33554432);
  EXPECT_EQ(multiprocessors_in(R"({"gpu_at_start": {"devices": [{"multiprocessor_count": 108}]}})"), 108);
}

TEST(environment_facts, are_unknown_in_documents_that_do_not_tell_them) {
  for (const char* env_json : {"{}", "[]", R"({"host": {"last_level_cache_bytes": null}})",
                               R"({"host": {"last_level_cache_bytes": -1}, "gpu_at_start": {"devices": []}})",
                               R"({"host": 3, "gpu_at_start": null})"}) {
    EXPECT_FALSE(multiprocessors_in(env_json)) << env_json;
    EXPECT_FALSE(last_level_cache_bytes_in(env_json)) << env_json;
  }
}

}  // namespace
}  // namespace profgate::runs

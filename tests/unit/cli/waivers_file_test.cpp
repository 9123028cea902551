#include <gmock/gmock.h>

#include "core/error.h"
#include "read_waivers.h"

namespace profgate::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* sound =
    "# who answers for what\n"
    "- pair: qwen3-0.6b.decode-b1\n"
    "  stage: decode_all\n"
    "  owner: ada\n"
    "  reason: 'the sampler: see the plan'\n"
    "  expires: 2026-12-01\n"
    "  max_ratio: 0.05\n";

std::string fault_of(const std::string& yaml) {
  try {
    parse_waivers(yaml, "waivers.yaml");
  } catch (const core::bad_input& wrong) {
    return wrong.what() + ("; to fix it: " + wrong.remedy());
  }
  return "";
}

std::string without(const std::string& field) {
  std::string text = sound;
  const std::size_t start = text.find("  " + field + ":");
  return text.erase(start, text.find('\n', start) + 1 - start);
}

TEST(waivers_file, reads_every_field) {
  const std::vector<gate::waiver> waivers = parse_waivers(sound, "waivers.yaml");
  ASSERT_EQ(waivers.size(), 1U);
  EXPECT_EQ(waivers[0].pair, "qwen3-0.6b.decode-b1");
  EXPECT_EQ(waivers[0].stage, "decode_all");
  EXPECT_EQ(waivers[0].owner, "ada");
  EXPECT_EQ(waivers[0].reason, "the sampler: see the plan");
  EXPECT_EQ(waivers[0].expires, "2026-12-01");
  EXPECT_EQ(waivers[0].max_ratio, 0.05);
  EXPECT_EQ(waivers[0].defined_at, "waivers.yaml:2");
  EXPECT_TRUE(parse_waivers("", "waivers.yaml").empty());
  EXPECT_TRUE(parse_waivers("# none now\n", "waivers.yaml").empty());
}

TEST(waivers_file, every_field_is_required) {
  for (const char* field : {"stage", "owner", "reason", "expires", "max_ratio"}) {
    EXPECT_THAT(fault_of(without(field)),
                AllOf(HasSubstr("waivers.yaml:2"), HasSubstr(field), HasSubstr("all of them")));
  }
}

TEST(waivers_file, what_makes_no_sense_is_named_with_its_line) {
  const auto with = [](const std::string& field, const std::string& value) {
    return fault_of(without(field) + "  " + field + ": " + value + "\n");
  };
  EXPECT_THAT(with("expires", "never"), AllOf(HasSubstr("waivers.yaml:7"), HasSubstr("no date")));
  EXPECT_THAT(with("expires", "2026-02-30"), HasSubstr("no date"));
  EXPECT_THAT(with("max_ratio", "5%"), HasSubstr("max_ratio"));
  EXPECT_THAT(with("max_ratio", "-0.1"), HasSubstr("above 0"));
  EXPECT_THAT(with("max_ratio", "nan"), HasSubstr("above 0"));
  EXPECT_THAT(with("owner", "''"), HasSubstr("empty"));
  EXPECT_THAT(with("owner", "[a, b]"), HasSubstr("empty"));
  EXPECT_THAT(fault_of(std::string(sound) + "  until: tomorrow\n"), HasSubstr("no field 'until'"));
  EXPECT_THAT(fault_of("pair: x\n"), HasSubstr("not a list"));
  EXPECT_THAT(fault_of("- just text\n"), HasSubstr("without its fields"));
  EXPECT_THAT(fault_of(std::string(sound) + "<<<<<<< HEAD\n"),
              AllOf(HasSubstr("waivers.yaml:8"), HasSubstr("merge")));
}

}  // namespace
}  // namespace profgate::cli

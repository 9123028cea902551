#include "artifacts/redact.h"

#include <gtest/gtest.h>

namespace profgate::artifacts {
namespace {

using arguments = std::vector<std::string>;

TEST(redact_argv, hides_the_value_of_a_secret_option) {
  EXPECT_EQ(redact_argv({"run", "--token", "abc", "--api-key=xyz", "-v"}),
            (arguments{"run", "--token", "[redacted]", "--api-key=[redacted]", "-v"}));
  EXPECT_EQ(redact_argv({"--password", "1234", "auth.client_secret=s", "HF_TOKEN=abc"}),
            (arguments{"--password", "[redacted]", "auth.client_secret=[redacted]", "HF_TOKEN=[redacted]"}));
}

TEST(redact_argv, keeps_what_only_sounds_like_a_secret) {
  const arguments plain{
      "--prompt-tokens", "32",       "--tokenizer",     "conf/tok.json", "num_key_value_heads=8",
      "--max_tokens=16", "a.keys=1", "--config=a.yaml", "--token"};
  EXPECT_EQ(redact_argv(plain), plain);
}

TEST(redact_argv, takes_no_option_for_a_value) {
  EXPECT_EQ(redact_argv({"--use-token", "--config", "x"}), (arguments{"--use-token", "--config", "x"}));
}

TEST(redact_text, hides_what_gives_itself_away) {
  EXPECT_EQ(redact_text("git clone https://me:pa:ss@host/x.git ssh://git@h/y"),
            "git clone https://[redacted]@host/x.git ssh://[redacted]@h/y");
  EXPECT_EQ(redact_text("https://h/p?n=1&access_token=abc&m=2"),
            "https://h/p?n=1&access_token=[redacted]&m=2");
  EXPECT_EQ(redact_text("Authorization: Bearer abc.def-1"), "Authorization: Bearer [redacted]");
  EXPECT_EQ(redact_text("x=hf_abcdefghijklmnopqrst!"), "x=hf_[redacted]!");
  EXPECT_EQ(redact_text("https://host/a@b and task-sk-1 and hf_short"),
            "https://host/a@b and task-sk-1 and hf_short");
}

TEST(allowed_environment, keeps_what_changes_a_measurement_and_nothing_else) {
  const auto kept = allowed_environment({"CUDA_VISIBLE_DEVICES=0", "OMP_NUM_THREADS=2", "PATH=/bin",
                                         "PROFGATE_API_KEY=abcdefgh", "PROFGATE_OVERRIDES=auth=https://u:p@h",
                                         "HOME=/root", "AWS_SECRET_ACCESS_KEY=x", "nonsense"});
  EXPECT_EQ(kept, (std::map<std::string, std::string>{{"CUDA_VISIBLE_DEVICES", "0"},
                                                      {"OMP_NUM_THREADS", "2"},
                                                      {"PATH", "/bin"},
                                                      {"PROFGATE_API_KEY", "[redacted]"},
                                                      {"PROFGATE_OVERRIDES", "auth=https://[redacted]@h"}}));
}

}  // namespace
}  // namespace profgate::artifacts

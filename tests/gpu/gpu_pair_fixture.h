#pragma once

#include <fstream>
#include <nlohmann/json.hpp>

#include "../integration/pair_fixture.h"

namespace profgate::integration {

/// For tests that need a GPU and the real tools: a pair that takes seconds.
class gpu_pair_fixture : public pair_fixture {
 protected:
  void SetUp() override {
    pair_fixture::SetUp();
    m_environment.clear();
    std::error_code absent;
    if (std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", absent) ==
        std::filesystem::directory_iterator()) {
      GTEST_SKIP() << "there is no NVIDIA GPU here";
    }
  }

  /// Three layers of qwen3-0.6b on the GPU.
  std::filesystem::path small_pair() {
    const std::filesystem::path file =
        register_llm("llm/qwen3-0.6b", "decode-b1",
                     {"model.shape.num_hidden_layers=3", "workload.prompt_tokens=64",
                      "workload.decode_tokens=8", "model.reference=null"});
    nlohmann::json manifest = nlohmann::json::parse(std::ifstream(file));
    manifest["device"] = "cuda";
    std::ofstream(file) << manifest.dump();
    return file;
  }
};

}  // namespace profgate::integration

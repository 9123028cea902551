// A workload by the contract of workloads/README.md that computes nothing: it spins inside its ranges.
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "faults.h"
#include "nvtx/ranges.h"
#include "options.h"

namespace profgate::probe {
namespace {

/// Stands for an operator's work; a fixed number of steps, so that counts and times repeat.
void spin(std::int64_t iterations) {
  volatile std::uint64_t state = 1;
  for (std::int64_t i = 0; i < iterations; ++i) state = state * 6364136223846793005U + 1442695040888963407U;
}

/// Names and opens the probe's ranges, in the way the fault asks for.
class range_factory {
 public:
  explicit range_factory(fault misbehaviour)
      : m_domain(misbehaviour == fault::other_domain ? "other" : "LLM"),
        m_plain(misbehaviour == fault::unregistered),
        m_silent(misbehaviour == fault::no_range) {}

  void enable(bool on) { m_enabled = on && !m_silent; }
  nvtx::scoped_range open(const char* name) const { return {m_enabled ? &m_domain : nullptr, named(name)}; }
  std::unique_ptr<nvtx::started_range> start(const char* name) const {
    return m_enabled ? std::make_unique<nvtx::started_range>(m_domain, named(name)) : nullptr;
  }

 private:
  nvtx::label named(const char* name) const {
    return m_plain ? nvtx::label::plain(name) : nvtx::label::registered(m_domain, name);
  }

  nvtx::domain m_domain;
  bool m_plain;
  bool m_silent;
  bool m_enabled = false;
};

struct samples {
  std::vector<std::int64_t> prefill_ns;
  std::vector<std::int64_t> decode_all_ns;
  std::vector<std::int64_t> decode_step_ns;
};

template <typename Body>
std::int64_t timed_ns(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start)
      .count();
}

void run_operators(const range_factory& ranges, std::int64_t spin_iterations) {
  for (const char* name : {"attn.qkv", "attn.core", "mlp.gate_up"}) {
    const auto range = ranges.open(name);
    spin(spin_iterations);
  }
}

/// One prefill and one decode_all, a start/end range around both, and a second thread with a range of its
/// own.
void run_round(const options& chosen, const range_factory& ranges, samples& measured) {
  const auto request = ranges.start("request");
  std::thread background([&] {
    const auto range = ranges.open("background");
    spin(chosen.spin_iterations);
  });
  measured.prefill_ns.push_back(timed_ns([&] {
    const auto range = ranges.open("prefill");
    run_operators(ranges, chosen.spin_iterations);
  }));
  background.join();
  measured.decode_all_ns.push_back(timed_ns([&] {
    const auto range = ranges.open("decode_all");
    misbehave_in_range(chosen);
    for (std::int64_t step = 0; step < chosen.decode_steps; ++step) {
      measured.decode_step_ns.push_back(timed_ns([&] {
        const auto step_range = ranges.open("decode_step");
        run_operators(ranges, chosen.spin_iterations);
      }));
    }
  }));
}

std::string list_text(const std::vector<std::int64_t>& values) {
  std::string text = "[";
  for (const auto value : values) {
    if (text.size() > 1) text += ',';
    text += std::to_string(value);
  }
  return text + "]";
}

std::string result_text(const options& chosen, const samples& measured) {
  return R"({"schema_version":1,"mode":")" + chosen.mode +
         R"(","device":{"kind":"cpu","name":"probe","threads":2},"tokens":{"prompt":1,"decode":)" +
         std::to_string(chosen.decode_steps) + R"(,"batch":1},"samples_ns":{"prefill":)" +
         list_text(measured.prefill_ns) + R"(,"decode_all":)" + list_text(measured.decode_all_ns) +
         R"(},"decode_step_ns":)" + list_text(measured.decode_step_ns) +
         R"(,"logits_hash":null,"reference_distance":null})" + "\n";
}

bool write_result(const options& chosen, const samples& measured) {
  std::string text = result_text(chosen, measured);
  if (chosen.misbehaviour == fault::truncated_result) text.resize(text.size() / 2);
  const std::string temporary = chosen.result_path + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "w");
  if (file == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  return written && closed && std::rename(temporary.c_str(), chosen.result_path.c_str()) == 0;
}

int run(const options& chosen) {
  misbehave_at_start(chosen);
  range_factory ranges(chosen.misbehaviour);
  samples measured;
  const bool profiling = chosen.mode == "profile";
  ranges.enable(profiling);
  for (std::int64_t round = 0; round < (profiling ? 1 : chosen.repetitions); ++round)
    run_round(chosen, ranges, measured);
  if (chosen.misbehaviour != fault::no_result && !write_result(chosen, measured)) {
    std::fprintf(stderr, "profgate-probe: %s: cannot be written\n", chosen.result_path.c_str());
    return 1;
  }
  return chosen.misbehaviour == fault::exit_3 ? 3 : 0;
}

}  // namespace
}  // namespace profgate::probe

int main(int argc, char** argv) {
  using namespace profgate::probe;
  return run(parse_options(std::span<char* const>(argv + 1, argv + argc)));
}

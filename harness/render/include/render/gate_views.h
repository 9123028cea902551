#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gate/judgement.h"
#include "render/render.h"

/// What people see of a gate. All of it is a pure function of the judgement (and the templates).
namespace profgate::render {

/// The last lines of the gate's test: verdict, size with its bounds, the first three causes, the command to
/// look deeper. Names in them are harmless to terminals and to CTest.
std::vector<std::string> gate_lines(const gate::judgement& whole);

/// The same without the verdict's own line, which comes from elsewhere.
std::vector<std::string> gate_detail_lines(const gate::judgement& whole);

/// "decode_all (16 tokens)": how much of it one measured occurrence is.
std::string stage_title(const gate::stage_judgement& stage);

/// "decode_all (16 tokens) is 5.1 % slower (90 % CI 4.8 to 5.4 %; 10 + 10 runs): 4.06 → 4.27 ms a token, 65.0
/// → 68.3 ms in all", or why there is no such number: one sentence, for a table or a status.
std::string size_sentence(const gate::stage_judgement& stage);

/// The verdict in a word, "failed" where something else than the runs fails it; and in a sentence: the size
/// of the change, or what is not allowed, or why there is neither.
std::string verdict_word(const gate::judgement& whole);
std::string verdict_sentence(const gate::judgement& whole);

/// Every gated number as <CTestMeasurement …>, in one line: CTest takes them out of the output for CDash, and
/// leaves one empty line.
std::string ctest_measurements(const gate::judgement& whole);

/// verdict.json, gate.md and gate.svg in `output_dir`; returns their paths.
std::vector<std::filesystem::path> render_gate(const gate::judgement& whole,
                                               const std::filesystem::path& templates_dir,
                                               const std::filesystem::path& output_dir,
                                               const report_writer& writer);

/// One row of a session's summary.
struct summary_row {
  std::string pair{};
  std::optional<gate::judgement> judged{};
  std::string otherwise{};  ///< what became of the pair where it was not judged: "skipped: no GPU"
};

/// A short Markdown document for a comment of a CI: one table over all pairs, what failed first.
std::string gate_summary(const std::vector<summary_row>& rows);

}  // namespace profgate::render

#include "workload/adapter.h"

#include <cstdlib>

#include "core/error.h"
#include "parsers/adapter_report.h"

namespace profgate::workload {
namespace fs = std::filesystem;

std::map<std::string, std::string> adapter_environment(const config::resolved& config,
                                                       const adapter_files& files, adapter_mode mode,
                                                       const fs::path& folder) {
  if (!config::has_adapter(config)) return {};
  for (const fs::path& needed : {files.python_dir / "sitecustomize.py", files.library}) {
    if (fs::exists(needed)) continue;
    throw core::step_failure("the PyTorch adapter is not whole: there is no " + needed.string(),
                             "build the target profgate_pytorch_ranges, or install profgate again");
  }
  for (const fs::path& stale : parsers::adapter_report_files(folder)) fs::remove(stale);
  const char* inherited = std::getenv("PYTHONPATH");
  const std::string behind = inherited == nullptr || *inherited == '\0' ? "" : std::string(":") + inherited;
  return {{"PYTHONPATH", fs::absolute(files.python_dir).string() + behind},
          {"PROFGATE_PYTORCH_MODE", mode == adapter_mode::bare ? "bare" : "traced"},
          {"PROFGATE_PYTORCH_LIBRARY", fs::absolute(files.library).string()},
          {"PROFGATE_PYTORCH_REPORT", (fs::absolute(folder) / parsers::adapter_report_name).string()}};
}

std::string silent_adapter_words() {
  return std::string(parsers::silent_adapter_note) +
         ", so no module and no stage is known: either the program imports no torch, or its Python does not "
         "look at PYTHONPATH (python -I, -E or -S), or a script or tool on the way sets it anew (append to "
         "it "
         "instead), or nothing of it is Python";
}

std::string unasked_adapter_words() {
  return std::string(parsers::torch_without_adapter_note) +
         ", whose modules and stages are not known without its adapter: --adapter "
         "pytorch before the -- names them, without an edit (of a pair: ADAPTER pytorch in "
         "profgate_add_workload())";
}

}  // namespace profgate::workload

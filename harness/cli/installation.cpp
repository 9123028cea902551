#include "installation.h"

#include <fmt/format.h>

#include "core/error.h"

namespace profgate::cli {
namespace fs = std::filesystem;

fs::path running_program() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) throw core::bad_input("cannot read /proc/self/exe", "mount /proc");
  return program;
}

installation find_installation() {
  const fs::path program = running_program();
  const fs::path prefix = program.parent_path().parent_path();
  const installation parts{
      prefix / "share/profgate/templates",
      prefix / "share/profgate/conf",
      prefix / "lib/profgate/libprofgate_collector.so",
      {prefix / "share/profgate/pytorch", prefix / "lib/profgate/libprofgate_pytorch_ranges.so"},
      prefix / "libexec/profgate/profgate-note-process",
      prefix / "libexec/profgate/profgate-llm"};
  if (fs::exists(parts.templates_dir)) return parts;
  throw core::bad_input(
      fmt::format("{} stands alone: there is no {}", program.string(), parts.templates_dir.string()),
      "run the profgate inside a build folder or an installed tree; do not copy it out");
}

}  // namespace profgate::cli

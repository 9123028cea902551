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
  const installation installed{prefix / "share/profgate/conf", prefix / "share/profgate/templates",
                               prefix / "lib/profgate/libprofgate_collector.so"};
  if (fs::exists(installed.conf_dir)) return installed;

  // The build folder's paths are compiled in; they lead nowhere once the program has moved, hence the check.
  const installation built{PROFGATE_SOURCE_DIR "/conf", PROFGATE_SOURCE_DIR "/templates",
                           PROFGATE_BUILD_COLLECTOR};
  if (program.string().starts_with(PROFGATE_BINARY_DIR "/") && fs::exists(built.conf_dir)) return built;

  throw core::bad_input(fmt::format("{}: found neither {} nor a build folder around this program",
                                    program.string(), installed.conf_dir.string()),
                        "run the profgate inside a build folder or an installed tree; do not copy it alone");
}

}  // namespace profgate::cli

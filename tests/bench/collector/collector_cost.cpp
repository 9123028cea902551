// What one NVTX range (push and pop, registered string) costs the traced program: with no tool, with the
// embedded collector, and under nsys where there is one. The program runs itself once for each.
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr int batches = 20;
constexpr int ranges_per_batch = 20000;

/// The median over the batches, in nanoseconds a range.
double measure_range_ns() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("LLM");
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "attn.qkv");
  std::vector<double> range_ns;
  for (int batch = 0; batch < batches; ++batch) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < ranges_per_batch; ++i) {
      nvtxDomainRangePushEx(domain, &attributes);
      nvtxDomainRangePop(domain);
    }
    const std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - begin;
    range_ns.push_back(elapsed.count() / ranges_per_batch);
  }
  std::nth_element(range_ns.begin(), range_ns.begin() + batches / 2, range_ns.end());
  return range_ns[batches / 2];
}

/// Runs the command with its output dropped; the measured program writes its one number to `result`.
std::optional<double> measure_in_child(const std::vector<std::string>& command,
                                       const std::filesystem::path& result) {
  std::filesystem::remove(result);
  const pid_t child = fork();
  if (child == 0) {
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  waitpid(child, nullptr, 0);
  std::FILE* const in = std::fopen(result.c_str(), "r");
  if (in == nullptr) return std::nullopt;
  double range_ns = 0;
  const bool is_read = std::fscanf(in, "%lf", &range_ns) == 1;
  std::fclose(in);
  return is_read ? std::optional<double>(range_ns) : std::nullopt;
}

void print_row(const char* name, std::optional<double> range_ns, std::optional<double> bare_ns) {
  if (!range_ns || !bare_ns) {
    std::printf("%-20s %10s %10s\n", name, "-", "-");
  } else {
    std::printf("%-20s %10.1f %9.1fx\n", name, *range_ns, *range_ns / *bare_ns);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--measure") == 0) {
    std::FILE* const out = std::fopen(argv[2], "w");
    if (out == nullptr) return 1;
    std::fprintf(out, "%f\n", measure_range_ns());
    return std::fclose(out);
  }
  std::string folder_pattern = (std::filesystem::temp_directory_path() / "collector_cost.XXXXXX").string();
  if (mkdtemp(folder_pattern.data()) == nullptr) {
    std::perror("cannot make a temporary folder");
    return 1;
  }
  const std::filesystem::path folder = folder_pattern;
  const std::filesystem::path result = folder / "range_ns";
  const std::vector<std::string> self = {std::filesystem::read_symlink("/proc/self/exe").string(),
                                         "--measure", result.string()};
  unsetenv("NVTX_INJECTION64_PATH");
  const std::optional<double> bare_ns = measure_in_child(self, result);

  std::vector<std::string> under_nsys = {"nsys",
                                         "profile",
                                         "-t",
                                         "nvtx",
                                         "-s",
                                         "none",
                                         "--cpuctxsw=none",
                                         "-f",
                                         "true",
                                         "-o",
                                         (folder / "cost").string()};
  under_nsys.insert(under_nsys.end(), self.begin(), self.end());
  const std::optional<double> nsys_ns = measure_in_child(under_nsys, result);

  setenv("NVTX_INJECTION64_PATH", PROFGATE_COLLECTOR_LIBRARY, 1);
  setenv("PROFGATE_COLLECTOR_OUTPUT", (folder / "cost.timeline").c_str(), 1);
  const std::optional<double> collector_ns = measure_in_child(self, result);

  std::printf("%-20s %10s %10s\n", "tool", "ns a range", "ratio");
  print_row("none", bare_ns, bare_ns);
  print_row("embedded collector", collector_ns, bare_ns);
  print_row("nsys", nsys_ns, bare_ns);
  if (!nsys_ns) std::printf("nsys: not on PATH, or it did not start\n");
  std::filesystem::remove_all(folder);
  return bare_ns && collector_ns ? 0 : 1;
}

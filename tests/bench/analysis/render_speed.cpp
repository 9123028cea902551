// How long the reports of a profile with many kernels take, and how large report.html is.
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iterator>

#include "many_kernels.h"
#include "render/render.h"

int main() {
  std::ifstream file(PROFGATE_PROFILE, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  fmt::print("| kernels | all reports, s | report.html, kB |\n|---:|---:|---:|\n");
  for (const std::size_t kernels : {std::size_t{400}, std::size_t{10'000}}) {
    const std::string profile = profgate::render::profile_of_many_kernels(text, kernels);
    std::size_t page_bytes = 0;
    const auto start = std::chrono::steady_clock::now();
    profgate::render::render_reports(profile, PROFGATE_TEMPLATES_DIR, "",
                                     [&](const std::filesystem::path& path, std::string_view report) {
                                       if (path == "report.html") page_bytes = report.size();
                                     });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print("| {} | {:.3f} | {} |\n", kernels, took.count(), page_bytes / 1000);
  }
}

#include "fake_cuda.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

namespace profgate::test {
namespace {

void initialise_cuda() {
  if (const char* const driver = std::getenv("FAKE_CUDA_DRIVER")) dlopen(driver, RTLD_NOW);
  const char* const library = std::getenv("CUDA_INJECTION64_PATH");
  if (library == nullptr) return;
  void* const handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) return;  // as CUDA does
  auto* const initialise = reinterpret_cast<int (*)()>(dlsym(handle, "InitializeInjection"));
  if (initialise != nullptr) initialise();
}

template <typename function>
function* fake_function(const char* name) {
  const char* const library = std::getenv("PROFGATE_CUPTI_LIBRARY");
  void* const handle = library == nullptr ? nullptr : dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  void* const found = handle == nullptr ? nullptr : dlsym(handle, name);
  if (found == nullptr) {
    std::fprintf(stderr, "no fake libcupti with %s is loaded\n", name);
    std::exit(2);
  }
  return reinterpret_cast<function*>(found);
}

/// Names of kernels outlive their records.
const char* kept(const std::string& name) {
  static auto* names = new std::set<std::string>;
  return names->insert(name).first->c_str();
}

void launch(const std::string& name, std::uint32_t node_count, bool is_queued) {
  static auto* const fake_launch = fake_function<void(const char*, std::uint32_t, int)>("fake_launch");
  fake_launch(kept(name), node_count, is_queued ? 1 : 0);
}

}  // namespace

bool run_cuda_word(const std::vector<std::string>& parts) {
  const std::string& verb = parts[0];
  if (verb == "cuda") {
    initialise_cuda();
  } else if (verb == "kernel") {
    for (int i = 0; i < std::atoi(parts[2].c_str()); ++i) launch(parts[1], 0, false);
  } else if (verb == "graph") {
    launch(parts[1], static_cast<std::uint32_t>(std::atoi(parts[2].c_str())), false);
  } else if (verb == "node" || verb == "clone") {
    const auto number = [&](std::size_t i) {
      return i < parts.size() ? std::strtoull(parts[i].c_str(), nullptr, 10) : 0;
    };
    fake_function<void(std::uint64_t, std::uint64_t)>("fake_graph_node")(number(1), number(2));
  } else if (verb == "module") {
    std::ifstream in(parts[1], std::ios::binary);
    const std::string image(std::istreambuf_iterator<char>(in), {});
    fake_function<void(const char*, std::size_t)>("fake_module_load")(image.data(), image.size());
  } else if (verb == "capture") {
    fake_function<void(int, int, int, std::uint32_t)>("fake_capture_call")(
        parts[1] == "begin" ? 1 : 0, parts[2] != "runtime" ? 1 : 0, parts[2] != "driver" ? 1 : 0,
        static_cast<std::uint32_t>(std::atoi(parts[3].c_str())));
  } else if (verb == "queue") {
    launch(parts[1], 0, true);
  } else if (verb == "run") {
    fake_function<void()>("fake_run_queued")();
  } else if (verb == "copy" || verb == "memset") {
    fake_function<void(std::uint64_t, int)>("fake_copy")(std::strtoull(parts[1].c_str(), nullptr, 10),
                                                         verb == "memset" ? 1 : 0);
  } else {
    return false;
  }
  return true;
}

}  // namespace profgate::test

// A traced program for the tests: its arguments are a script of NVTX calls, one an argument.
//
//   push:<domain>:<name>    registered string        pop:<domain>
//   ascii:<domain>:<name>   plain string             wide:<domain>:<name>   plain wide string
//   start:<domain>:<name>   registered string        end                    of the last start
//   many:<domain>:<name>:<count>                     that many closed ranges, registered string
//   threads:<n>:<name>:<count>                       n threads, each opens that many in the domain LLM
//   aside:<domain>:<name>   opens and closes one on a thread of its own, for whose end nobody waits here
//   say:<text>              a line of standard output
//   fork                    both processes go on; the parent waits for the child at its end, and exits 3 if
//   it failed work:<microseconds>     exit:<code>     abort     segv     quit     mark:<name> (quit:
//   _exit(0), without the exit handlers) cuda kernel: graph: …   see fake_cuda.h
//
// An empty domain is NVTX's default domain.
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "fake_cuda.h"

namespace {

nvtxDomainHandle_t domain_of(const std::string& name) {
  static std::map<std::string, nvtxDomainHandle_t> domains;
  if (name.empty()) return nullptr;
  const auto [it, is_new] = domains.try_emplace(name, nullptr);
  if (is_new) it->second = nvtxDomainCreateA(name.c_str());
  return it->second;
}

nvtxEventAttributes_t attributes() {
  nvtxEventAttributes_t a{};
  a.version = NVTX_VERSION;
  a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return a;
}

nvtxEventAttributes_t registered(nvtxDomainHandle_t domain, const std::string& name) {
  nvtxEventAttributes_t a = attributes();
  a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  a.message.registered = nvtxDomainRegisterStringA(domain, name.c_str());
  return a;
}

void push_ascii(nvtxDomainHandle_t domain, const std::string& name) {
  if (domain == nullptr) {
    nvtxRangePushA(name.c_str());
    return;
  }
  nvtxEventAttributes_t a = attributes();
  a.messageType = NVTX_MESSAGE_TYPE_ASCII;
  a.message.ascii = name.c_str();
  nvtxDomainRangePushEx(domain, &a);
}

/// Every byte of `name` becomes one wide character, then a euro sign that needs three bytes of UTF-8.
void push_wide(nvtxDomainHandle_t domain, const std::string& name) {
  const std::wstring text = std::wstring(name.begin(), name.end()) + L'\u20AC';
  if (domain == nullptr) {
    nvtxRangePushW(text.c_str());
    return;
  }
  nvtxEventAttributes_t a = attributes();
  a.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  a.message.unicode = text.c_str();
  nvtxDomainRangePushEx(domain, &a);
}

void open_and_close(nvtxDomainHandle_t domain, const std::string& name, int count) {
  const nvtxEventAttributes_t a = registered(domain, name);
  for (int i = 0; i < count; ++i) {
    nvtxDomainRangePushEx(domain, &a);
    nvtxDomainRangePop(domain);
  }
}

void run_threads(int thread_count, const std::string& name, int count) {
  nvtxDomainHandle_t domain = domain_of("LLM");
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(thread_count));
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([=] { open_and_close(domain, name, count); });
  }
  for (std::thread& thread : threads) thread.join();
}

void open_aside(nvtxDomainHandle_t domain, const std::string& name, std::vector<std::thread>& threads) {
  threads.emplace_back([=] { open_and_close(domain, name, 1); });
}

void say(const std::string& text) {
  const std::string line = text + "\n";
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::abort();
}

void work(long microseconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(microseconds);
  while (std::chrono::steady_clock::now() < until) {
  }
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ':');) parts.push_back(part);
  parts.resize(4);
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  nvtxRangeId_t last_started = 0;
  pid_t child = 0;
  std::vector<std::thread> aside;
  for (int i = 1; i < argc; ++i) {
    const std::vector<std::string> part = split(argv[i]);
    const std::string& verb = part[0];
    if (verb == "push") {
      const nvtxEventAttributes_t a = registered(domain_of(part[1]), part[2]);
      nvtxDomainRangePushEx(domain_of(part[1]), &a);
    } else if (verb == "ascii") {
      push_ascii(domain_of(part[1]), part[2]);
    } else if (verb == "wide") {
      push_wide(domain_of(part[1]), part[2]);
    } else if (verb == "pop") {
      nvtxDomainRangePop(domain_of(part[1]));
    } else if (verb == "start") {
      const nvtxEventAttributes_t a = registered(domain_of(part[1]), part[2]);
      last_started = nvtxDomainRangeStartEx(domain_of(part[1]), &a);
    } else if (verb == "end") {
      nvtxRangeEnd(last_started);
    } else if (verb == "many") {
      open_and_close(domain_of(part[1]), part[2], std::atoi(part[3].c_str()));
    } else if (verb == "threads") {
      run_threads(std::atoi(part[1].c_str()), part[2], std::atoi(part[3].c_str()));
    } else if (verb == "aside") {
      open_aside(domain_of(part[1]), part[2], aside);
    } else if (verb == "say") {
      say(part[1]);
    } else if (verb == "mark") {
      nvtxMarkA(part[1].c_str());
    } else if (verb == "fork") {
      child = fork();
    } else if (verb == "work") {
      work(std::atol(part[1].c_str()));
    } else if (verb == "exit") {
      return std::atoi(part[1].c_str());
    } else if (verb == "quit") {
      _exit(0);
    } else if (verb == "segv") {
      std::raise(SIGSEGV);
    } else if (verb == "abort") {
      std::abort();
    } else if (!profgate::test::run_cuda_word(part)) {
      std::fprintf(stderr, "unknown word in the script: %s\n", argv[i]);
      return 2;
    }
  }
  for (std::thread& thread : aside) thread.join();
  int child_status = 0;
  if (child > 0) waitpid(child, &child_status, 0);
  return child_status == 0 ? 0 : 3;
}

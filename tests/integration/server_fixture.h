#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>

#include "core/owned_fd.h"
#include "pair_fixture.h"

/// Servers with their clients, as people type them. The programs are those of range_probe.c.
namespace profgate::integration {

/// A port of this machine; as long as this lives, nobody else gets it by chance. Who asks for this very one
/// with SO_REUSEADDR, as servers do, can listen on it.
class held_port {
 public:
  held_port() : m_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    EXPECT_EQ(::setsockopt(m_fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    EXPECT_EQ(::bind(m_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::getsockname(m_fd.get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
    m_number = ntohs(address.sin_port);
  }
  void listen() const { EXPECT_EQ(::listen(m_fd.get(), 4), 0); }
  int number() const { return m_number; }

 private:
  core::owned_fd m_fd;
  int m_number = 0;
};

class server_fixture : public pair_fixture {
 protected:
  void SetUp() override {
    pair_fixture::SetUp();
    m_environment["PROFGATE_OVERRIDES"] = "timeline=embedded workload.server.stop_within_s=2";
  }

  std::vector<std::string> server_of(const std::string& manners) const {
    return {PROFGATE_RANGE_PROBE, "server", m_port, manners};
  }
  std::vector<std::string> client(int requests) const {
    return {PROFGATE_RANGE_PROBE, "client", m_port, std::to_string(requests)};
  }

  command_result serve(const std::string& manners, const std::vector<std::string>& asking,
                       const std::vector<std::string>& settings = {},
                       const std::function<std::optional<std::string>()>& stop_request = {}) const {
    std::vector<std::string> words = {"run", "--ready-port", m_port, "workload.stages=[request]"};
    words.insert(words.end(), settings.begin(), settings.end());
    add_command(server_of(manners), words);
    add_command(asking, words);
    command_result result = profgate(words, stop_request);
    EXPECT_THAT(result.left_behind, ::testing::IsEmpty()) << result.output;
    return result;
  }

  static void add_command(const std::vector<std::string>& command, std::vector<std::string>& words) {
    words.emplace_back("--");
    words.insert(words.end(), command.begin(), command.end());
  }

  nlohmann::json profile() const { return nlohmann::json::parse(text_of("profile.json")); }

  held_port m_held;
  std::string m_port = std::to_string(m_held.number());
};

}  // namespace profgate::integration

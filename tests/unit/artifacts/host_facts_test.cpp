#include "artifacts/host_facts.h"

#include <gmock/gmock.h>

#include "test_folder.h"

namespace profgate::artifacts {
namespace {

using ::testing::HasSubstr;

class host : public folder_test {};

TEST_F(host, reads_what_the_system_tells) {
  put(folder() / "etc/os-release", "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  put(folder() / "proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\n");
  put(folder() / "proc/meminfo", "MemTotal:       16384 kB\nMemAvailable:    8192 kB\n");
  put(folder() / "proc/loadavg", "0.75 0.50 0.25 1/100 4242\n");
  put(folder() / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  const host_facts facts = gather_host_facts(folder());
  EXPECT_EQ(facts.operating_system.value(), "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(facts.cpu_model.value(), "Some CPU @ 2.0GHz");
  EXPECT_EQ(facts.memory_bytes.value(), 16384 * 1024);
  EXPECT_EQ(facts.memory_available_bytes.value(), 8192 * 1024);
  EXPECT_EQ(facts.load_average_1min_count.value(), 0.75);
  EXPECT_EQ(facts.cpu_governor.value(), "performance");
}

TEST_F(host, names_an_arm_cpu_by_its_numbers) {
  put(folder() / "proc/cpuinfo", "CPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
  EXPECT_EQ(gather_host_facts(folder()).cpu_model.value(), "Arm Neoverse-V1");
  put(folder() / "proc/cpuinfo", "CPU implementer\t: 0x99\nCPU part\t: 0x001\n");
  EXPECT_EQ(gather_host_facts(folder()).cpu_model.value(), "implementer 0x99, part 0x001");
}

TEST_F(host, gives_the_reason_for_what_is_not_there) {
  put(folder() / "proc/meminfo", "MemTotal: many kB\n");
  const host_facts facts = gather_host_facts(folder());
  EXPECT_FALSE(facts.memory_bytes);
  EXPECT_THAT(facts.memory_bytes.reason(), HasSubstr("many kB"));
  EXPECT_THAT(facts.memory_available_bytes.reason(), HasSubstr("no 'MemAvailable'"));
  EXPECT_THAT(facts.cpu_governor.reason(), HasSubstr("scaling_governor"));
  EXPECT_THAT(facts.cpu_model.reason(), HasSubstr("cpuinfo"));
}

TEST_F(host, tells_the_largest_cache) {
  const auto put_size = [&](const std::string& index, const std::string& text) {
    put(folder() / "sys/devices/system/cpu/cpu0/cache" / index / "size", text);
  };
  EXPECT_THAT(gather_host_facts(folder()).last_level_cache_bytes.reason(), HasSubstr("cpu0/cache"));
  put_size("index0", "64K\n");
  put_size("index2", "1024K\n");
  EXPECT_EQ(gather_host_facts(folder()).last_level_cache_bytes.value(), 1 << 20);
  put_size("index3", "32M\n");
  EXPECT_EQ(gather_host_facts(folder()).last_level_cache_bytes.value(), 32 << 20);
  put_size("index3", "large\n");
  EXPECT_EQ(gather_host_facts(folder()).last_level_cache_bytes.value(), 1 << 20);
}

TEST(real_host, has_a_name_cpus_and_memory) {
  const host_facts facts = gather_host_facts();
  EXPECT_FALSE(facts.host_name.value_or("").empty());
  EXPECT_GT(facts.cpus_usable_count.value_or(0), 0);
  EXPECT_GT(facts.memory_bytes.value_or(0), 0);
}

}  // namespace
}  // namespace profgate::artifacts

#include <gmock/gmock.h>

#include "doctor_checks.h"
#include "profilers/collector_installation.h"
#include "profilers/ncu_installation.h"
#include "profilers/nsys_installation.h"

namespace profgate::cli {
namespace {

using profilers::health;
using ::testing::HasSubstr;

/// What is known of a machine, by everyone who looks at it.
struct all_facts : machine_facts {
  profilers::nsys_facts nsys{};
  profilers::collector_facts collector{};
  profilers::ncu_facts ncu{};
};

std::vector<check> diagnose(all_facts facts) {
  facts.collector.has_driver = facts.ncu.has_driver = facts.driver_version.has_value();
  std::vector<check> of_profilers;
  for (const std::vector<check>& some : {judge(facts.nsys), judge(facts.collector), judge(facts.ncu)})
    of_profilers.insert(of_profilers.end(), some.begin(), some.end());
  return diagnose(facts, of_profilers);
}

/// A GPU machine on which everything works.
all_facts healthy() {
  all_facts facts;
  facts.driver_version = "580.95.05";
  facts.driver_cuda_version = "13.0";
  facts.engine_cuda_version = "13.0";
  facts.gpu_names = {"NVIDIA H200"};
  facts.nsys.tool = {"/opt/nsys", "2025.3.1"};
  facts.nsys.importer = "/opt/QdstrmImporter";
  facts.ncu.tool = {"/opt/ncu", "2025.3.1"};
  facts.collector.is_present = true;
  facts.collector.has_gpu_part = true;
  facts.collector.cupti_library = "/opt/libcupti.so.13";
  facts.runs_dir = "tmp/stage2";
  facts.free_bytes = 100;
  facts.needed_bytes = 10;
  return facts;
}

check find(const all_facts& facts, const std::string& id) {
  for (const check& c : diagnose(facts)) {
    if (c.id == id) return c;
  }
  ADD_FAILURE() << "no check called " << id;
  return {};
}

TEST(doctor, finds_nothing_wrong_with_a_healthy_machine) {
  for (const check& c : diagnose(healthy())) EXPECT_EQ(c.state, health::good) << c.id << ": " << c.finding;
}

TEST(doctor, tells_no_driver_from_no_gpu_from_a_driver_that_does_not_answer) {
  all_facts facts = healthy();
  facts.gpu_names.clear();
  EXPECT_EQ(find(facts, "gpu").state, health::missing);
  EXPECT_THAT(find(facts, "gpu").finding, HasSubstr("sees no GPU"));
  facts.nvml_error = "driver/library version mismatch";
  EXPECT_EQ(find(facts, "gpu").state, health::broken);
  facts.driver_version.reset();
  EXPECT_EQ(find(facts, "driver").state, health::missing);
  EXPECT_THAT(find(facts, "gpu").finding, HasSubstr("without a driver"));
}

TEST(doctor, calls_a_wrong_choice_of_the_gpu_broken) {
  all_facts facts = healthy();
  facts.gpu_choice_error = {"PROFGATE_GPU: there is no GPU '7'", "name one of those that are here"};
  EXPECT_EQ(find(facts, "gpu").state, health::broken);
  EXPECT_THAT(find(facts, "gpu").finding, HasSubstr("no GPU '7'"));
}

TEST(doctor, knows_versions_that_are_too_old) {
  all_facts facts = healthy();
  facts.driver_version = "470.1";
  facts.nsys.tool->version = "2020.1";
  facts.ncu.tool->version = "2021.3";
  EXPECT_EQ(find(facts, "driver").state, health::degraded);
  EXPECT_EQ(find(facts, "nsys").state, health::degraded);
  EXPECT_EQ(find(facts, "ncu").state, health::degraded);
}

TEST(doctor, compares_the_driver_with_the_cuda_that_the_engine_was_built_with) {
  all_facts facts = healthy();
  facts.driver_version = "570.26";
  facts.driver_cuda_version = "12.8";
  EXPECT_EQ(find(facts, "driver").state, health::broken);
  EXPECT_THAT(find(facts, "driver").finding, HasSubstr("driver 570.26 supports CUDA up to 12.8"));
  EXPECT_THAT(find(facts, "driver").remedy, HasSubstr("one that supports CUDA 13.0"));
  facts.engine_cuda_version.reset();
  EXPECT_EQ(find(facts, "driver").state, health::good) << "no part of profgate needs CUDA 13 then";
  facts = healthy();
  facts.engine_cuda_version = "13.2";
  EXPECT_EQ(find(facts, "driver").state, health::good) << "releases of one major version are compatible";
  facts.driver_cuda_version.reset();
  EXPECT_EQ(find(facts, "driver").state, health::good) << "NVML did not tell";
}

TEST(doctor, calls_a_tool_that_does_not_say_its_version_broken) {
  all_facts facts = healthy();
  facts.nsys.tool.reset();
  facts.nsys.fault = {"/opt/nsys --version does not work", "install it again"};
  facts.ncu.tool.reset();
  facts.ncu.fault = {"/opt/ncu --version does not work", "install it again"};
  for (const std::string tool : {"nsys", "ncu"}) {
    EXPECT_EQ(find(facts, tool).state, health::broken);
    EXPECT_EQ(find(facts, tool).finding, "/opt/" + tool + " --version does not work");
    EXPECT_EQ(find(facts, tool).remedy, "install it again");
  }
  EXPECT_THAT(find(facts, "nsys importer").finding, HasSubstr("nsys itself does not work"));
}

TEST(doctor, tells_an_absent_importer_from_one_that_misses_a_library) {
  all_facts facts = healthy();
  facts.nsys.missing_libraries = {"libdw.so.1"};
  EXPECT_THAT(find(facts, "nsys importer").finding, HasSubstr("misses libdw.so.1"));
  EXPECT_THAT(find(facts, "nsys importer").remedy, HasSubstr("PROFGATE_NSYS_LIBRARY_PATH"));
  facts.nsys.importer.reset();
  facts.nsys.missing_libraries.clear();
  EXPECT_THAT(find(facts, "nsys importer").finding, HasSubstr("no QdstrmImporter"));
  facts.nsys.tool.reset();
  EXPECT_EQ(find(facts, "nsys importer").state, health::missing);
  EXPECT_EQ(find(facts, "nsys").state, health::missing);
}

TEST(doctor, tells_whether_the_collector_can_see_the_gpu) {
  all_facts facts = healthy();
  EXPECT_THAT(find(facts, "embedded collector").finding,
              HasSubstr("GPU activity through /opt/libcupti.so.13"));
  facts.collector.cupti_library.reset();
  facts.collector.cupti_absent_reason = "no libcupti.so.13";
  EXPECT_EQ(find(facts, "embedded collector").state, health::degraded);
  EXPECT_THAT(find(facts, "embedded collector").finding, HasSubstr("ranges only: no libcupti.so.13"));
  EXPECT_THAT(find(facts, "embedded collector").remedy, HasSubstr("PROFGATE_CUPTI_LIBRARY"));
  facts.collector.has_gpu_part = false;
  EXPECT_THAT(find(facts, "embedded collector").finding, HasSubstr("built without CUPTI's headers"));
  facts.driver_version.reset();
  EXPECT_EQ(find(facts, "embedded collector").state, health::good) << "nothing is amiss without a GPU";
  facts.collector.is_present = false;
  EXPECT_EQ(find(facts, "embedded collector").state, health::broken);
}

TEST(doctor, reports_denied_counters_only_to_those_they_are_denied) {
  all_facts facts = healthy();
  facts.ncu.counters_for_admin_only = true;
  EXPECT_EQ(find(facts, "counters").state, health::degraded);
  EXPECT_THAT(find(facts, "counters").finding, HasSubstr("ERR_NVGPUCTRPERM"));
  facts.ncu.running_as_root = true;
  EXPECT_EQ(find(facts, "counters").state, health::good);
}

TEST(doctor, calls_a_full_disk_and_a_wedged_nsys_broken) {
  all_facts facts = healthy();
  EXPECT_FALSE(anything_broken(diagnose(facts)));
  facts.free_bytes = 5;
  EXPECT_EQ(find(facts, "disk").state, health::broken);
  facts = healthy();
  facts.nsys.leftover_agents = {"77 nsys --start-agent"};
  EXPECT_THAT(find(facts, "nsys agents").finding, HasSubstr("77 nsys --start-agent"));
  EXPECT_TRUE(anything_broken(diagnose(facts)));
}

TEST(doctor, gives_a_remedy_with_everything_that_is_not_good) {
  all_facts facts;
  facts.driver_version = "100.0";
  facts.nvml_error = "unknown error";
  facts.ncu.counters_for_admin_only = true;
  for (const check& c : diagnose(facts)) {
    if (c.state == health::good || c.id == "nsys importer") continue;
    EXPECT_FALSE(c.remedy.empty()) << c.id;
  }
}

}  // namespace
}  // namespace profgate::cli

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "profile_parts.h"

namespace profgate::analysis {
namespace {

void put_times(const region_times& times, json_object& object) {
  object.put("instances_count", times.instances);
  object.put("total_ns", times.total_ns);
  object.put("exclusive_ns", times.self_ns);
  if (times.projected_instances > 0) {
    object.put("projected_ns", times.projected_ns);
  } else {
    object.put_null("projected_ns", "nothing that ran on a GPU was launched inside");
  }
  object.put("projected_instances_count", times.projected_instances);
  object.put("operations_count", times.operations);
}

json process_json(const region_process& process) {
  json_object object;
  object.put("process", std::to_string(process.process_id));
  put_times(process.times, object);
  return object.take();
}

json kernel_json(const region_kernel& kernel) {
  json_object object;
  object.put("kernel_name", kernel.kernel_name);
  object.put("process", std::to_string(kernel.process_id));
  object.put("device", fmt::format("cuda:{}", kernel.device));
  object.put("total_ns", kernel.total_ns);
  object.put("calls_count", kernel.calls);
  object.put("mean_ns", static_cast<double>(kernel.total_ns) / static_cast<double>(kernel.calls));
  object.put("instances_count", kernel.instances);
  return object.take();
}

json region_json(const region& one) {
  json_object object;
  object.put("capture", one.capture);
  object.put_text("domain", one.domain, "it is the default domain");
  object.put("name", one.path.back());
  object.put("path", fmt::format("{}", fmt::join(one.path, "/")));
  object.put("depth_count", one.path.size() - 1);
  put_times(one.times, object);
  object.put("kernel_ns", one.kernel_ns);
  object.put("kernel_calls_count", one.kernel_calls);
  json processes = json::array();
  for (const region_process& process : one.processes) processes.push_back(process_json(process));
  object.put("processes", std::move(processes));
  json kernels = json::array();
  for (const region_kernel& kernel : one.kernels) kernels.push_back(kernel_json(kernel));
  object.put("kernels", std::move(kernels));
  return object.take();
}

json patterns_json(const std::vector<std::string>& patterns) {
  json list = json::array();
  for (const std::string& pattern : patterns) list.push_back(core::to_valid_utf8(pattern));
  return list;
}

}  // namespace

json regions_json(const run_facts& facts, const timeline_figures& figures) {
  json_object object;
  object.put("include_kernels", patterns_json(facts.region_kernels.include));
  object.put("exclude_kernels", patterns_json(facts.region_kernels.exclude));
  json sections = json::array();
  for (const region& one : figures.regions.regions) sections.push_back(region_json(one));
  object.put("sections", std::move(sections));
  object.put("omitted_count", figures.regions.omitted);
  return object.take();
}

}  // namespace profgate::analysis

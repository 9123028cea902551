#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/regions.h"
#include "nesting.h"

namespace profgate::analysis {

/// Sums by region while a timeline is walked. Texts are told apart by where they lie until the sums are taken
/// out, and must outlive it.
class region_tree {
 public:
  explicit region_tree(const kernel_filter& filter) : m_filter(filter) {}

  std::size_t root(std::string_view domain);
  std::size_t child(std::size_t parent, std::string_view name);
  void add(std::size_t index, std::uint32_t process_id, const region_times& times);
  /// `instance` tells one occurrence of the node's range from the next.
  void add_kernel(std::size_t index, std::uint32_t process_id, const core::kernel_execution& kernel,
                  std::uint64_t instance);

  region_list take(const std::string& capture, std::size_t most) const;

 private:
  struct node {
    std::size_t parent;
    std::string_view name;  ///< a root's: its domain
    bool is_root;
    std::map<std::uint32_t, region_times> times{};  ///< by process
    std::vector<std::size_t> children{};
  };
  struct kernel_key {
    std::size_t node;
    std::uint32_t process_id;
    int device;
    std::string_view name;
    bool operator==(const kernel_key& other) const;
  };
  struct kernel_key_hash {
    std::size_t operator()(const kernel_key& key) const;
  };
  struct kernel_sum {
    std::int64_t total_ns = 0;
    std::int64_t calls = 0;
    std::int64_t instances = 0;
    std::uint64_t last_instance = 0;
  };

  std::size_t find_or_add(std::size_t parent, std::string_view name, bool is_root);
  std::int64_t weight_ns(std::size_t index) const;
  /// Whether a node is among the `most` largest regions.
  std::vector<bool> largest(std::size_t most) const;
  std::vector<std::size_t> smallest_first(std::vector<std::size_t> siblings) const;
  region make_region(std::size_t index, const std::string& capture) const;

  const kernel_filter& m_filter;
  std::vector<node> m_nodes;
  std::map<std::pair<std::size_t, std::string_view>, std::size_t> m_by_name;
  std::size_t m_last_parent = 0;  ///< with the two below: what child() found last
  const char* m_last_name = nullptr;
  std::size_t m_last_child = 0;
  std::unordered_map<kernel_key, kernel_sum, kernel_key_hash> m_kernels;
};

/// As find_regions() of the header, for a timeline that is split already.
region_list find_regions(const core::timeline& timeline, const std::map<thread_key, thread_work>& threads,
                         const std::string& capture, const kernel_filter& filter);

}  // namespace profgate::analysis

#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/timeline_format.h"
#include "core/pools.h"

namespace profgate::parsers {

/// What is in a recording of the embedded collector, its structure checked, its numbers not yet.
struct embedded_file {
  std::string file_name;
  collector::file_header header{};
  std::vector<collector::range_record> ranges;
  std::vector<collector::kernel_record> kernels;
  std::vector<collector::copy_record> copies;
  std::vector<collector::call_record> calls;
  std::vector<collector::graph_node_record> graph_nodes;
  std::vector<collector::code_hash_record> code_hashes;
  core::text_pool texts;
  std::unordered_map<std::uint32_t, std::string_view> strings;  ///< by id, valid UTF-8

  [[noreturn]] void fail(const std::string& what) const;
  /// `whose` for the error: "a range's name".
  std::string_view string_of(std::uint32_t id, std::string_view whose) const;
};

/// Anything that is not whole: bad_input.
embedded_file read_embedded_file(const std::filesystem::path& file);

}  // namespace profgate::parsers

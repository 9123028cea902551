#pragma once

#include <string>
#include <string_view>
#include <vector>

/// JSON with the line of every value: a run set lies in git, is merged and looked at by people, so what is
/// wrong with it must be named by its line.
namespace profgate::baselines {

enum class json_kind { null, boolean, number, text, array, object };

struct json_member;

struct json_node {
  json_kind kind = json_kind::null;
  int line = 1;
  std::string text{};  ///< of a text, decoded; of a number or a truth value, as it was written
  std::vector<json_node> items;
  std::vector<json_member> members;
};

struct json_member {
  std::string key{};
  json_node content{};
};

/// One document, strictly: no comments, no duplicate keys, valid UTF-8, at most 16 levels deep. The markers
/// of an unfinished merge are named as such. Everything else is a bad_input with the line and `remedy`.
json_node parse_json(std::string_view text, const std::string& file, const std::string& remedy);

/// The content alone: keys sorted, no white space, numbers as they were written. `without`: a member of the
/// outermost object that is left out.
std::string canonical_text(const json_node& node, std::string_view without = {});

/// In quotes, with everything escaped that must be; bytes that are not UTF-8 are replaced.
std::string json_quoted(std::string_view text);

}  // namespace profgate::baselines

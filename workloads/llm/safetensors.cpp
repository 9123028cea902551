#include "llm/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "llm/failure.h"

// Layout: a 64-bit little-endian header length, a JSON header of that length, then the data. The header maps
// each tensor's name to its dtype, shape and [begin, end) in the data.
namespace profgate::llm {
namespace {

using nlohmann::json;

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t largest_header_bytes = 100'000'000;  // the format's own limit

struct dtype_row {
  const char* name;
  tensor_dtype dtype;
  std::uint64_t bits;
};
constexpr dtype_row dtypes[] = {
    {"F32", tensor_dtype::f32, 32},      {"F16", tensor_dtype::f16, 16},
    {"BF16", tensor_dtype::bf16, 16},    {"F64", tensor_dtype::other, 64},
    {"I64", tensor_dtype::other, 64},    {"U64", tensor_dtype::other, 64},
    {"I32", tensor_dtype::other, 32},    {"U32", tensor_dtype::other, 32},
    {"I16", tensor_dtype::other, 16},    {"U16", tensor_dtype::other, 16},
    {"I8", tensor_dtype::other, 8},      {"U8", tensor_dtype::other, 8},
    {"BOOL", tensor_dtype::other, 8},    {"F8_E4M3", tensor_dtype::other, 8},
    {"F8_E5M2", tensor_dtype::other, 8},
};

class header_parser {
 public:
  header_parser(std::span<const std::byte> file, const std::string& file_name)
      : m_file(file), m_file_name(file_name) {}

  safetensors_index parse() {
    const json header = read_header();
    safetensors_index index;
    for (const auto& [name, description] : header.items())
      if (name != "__metadata__") index.emplace(name, read_entry(name, description));
    require_disjoint(index);
    return index;
  }

 private:
  failure corrupt(const std::string& what_is_wrong) const {
    return bad_input(m_file_name + ": " + what_is_wrong, "fetch the checkpoint again; the file is damaged");
  }
  failure corrupt_tensor(const std::string& tensor, const std::string& what_is_wrong) const {
    return corrupt("tensor '" + tensor + "' " + what_is_wrong);
  }

  json read_header() {
    if (m_file.size() < length_bytes) throw corrupt("truncated: no room for the 8-byte header length");
    std::uint64_t header_bytes = 0;
    for (unsigned i = 0; i < length_bytes; ++i)
      header_bytes |= std::to_integer<std::uint64_t>(m_file[i]) << (8 * i);
    if (header_bytes > largest_header_bytes)
      throw corrupt("the header length " + std::to_string(header_bytes) + " is absurd (the format allows " +
                    std::to_string(largest_header_bytes) + ")");
    if (header_bytes > m_file.size() - length_bytes)
      throw corrupt("truncated: the header should have " + std::to_string(header_bytes) +
                    " bytes, the file has " + std::to_string(m_file.size() - length_bytes) +
                    " after its length");
    m_data_begin = length_bytes + header_bytes;

    // The parser would keep only the last of two equal keys.
    std::set<std::string> names;
    std::optional<std::string> duplicate;
    const auto note_duplicate = [&](int depth, json::parse_event_t event, const json& parsed) {
      if (event == json::parse_event_t::key && depth == 1 && !names.insert(parsed.get<std::string>()).second)
        duplicate = parsed.get<std::string>();
      return true;
    };
    const auto* text = reinterpret_cast<const char*>(m_file.data()) + length_bytes;
    json header = json::parse(text, text + header_bytes, note_duplicate, false);
    if (header.is_discarded()) throw corrupt("the header is not JSON");
    if (!header.is_object()) throw corrupt("the header is not a JSON object");
    if (duplicate) throw corrupt_tensor(*duplicate, "is listed twice");
    return header;
  }

  safetensors_entry read_entry(const std::string& name, const json& description) const {
    if (!description.is_object()) throw corrupt_tensor(name, "is not described by an object");
    const auto dtype = description.find("dtype");
    if (dtype == description.end() || !dtype->is_string()) throw corrupt_tensor(name, "has no dtype");
    safetensors_entry entry;
    entry.dtype_name = dtype->get<std::string>();
    const auto* row = std::find_if(std::begin(dtypes), std::end(dtypes),
                                   [&](const dtype_row& known) { return known.name == entry.dtype_name; });
    if (row == std::end(dtypes))
      throw corrupt_tensor(name, "has the unknown dtype '" + entry.dtype_name + "'");
    entry.dtype = row->dtype;
    entry.dims = read_dims(name, description);
    read_offsets(name, description, entry);
    require_size(name, entry, row->bits / 8);
    return entry;
  }

  std::vector<std::int64_t> read_dims(const std::string& name, const json& description) const {
    const auto shape = description.find("shape");
    if (shape == description.end() || !shape->is_array()) throw corrupt_tensor(name, "has no shape");
    std::vector<std::int64_t> dims;
    for (const auto& dim : *shape) {
      if (!dim.is_number_unsigned() || dim.get<std::uint64_t>() > INT64_MAX)
        throw corrupt_tensor(name, "has a dimension that is not a size");
      dims.push_back(dim.get<std::int64_t>());
    }
    return dims;
  }

  void read_offsets(const std::string& name, const json& description, safetensors_entry& entry) const {
    const auto offsets = description.find("data_offsets");
    const bool pair = offsets != description.end() && offsets->is_array() && offsets->size() == 2 &&
                      (*offsets)[0].is_number_unsigned() && (*offsets)[1].is_number_unsigned();
    if (!pair) throw corrupt_tensor(name, "has no data_offsets of two sizes");
    const auto begin = (*offsets)[0].get<std::uint64_t>();
    const auto end = (*offsets)[1].get<std::uint64_t>();
    if (begin > end) throw corrupt_tensor(name, "ends before it begins");
    const std::uint64_t data_bytes = m_file.size() - m_data_begin;
    if (end > data_bytes)
      throw corrupt_tensor(name, "ends at byte " + std::to_string(end) + " of the data, which has " +
                                     std::to_string(data_bytes) +
                                     ": the file is truncated or the offset wrong");
    entry.begin = m_data_begin + begin;
    entry.end = m_data_begin + end;
  }

  void require_size(const std::string& name, const safetensors_entry& entry,
                    std::uint64_t element_bytes) const {
    std::uint64_t bytes = element_bytes;
    for (const auto dim : entry.dims)
      if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dim), &bytes))
        throw corrupt_tensor(name, "has a shape whose size overflows 64 bits");
    if (bytes != entry.end - entry.begin)
      throw corrupt_tensor(name, "has " + std::to_string(entry.end - entry.begin) +
                                     " bytes, its shape and dtype need " + std::to_string(bytes));
  }

  void require_disjoint(const safetensors_index& index) const {
    std::vector<const safetensors_index::value_type*> by_begin;
    for (const auto& item : index)
      if (item.second.begin != item.second.end) by_begin.push_back(&item);
    std::sort(by_begin.begin(), by_begin.end(),
              [](const auto* a, const auto* b) { return a->second.begin < b->second.begin; });
    for (std::size_t i = 1; i < by_begin.size(); ++i)
      if (by_begin[i]->second.begin < by_begin[i - 1]->second.end)
        throw corrupt_tensor(by_begin[i]->first, "overlaps tensor '" + by_begin[i - 1]->first + "'");
  }

  std::span<const std::byte> m_file;
  const std::string& m_file_name;
  std::uint64_t m_data_begin = 0;
};

}  // namespace

safetensors_index parse_safetensors(std::span<const std::byte> file, const std::string& file_name) {
  return header_parser(file, file_name).parse();
}

}  // namespace profgate::llm

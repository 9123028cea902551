#include <cmath>
#include <string_view>

#include "image_formats.h"
#include "vision/vision_shape.h"

namespace profgate::llm::vision {
namespace {

/// The words of a PPM's header, one after the other.
class ppm_header {
 public:
  ppm_header(std::string_view text, const std::string& file_name) : m_text(text), m_file_name(file_name) {}

  /// The next number, after blanks and comments.
  std::int64_t number(const char* name) {
    skip_blanks();
    constexpr std::int64_t most = 99'999'999'999'999'999;
    std::int64_t value = 0;
    const std::size_t begin = m_next;
    for (; m_next < m_text.size() && m_text[m_next] >= '0' && m_text[m_next] <= '9'; ++m_next) {
      value = 10 * value + (m_text[m_next] - '0');
      if (value > most) throw broken(std::string("its ") + name + " has more than 17 digits");
    }
    if (m_next == begin) throw broken(std::string("its header has no ") + name);
    return value;
  }

  /// What follows the one blank that ends the header.
  std::string_view rest() const {
    if (m_next == m_text.size() || !is_blank(m_text[m_next])) throw broken("no blank after the header");
    return m_text.substr(m_next + 1);
  }

  failure broken(const std::string& what_is_wrong) const { return broken_image(m_file_name, what_is_wrong); }

 private:
  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  void skip_blanks() {
    for (bool in_comment = false; m_next < m_text.size(); ++m_next) {
      const char c = m_text[m_next];
      if (c == '#') in_comment = true;
      if (c == '\n' || c == '\r') in_comment = false;
      if (!in_comment && !is_blank(c)) return;
    }
  }

  std::string_view m_text;
  std::string m_file_name;
  std::size_t m_next = 2;  // after P5 or P6
};

}  // namespace

image parse_ppm(std::span<const std::byte> file, const std::string& file_name) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const bool grey = text.starts_with("P5");
  if (!grey && !text.starts_with("P6")) throw broken_image(file_name, "neither P6 nor P5 opens the file");
  ppm_header header(text, file_name);
  const std::int64_t width = header.number("width");
  const std::int64_t height = header.number("height");
  const std::int64_t largest_value = header.number("largest value");
  if (largest_value < 1 || largest_value > 255)
    throw bad_input(file_name + ": its largest value is " + std::to_string(largest_value),
                    "give an image of 8 bits a channel, with a largest value of 1 to 255");
  const std::string_view samples = header.rest();
  if (is_image_size(width, height)) {
    const auto wanted = static_cast<std::size_t>(width * height * (grey ? 1 : color_channels));
    if (samples.size() < wanted)
      throw broken_image(file_name, "the file ends after " + std::to_string(samples.size()) + " of " +
                                        std::to_string(wanted) + " bytes of pixels");
  }
  image parsed = allocate_image(width, height, file_name);  // and refuses other sizes

  std::uint8_t scaled[256];  // as Pillow has it: to the nearest, of two the even one
  for (int value = 0; value < 256; ++value)
    scaled[value] = static_cast<std::uint8_t>(std::fmin(
        255.0, std::nearbyint(static_cast<double>(value) / static_cast<double>(largest_value) * 255.0)));
  const auto channels = static_cast<std::size_t>(color_channels);
  for (std::size_t i = 0; i < parsed.rgb.size(); ++i)
    parsed.rgb[i] = scaled[static_cast<std::uint8_t>(samples[grey ? i / channels : i])];
  return parsed;
}

}  // namespace profgate::llm::vision

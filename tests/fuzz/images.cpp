// What the vision encoder is shown.
#include <cstdlib>
#include <span>

#include "fuzz_targets.h"
#include "vision/image.h"

namespace profgate::fuzz {

/// An image has all its pixels, and none that the file does not have.
void read_ppm(std::string_view bytes) {
  const auto read = llm::vision::parse_ppm(std::as_bytes(std::span(bytes)), "fuzz");
  const auto pixels = read.rgb.size() / 3;
  if (read.width < 1 || read.height < 1 || pixels != static_cast<std::size_t>(read.width * read.height) ||
      pixels > bytes.size())
    std::abort();
}

}  // namespace profgate::fuzz

#include "image_formats.h"

namespace profgate::llm::vision {

image decode_png(std::span<const std::byte>, const std::string& file_name) {
  throw bad_input(file_name + ": a PNG, which this build cannot read",
                  "convert it to PPM, or build with libpng (Debian: libpng-dev)");
}

}  // namespace profgate::llm::vision

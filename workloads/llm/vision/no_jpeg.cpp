#include "image_formats.h"

namespace profgate::llm::vision {

image decode_jpeg(std::span<const std::byte>, const std::string& file_name) {
  throw bad_input(file_name + ": a JPEG, which this build cannot read",
                  "convert it to PPM, or build with libjpeg-turbo (Debian: libjpeg62-turbo-dev)");
}

}  // namespace profgate::llm::vision

#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "llm/failure.h"
#include "vision/image.h"

// What read_image knows besides PPM. Sources of a build without the library throw.
namespace profgate::llm::vision {

image decode_png(std::span<const std::byte> file, const std::string& file_name);
image decode_jpeg(std::span<const std::byte> file, const std::string& file_name);

/// A file that is not what it claims to be.
inline failure broken_image(const std::string& file_name, const std::string& what_is_wrong) {
  return bad_input(file_name + ": " + what_is_wrong, "give a whole image, or make this one anew");
}

/// An image of a size that none may have; a library may read less than largest_side.
failure refused_size(std::int64_t width, std::int64_t height, const std::string& file_name,
                     std::int64_t longest_side = largest_side);

/// Room for an image of this size; throws bad_input before anything is allocated that no file may ask for.
image allocate_image(std::int64_t width, std::int64_t height, const std::string& file_name);

}  // namespace profgate::llm::vision

#include "vision/image.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "vision_support.h"

namespace profgate::llm::vision {
namespace {

using llm::testing_support::expect_bad_input;
using llm::testing_support::read_text;
using llm::testing_support::temporary_directory;
using octets = std::vector<std::uint8_t>;

std::string recorded(const std::string& name) {
  return PROFGATE_TEST_DATA "/images/" + name;
}

/// Pixels given as octets of a string.
image read_text_as_image(const std::string& text) {
  const temporary_directory folder;
  return read_image(folder.write("image", text));
}

octets pixel(const image& of, std::size_t index) {
  const auto first = of.rgb.begin() + static_cast<std::ptrdiff_t>(3 * index);
  return {first, first + 3};
}

/// What is refused, and how.
void expect_refused(const std::string& content, const std::string& words) {
  SCOPED_TRACE(content.substr(0, 40));
  expect_bad_input(words, [&] { read_text_as_image(content); });
}

TEST(ppm, colours_and_comments) {
  const auto read = read_text_as_image("P6 #a\n2# width\n\t1\r\n# 255 too\n255\nABCxyz and what follows");
  EXPECT_EQ(read.width, 2);
  EXPECT_EQ(read.height, 1);
  EXPECT_EQ(read.rgb, (octets{'A', 'B', 'C', 'x', 'y', 'z'}));
}

TEST(ppm, grey_becomes_three_channels) {
  const auto read = read_text_as_image("P5\n1 2\n255\n\n#");  // neither is a blank or a comment any more
  EXPECT_EQ(read.width, 1);
  EXPECT_EQ(read.height, 2);
  EXPECT_EQ(read.rgb, (octets{10, 10, 10, '#', '#', '#'}));
}

TEST(ppm, smaller_ranges_are_stretched_as_pillow_stretches_them) {
  const auto read = read_text_as_image(std::string("P5 8 1 6 \x00\x01\x02\x03\x04\x05\x06\xff", 17));
  const octets grey = {0, 42, 85, 128, 170, 212, 255, 255};  // 42.5 and 127.5 go to the even neighbour
  for (std::size_t i = 0; i < grey.size(); ++i) EXPECT_EQ(pixel(read, i), octets(3, grey[i])) << i;
}

TEST(ppm, broken_ones_are_named) {
  expect_refused("P6\n2 2\n255\n12345678901", "image: the file ends after 11 of 12 bytes of pixels");
  expect_refused("P5\n2 2\n255\n123", "ends after 3 of 4 bytes");
  expect_refused("P6\n2 2\n255", "no blank after the header");
  expect_refused("P6\n2 2\n255x", "no blank after the header");
  expect_refused("P6\n2 2 # 255", "no largest value");
  expect_refused("P6\n2\n-2\n255\n", "no height");
  expect_refused("P6", "no width");
  expect_refused("P6\n0 2\n255\n", "0 x 2 pixels");
  expect_refused("P6\n2 2\n0\n123456789012", "its largest value is 0");
  expect_refused("P6\n2 2\n65535\n123456789012", "its largest value is 65535");
  // Refused before anything is allocated for them.
  expect_refused("P6\n67108864 67108864\n255\n", "67108864 x 67108864 pixels");
  expect_refused("P6\n8193 8192\n255\n", "8193 x 8192 pixels");
  expect_refused("P6\n1000000000 1000000000\n255\nabc", "1000000000 x 1000000000 pixels");
  expect_refused("P6\n99999999999999999999999999 1\n255\n", "its width has more than 17 digits");
}

TEST(read_image, other_types_are_named) {
  expect_refused("P3\n1 1\n255\n1 2 3\n", "neither PPM (P6), PGM (P5), PNG nor JPEG");
  expect_refused("GIF89a", "neither PPM (P6), PGM (P5), PNG nor JPEG");
}

TEST(read_image, what_is_no_file_is_named) {
  const temporary_directory folder;
  const auto refused = [&](const std::string& name, const std::string& words) {
    expect_bad_input(folder.file(name) + ": " + words, [&] { read_image(folder.file(name)); });
  };
  folder.write("empty", "");
  refused("empty", "the file is empty");
  refused("absent", "cannot open: No such file or directory");
  std::filesystem::create_directory(folder.file("directory"));
  refused("directory", "a directory, not an image");
  std::filesystem::create_symlink("nowhere", folder.file("link"));
  refused("link", "a link to a file that is not there");
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  refused("pipe", "not a regular file");
  folder.write("huge", "P6\n");
  std::filesystem::resize_file(folder.file("huge"), std::uintmax_t{1} << 30U);
  refused("huge", "the file has 1073741824 bytes");
}

/// Whether this build cannot read the format; then reading the file says so.
bool is_left_out(const std::string& format, const std::string& file) {
  if (std::string(PROFGATE_TEST_FORMATS).find(format) != std::string::npos) return false;
  expect_bad_input("which this build cannot read", [&] { read_image(recorded(file)); });
  return true;
}

image gradient() {
  image made{5, 4, {}};
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 5; ++x)
      for (const int value : {x * 50, y * 60, x * 7 + y * 31})
        made.rgb.push_back(static_cast<std::uint8_t>(value));
  return made;
}

TEST(png, every_kind_becomes_rgb) {
  if (is_left_out("png", "gradient.png")) return;
  const auto plain = read_image(recorded("gradient.png"));
  EXPECT_EQ(plain.width, 5);
  EXPECT_EQ(plain.height, 4);
  EXPECT_EQ(plain.rgb, gradient().rgb);
  EXPECT_EQ(read_image(recorded("alpha.png")).rgb, gradient().rgb);  // alpha is dropped, nothing blended
  const auto grey = read_image(recorded("grey.png"));
  EXPECT_EQ(pixel(grey, 0), octets(3, 0));
  EXPECT_EQ(pixel(grey, 19), octets(3, 179));
  const auto palette = read_image(recorded("palette.png"));  // of 2 bits
  EXPECT_EQ(pixel(palette, 0), (octets{100, 0, 14}));
  EXPECT_EQ(pixel(palette, 19), (octets{150, 150, 99}));
  expect_bad_input("outside.png: a broken PNG: a pixel has the colour 7, its palette ends at 1",
                   [] { read_image(recorded("outside.png")); });
}

TEST(png, broken_ones_are_named) {
  if (is_left_out("png", "gradient.png")) return;
  const auto whole = read_text(recorded("gradient.png"));
  for (std::size_t length = 8; length < whole.size(); ++length)
    expect_refused(whole.substr(0, length), "PNG: ");
  auto damaged = whole;
  damaged[45] = static_cast<char>(damaged[45] ^ 0x10);  // in its pixels: the checksum tells
  expect_refused(damaged, "a broken PNG: ");
  // A header with its own checksum.
  expect_refused(
      std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\1\0\0\0\1\0\0\x08\2\0\0\0\xe3\xe6\xa7\xb4", 33) +
          whole.substr(33),
      "65536 x 65536 pixels");
  const auto resized = [&](const std::string& width, const std::string& height) {
    return std::string(whole).replace(16, 8, width + height);
  };
  const std::string huge = "\x3b\x9a\xca" + std::string(1, '\0');
  expect_refused(resized(huge, huge), "1000000000 x 1000000000 pixels");
  expect_refused(resized(std::string(4, '\0'), huge), "0 x 1000000000 pixels");
}

TEST(jpeg, comes_out_as_pillow_has_it) {
  if (is_left_out("jpeg", "gradient.jpg")) return;
  const auto read = read_image(recorded("gradient.jpg"));
  EXPECT_EQ(read.width, 5);
  EXPECT_EQ(read.height, 4);
  ASSERT_EQ(read.rgb.size(), 60U);
  const std::pair<std::size_t, octets> known[] = {{0, {6, 6, 0}}, {19, {198, 169, 139}}};
  for (const auto& [index, expected] : known)  // decoders differ in how they round
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(pixel(read, index)[c], expected[c], 3) << index;
}

TEST(jpeg, broken_ones_are_named) {
  if (is_left_out("jpeg", "gradient.jpg")) return;
  const auto whole = read_text(recorded("gradient.jpg"));
  for (std::size_t length = 3; length + 2 < whole.size(); length += 7)
    expect_refused(whole.substr(0, length), "JPEG: ");
  auto longer = whole;
  longer.insert(20, "more");  // between two segments
  expect_refused(longer, "a broken JPEG: Corrupt JPEG data: 4 extraneous bytes before marker 0xdb");
  auto damaged = whole;
  damaged.replace(293, 16, 16, '\xfe');  // its pixels: no code is of ones alone
  expect_refused(damaged, "a broken JPEG: Corrupt JPEG data: bad Huffman code");
  auto enormous = whole;
  enormous.replace(163, 4, "\xff\xdc\xff\xdc");  // height and width
  expect_refused(enormous, "65500 x 65500 pixels");
  enormous.replace(163, 4, "\xff\xff\xff\xfe");
  expect_refused(enormous, "65534 x 65535 pixels");
}

TEST(read_image, a_size_is_refused_with_those_there_may_be) {
  const temporary_directory folder;
  const auto remedy_of = [&](const std::string& content) {
    return llm::testing_support::failure_of([&] { read_image(folder.write("image", content)); }).remedy();
  };
  EXPECT_EQ(remedy_of("P6\n1000000000 1000000000\n255\nabc"),
            "give a smaller one: sides are 1 to 65535, with at most 67108864 pixels in all");
  EXPECT_EQ(remedy_of("P6\n0 2\n255\n"),
            "give an image that has some: sides are 1 to 65535, with at most 67108864 pixels in all");
  if (is_left_out("jpeg", "gradient.jpg")) return;
  const auto whole = read_text(recorded("gradient.jpg"));
  EXPECT_THAT(remedy_of(std::string(whole).replace(163, 4, "\xff\xff\xff\xff")),
              ::testing::HasSubstr("sides are 1 to 65500"));
}

TEST(synthetic_image, is_made_by_the_formula) {
  const auto made = synthetic_image(7, 3, 2);
  EXPECT_EQ(made.width, 3);
  EXPECT_EQ(made.height, 2);
  EXPECT_EQ(made.rgb.size(), 18U);
  EXPECT_EQ(made.rgb, synthetic_image(7, 3, 2).rgb);
  EXPECT_NE(made.rgb, synthetic_image(8, 3, 2).rgb);
  EXPECT_EQ((octets(made.rgb.begin(), made.rgb.begin() + 4)), (octets{27, 169, 239, 22}));
  expect_bad_input("a synthetic image of 0x5 pixels", [] { synthetic_image(1, 0, 5); });
  expect_bad_input("a synthetic image of 100000x100000 pixels", [] { synthetic_image(1, 100000, 100000); });
}

}  // namespace
}  // namespace profgate::llm::vision

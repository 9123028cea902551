// An image's views as the GPU makes them, bit for bit those of the CPU, which are Pillow's.
#include "cuda_preprocessor.h"

#include <gmock/gmock.h>

#include "llm/failure.h"
#include "vision/image.h"
#include "vision_on_gpu.h"

namespace profgate::llm::cuda {
namespace {

using namespace testing_support;
using vision::vision_mode;
using vision::vision_need;

/// A preprocessor with its memory.
template <typename T>
class preprocessor_on_gpu {
 public:
  preprocessor_on_gpu(const vision_need& need, const queue& to) : m_queue(to) {
    memory_layout counted;
    place_preprocess_buffers<T>(need, counted);
    m_memory = device_memory(counted.bytes_taken());
    PROFGATE_CUDA(cudaMemset(m_memory.bytes(), 0xFF, counted.bytes_taken()));
    PROFGATE_CUDA(cudaDeviceSynchronize());
    memory_layout placed(m_memory.bytes());
    m_buffers = place_preprocess_buffers<T>(need, placed);
    m_preprocessor.emplace(m_buffers, to, m_pool);
  }

  /// All views, one after the other.
  std::vector<float> views_of(const vision::image& original, vision_mode mode, std::size_t value_count) {
    m_preprocessor->prepare(original, mode);
    return floats_at(m_queue, m_buffers.views, value_count);
  }

 private:
  queue m_queue;
  thread_pool m_pool{2};
  device_memory m_memory;
  preprocess_buffers<T> m_buffers;
  std::optional<cuda_preprocessor<T>> m_preprocessor;
};

/// Tiles, then the global view, rounded to T.
template <typename T>
std::vector<float> views_on_cpu(const vision::image& original, vision_mode mode) {
  thread_pool pool(2);
  const stage_ranges ranges("test");
  auto prepared = vision::preprocess(original, mode, pool, ranges);
  prepared.tiles.push_back(std::move(prepared.global));
  std::vector<float> values;
  for (const auto& view : prepared.tiles)
    for (const float value : view) values.push_back(static_cast<float>(T(value)));
  return values;
}

vision_need need_of(const std::vector<vision_need::picture>& pictures) {
  vision_need need;
  need.pictures = pictures;
  need.image_sizes = {512, 640, 1024, 1280};
  for (const auto& [width, height, mode] : pictures)
    need.most_tiles = std::max(need.most_tiles, vision::layout_of(mode, width, height).grid.tiles());
  return need;
}

template <typename T>
class cuda_preprocessor_of : public vision_on_gpu {};
TYPED_TEST_SUITE(cuda_preprocessor_of, both_types, type_names);

TYPED_TEST(cuda_preprocessor_of, small_shapes_makes_the_views_of_the_cpu) {
  std::vector<vision_need::picture> pictures;
  for (const auto mode :
       {vision_mode::tiny, vision_mode::small, vision_mode::base, vision_mode::large, vision_mode::gundam}) {
    pictures.push_back({1, 1, mode});        // one pixel for all
    pictures.push_back({37, 23, mode});      // made larger
    pictures.push_back({701, 499, mode});    // larger one way, smaller another
    pictures.push_back({1240, 1754, mode});  // a page
    pictures.push_back({640, 640, mode});    // as it is where a square is 640
    pictures.push_back({1024, 300, mode});   // rows as they are
    pictures.push_back({333, 1280, mode});   // columns as they are
    pictures.push_back({2999, 61, mode});    // nine tiles in a row
    pictures.push_back({2111, 2113, mode});  // nine tiles in a square, odd sides
  }
  preprocessor_on_gpu<TypeParam> on_gpu(need_of(pictures), this->m_queue);
  for (const auto& [width, height, mode] : pictures) {
    const auto original = vision::synthetic_image(width + height, width, height);
    const auto expected = views_on_cpu<TypeParam>(original, mode);
    const auto actual = on_gpu.views_of(original, mode, expected.size());
    const auto differing = std::mismatch(actual.begin(), actual.end(), expected.begin());
    EXPECT_TRUE(differing.first == actual.end()) << width << " x " << height << ", " << vision::text_of(mode)
                                                 << ": value " << differing.first - actual.begin() << " is "
                                                 << *differing.first << " instead of " << *differing.second;
  }
}

TYPED_TEST(cuda_preprocessor_of, small_shapes_refuses_images_that_it_has_no_room_for) {
  preprocessor_on_gpu<TypeParam> on_gpu(need_of({{100, 80, vision_mode::base}}), this->m_queue);
  try {
    on_gpu.views_of(vision::synthetic_image(1, 100, 81), vision_mode::base, 1);
    ADD_FAILURE() << "nothing was refused";
  } catch (const failure& problem) {
    EXPECT_EQ(problem.code(), exit_code::bad_input);
    EXPECT_THAT(problem.what(), ::testing::HasSubstr("an image of 100 x 81 pixels"));
  }
}

}  // namespace
}  // namespace profgate::llm::cuda

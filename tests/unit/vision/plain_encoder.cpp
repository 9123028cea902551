#include "plain_encoder.h"

#include <cmath>
#include <functional>
#include <numeric>

#include "llm/synthetic_weights.h"
#include "llm/thread_pool.h"

namespace profgate::llm::vision::testing_support {
namespace {

using doubles = std::vector<double>;
using sizes = std::vector<std::int64_t>;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

doubles tensor(const std::string& name, const sizes& dims) {
  thread_pool pool(1);
  const tensor_spec spec{name, dims};
  std::vector<float> values(at(spec.elements()));
  fill_synthetic(spec, values, pool);
  return {values.begin(), values.end()};
}

/// x is [rows, in].
doubles linear(const doubles& x, const doubles& weight, const doubles& bias, std::int64_t in) {
  const auto out = static_cast<std::int64_t>(bias.size());
  const auto rows = static_cast<std::int64_t>(x.size()) / in;
  doubles y(at(rows * out));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t o = 0; o < out; ++o) {
      double sum = bias[at(o)];
      for (std::int64_t i = 0; i < in; ++i) sum += x[at(r * in + i)] * weight[at(o * in + i)];
      y[at(r * out + o)] = sum;
    }
  }
  return y;
}

doubles linear(const doubles& x, const std::string& name, std::int64_t out, std::int64_t in) {
  return linear(x, tensor(name + ".weight", {out, in}), tensor(name + ".bias", {out}), in);
}

/// Over the last dimension.
doubles norm(doubles x, const std::string& name, std::int64_t width, double epsilon) {
  const auto weight = tensor(name + ".weight", {width});
  const auto bias = tensor(name + ".bias", {width});
  for (std::size_t row = 0; row < x.size(); row += at(width)) {
    double mean = 0;
    double variance = 0;
    for (std::size_t i = 0; i < at(width); ++i) mean += x[row + i] / static_cast<double>(width);
    for (std::size_t i = 0; i < at(width); ++i)
      variance += (x[row + i] - mean) * (x[row + i] - mean) / static_cast<double>(width);
    for (std::size_t i = 0; i < at(width); ++i)
      x[row + i] = (x[row + i] - mean) / std::sqrt(variance + epsilon) * weight[i] + bias[i];
  }
  return x;
}

void add(doubles& x, const doubles& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += y.at(i);
}

/// A convolution over [side, side, in], with the padding's zeros asked for one by one.
doubles convolve(const doubles& x, const std::string& name, std::int64_t side, std::int64_t in,
                 std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t border) {
  const auto weight = tensor(name + ".weight", {out, in, kernel, kernel});
  doubles y;
  for (std::int64_t row = 0; row + kernel <= side + 2 * border; row += stride)
    for (std::int64_t column = 0; column + kernel <= side + 2 * border; column += stride)
      for (std::int64_t o = 0; o < out; ++o) {
        double sum = 0;
        for (std::int64_t i = 0; i < in; ++i)
          for (std::int64_t a = 0; a < kernel; ++a)
            for (std::int64_t b = 0; b < kernel; ++b) {
              const std::int64_t r = row + a - border;
              const std::int64_t c = column + b - border;
              if (r < 0 || c < 0 || r >= side || c >= side) continue;
              sum += x[at((r * side + c) * in + i)] * weight[at(((o * in + i) * kernel + a) * kernel + b)];
            }
        y.push_back(sum);
      }
  return y;
}

double keys_cubic(double x) {
  x = std::fabs(x);
  if (x >= 2) return 0;
  return x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 : -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2;
}

/// The share of source j in target i; all sources are asked.
double bicubic_share(std::int64_t i, std::int64_t j, std::int64_t from, std::int64_t to) {
  const double ratio = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = ratio > 1 ? ratio : 1;
  const auto raw = [&](std::int64_t k) {
    return keys_cubic((static_cast<double>(k) + 0.5 - (static_cast<double>(i) + 0.5) * ratio) / stretch);
  };
  double total = 0;
  for (std::int64_t k = 0; k < from; ++k) total += raw(k);
  return raw(j) / total;
}

doubles bicubic(const doubles& x, std::int64_t from, std::int64_t to, std::int64_t channels) {
  if (from == to) return x;
  doubles y(at(to * to * channels));
  for (std::int64_t r = 0; r < to; ++r)
    for (std::int64_t c = 0; c < to; ++c)
      for (std::int64_t a = 0; a < from; ++a)
        for (std::int64_t b = 0; b < from; ++b) {
          const double share = bicubic_share(r, a, from, to) * bicubic_share(c, b, from, to);
          for (std::int64_t d = 0; d < channels; ++d)
            y[at((r * to + c) * channels + d)] += share * x[at((a * from + b) * channels + d)];
        }
  return y;
}

doubles linear_rows(const doubles& x, std::int64_t from, std::int64_t to, std::int64_t channels) {
  if (from == to) return x;
  doubles y;
  for (std::int64_t i = 0; i < to; ++i) {
    double place =
        (2.0 * static_cast<double>(i) + 1) * static_cast<double>(from) / (2.0 * static_cast<double>(to)) -
        0.5;
    if (place < 0) place = 0;
    const auto low = static_cast<std::int64_t>(std::floor(place));
    const std::int64_t high = low + 1 < from ? low + 1 : low;
    for (std::int64_t d = 0; d < channels; ++d)
      y.push_back(x[at(low * channels + d)] +
                  (place - std::floor(place)) * (x[at(high * channels + d)] - x[at(low * channels + d)]));
  }
  return y;
}

/// Attention among all rows of qkv, [positions, 3 · width]; bias(head, query, key) is added to the scores.
doubles attention(const doubles& qkv, std::int64_t width, std::int64_t heads,
                  const std::function<double(std::int64_t, std::int64_t, std::int64_t)>& bias) {
  const std::int64_t dim = width / heads;
  const auto positions = static_cast<std::int64_t>(qkv.size()) / (3 * width);
  doubles out(at(positions * width));
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t q = 0; q < positions; ++q) {
      doubles weights;
      for (std::int64_t k = 0; k < positions; ++k) {
        double score = 0;
        for (std::int64_t d = 0; d < dim; ++d)
          score += qkv[at(q * 3 * width + head * dim + d)] * qkv[at(k * 3 * width + width + head * dim + d)];
        weights.push_back(std::exp(score / std::sqrt(static_cast<double>(dim)) + bias(head, q, k)));
      }
      const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
      for (std::int64_t k = 0; k < positions; ++k)
        for (std::int64_t d = 0; d < dim; ++d)
          out[at(q * width + head * dim + d)] +=
              weights[at(k)] / total * qkv[at(k * 3 * width + 2 * width + head * dim + d)];
    }
  }
  return out;
}

/// Of side x side normed tokens, window by window; zeros fill the last ones up.
doubles windowed_attention(const doubles& normed, const vision_shape& shape, std::int64_t layer,
                           std::int64_t side) {
  const sam_shape& sam = shape.sam;
  const std::string name = "model.sam_model.blocks." + std::to_string(layer) + ".attn.";
  const bool global = layer == 1;
  const std::int64_t window = global ? side : sam.window;
  const std::int64_t dim = sam.width / sam.heads;
  const std::int64_t stored = 2 * (global ? sam.image_size / sam.patch_size : sam.window) - 1;
  const auto rel_h = linear_rows(tensor(name + "rel_pos_h", {stored, dim}), stored, 2 * window - 1, dim);
  const auto rel_w = linear_rows(tensor(name + "rel_pos_w", {stored, dim}), stored, 2 * window - 1, dim);
  doubles out(normed.size());
  for (std::int64_t top = 0; top < side; top += window)
    for (std::int64_t left = 0; left < side; left += window) {
      doubles x(at(window * window * sam.width));
      for (std::int64_t r = 0; r < window; ++r)
        for (std::int64_t c = 0; c < window; ++c)
          for (std::int64_t d = 0; d < sam.width; ++d)
            if (top + r < side && left + c < side)
              x[at((r * window + c) * sam.width + d)] =
                  normed[at(((top + r) * side + left + c) * sam.width + d)];
      const auto qkv = linear(x, name + "qkv", 3 * sam.width, sam.width);
      const auto bias = [&](std::int64_t head, std::int64_t q, std::int64_t k) {
        double sum = 0;
        for (std::int64_t d = 0; d < dim; ++d) {
          const double query = qkv[at(q * 3 * sam.width + head * dim + d)];
          sum += query * rel_h[at((q / window - k / window + window - 1) * dim + d)];
          sum += query * rel_w[at((q % window - k % window + window - 1) * dim + d)];
        }
        return sum;
      };
      const auto y = linear(attention(qkv, sam.width, sam.heads, bias), name + "proj", sam.width, sam.width);
      for (std::int64_t r = 0; r < window; ++r)
        for (std::int64_t c = 0; c < window; ++c)
          for (std::int64_t d = 0; d < sam.width; ++d)
            if (top + r < side && left + c < side)
              out[at(((top + r) * side + left + c) * sam.width + d)] =
                  y[at((r * window + c) * sam.width + d)];
    }
  return out;
}

doubles encode_sam(const vision_shape& shape, const std::vector<float>& pixels, std::int64_t image_size) {
  const sam_shape& sam = shape.sam;
  const std::string name = "model.sam_model.";
  const std::int64_t side = image_size / sam.patch_size;
  const std::int64_t stored = sam.image_size / sam.patch_size;
  doubles image(pixels.size());  // [size, size, 3]
  for (std::size_t i = 0; i < pixels.size(); ++i)
    image[i % at(image_size * image_size) * 3 + i / at(image_size * image_size)] = pixels[i];
  auto x =
      convolve(image, name + "patch_embed.proj", image_size, 3, sam.width, sam.patch_size, sam.patch_size, 0);
  const auto patch_bias = tensor(name + "patch_embed.proj.bias", {sam.width});
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += patch_bias[i % at(sam.width)];
  add(x, bicubic(tensor(name + "pos_embed", {1, stored, stored, sam.width}), stored, side, sam.width));
  for (std::int64_t layer = 0; layer < sam.layers; ++layer) {
    const std::string block = name + "blocks." + std::to_string(layer) + ".";
    add(x, windowed_attention(norm(x, block + "norm1", sam.width, 1e-6), shape, layer, side));
    auto inner =
        linear(norm(x, block + "norm2", sam.width, 1e-6), block + "mlp.lin1", sam.mlp_width, sam.width);
    for (double& value : inner) value *= 0.5 * std::erfc(-value / std::sqrt(2.0));
    add(x, linear(inner, block + "mlp.lin2", sam.width, sam.mlp_width));
  }
  x = norm(convolve(x, name + "neck.0", side, sam.width, sam.neck_width, 1, 1, 0), name + "neck.1",
           sam.neck_width, 1e-6);
  x = norm(convolve(x, name + "neck.2", side, sam.neck_width, sam.neck_width, 3, 1, 1), name + "neck.3",
           sam.neck_width, 1e-6);
  x = convolve(x, name + "net_2", side, sam.neck_width, sam.compressed_widths[0], 3, 2, 1);
  return convolve(x, name + "net_3", (side + 1) / 2, sam.compressed_widths[0], sam.compressed_widths[1], 3, 2,
                  1);
}

doubles encode_clip(const vision_shape& shape, const doubles& patches) {
  const clip_shape& clip = shape.clip;
  const std::string name = "model.vision_model.";
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(patches.size() / at(clip.width))));
  auto x = tensor(name + "embeddings.class_embedding", {clip.width});
  x.insert(x.end(), patches.begin(), patches.end());
  const auto stored = tensor(name + "embeddings.position_embedding.weight",
                             {1 + clip.position_side * clip.position_side, clip.width});
  auto positions = bicubic({stored.begin() + clip.width, stored.end()}, clip.position_side, side, clip.width);
  positions.insert(positions.begin(), stored.begin(), stored.begin() + clip.width);
  add(x, positions);
  x = norm(x, name + "pre_layrnorm", clip.width, 1e-5);
  for (std::int64_t layer = 0; layer < clip.layers; ++layer) {
    const std::string block = name + "transformer.layers." + std::to_string(layer) + ".";
    const auto qkv = linear(norm(x, block + "layer_norm1", clip.width, 1e-5), block + "self_attn.qkv_proj",
                            3 * clip.width, clip.width);
    const auto attended = attention(qkv, clip.width, clip.heads, [](auto...) { return 0.0; });
    add(x, linear(attended, block + "self_attn.out_proj", clip.width, clip.width));
    auto inner = linear(norm(x, block + "layer_norm2", clip.width, 1e-5), block + "mlp.fc1", clip.mlp_width,
                        clip.width);
    for (double& value : inner) value *= 1 / (1 + std::exp(-1.702 * value));
    add(x, linear(inner, block + "mlp.fc2", clip.width, clip.mlp_width));
  }
  return x;
}

}  // namespace

plain_result plain_encode(const vision_shape& shape, const std::vector<float>& pixels,
                          std::int64_t image_size) {
  plain_result result;
  result.sam = encode_sam(shape, pixels, image_size);
  result.clip = encode_clip(shape, result.sam);
  doubles joined;
  for (auto row = 0L; row * shape.clip.width < static_cast<std::int64_t>(result.sam.size()); ++row) {
    const auto width = shape.clip.width;  // of both
    joined.insert(joined.end(), result.clip.begin() + (row + 1) * width,
                  result.clip.begin() + (row + 2) * width);
    joined.insert(joined.end(), result.sam.begin() + row * width, result.sam.begin() + (row + 1) * width);
  }
  result.projected = linear(joined, "model.projector.layers", shape.hidden_size, 2 * shape.clip.width);
  return result;
}

}  // namespace profgate::llm::vision::testing_support

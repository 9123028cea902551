#include "vision/vision_weights.h"

#include <map>
#include <string>

namespace profgate::llm::vision {

vision_weights load_weights(const vision_shape& shape, std::unique_ptr<tensor_source> source) {
  validate(shape);
  std::map<std::string, const float*> loaded;
  for (const auto& spec : tensors_of(shape)) loaded[spec.name] = source->tensor(spec).data();
  return {arrange_tensors<float>(shape, [&](const std::string& name) { return loaded.at(name); }),
          std::move(source)};
}

}  // namespace profgate::llm::vision

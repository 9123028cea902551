// Stands in for cuda/ where the build has no CUDA compiler.
#include "llm/backend.h"
#include "llm/failure.h"

namespace profgate::llm {

std::unique_ptr<backend> make_cuda_backend(const workload_config& /*config*/, const model_shape& /*shape*/,
                                           decoder_capacity /*capacity*/, const stage_ranges& /*ranges*/,
                                           const std::optional<vision::vision_need>& /*vision*/) {
  throw not_possible("this build has no CUDA backend");
}

}  // namespace profgate::llm

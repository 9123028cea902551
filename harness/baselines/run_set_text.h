#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace profgate::baselines {

/// SHA-256 over what a run set's document says, without its own key "content_sha256" and without white space.
std::string content_sha256_of(const nlohmann::json& document);

}  // namespace profgate::baselines

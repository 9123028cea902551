#include "owner_json.h"

#include <nlohmann/json.hpp>

namespace profgate::artifacts {

nlohmann::ordered_json owner_to_json(const process_owner& owner) {
  nlohmann::ordered_json object;
  object["pid"] = owner.pid;
  object["start_ticks"] = owner.start_ticks;
  object["boot_id"] = owner.boot_id;
  object["pid_namespace"] = owner.pid_namespace;
  object["host"] = owner.host;
  return object;
}

process_owner owner_from_json(const nlohmann::json& object) {
  process_owner owner;
  object.at("pid").get_to(owner.pid);
  object.at("start_ticks").get_to(owner.start_ticks);
  object.at("boot_id").get_to(owner.boot_id);
  object.at("pid_namespace").get_to(owner.pid_namespace);
  object.at("host").get_to(owner.host);
  return owner;
}

}  // namespace profgate::artifacts

#pragma once

#include <string>
#include <vector>

#include "config/yaml_tree.h"
#include "groups.h"
#include "overrides.h"

namespace profgate::config {

/// What a file's "defaults:" list says.
struct defaults_list {
  struct choice_of_group {
    const group* target = nullptr;
    group_choice chosen;  ///< may be "${key}"
  };
  std::vector<group_choice> bases;      ///< files of the same group, to lie below this one
  std::vector<choice_of_group> others;  ///< choices for groups after this one
};

/// Takes the list out of `tree`, so that only keys of the schema remain in it.
defaults_list take_defaults(yaml_node& tree, const group& of, const text_source& source);

}  // namespace profgate::config

#include "core/settings.h"

#include <utility>

namespace profgate::core::setting_rows {

setting text(std::string key, std::string default_yaml, std::string description, bool may_be_null) {
  setting row;
  row.key = std::move(key);
  row.nullable = may_be_null;
  row.default_yaml = std::move(default_yaml);
  row.description = std::move(description);
  return row;
}

setting of_kind(value_kind kind, setting row) {
  row.kind = kind;
  return row;
}

setting choice(std::string key, std::string default_yaml, std::vector<std::string> allowed,
               std::string description, bool may_be_null) {
  setting row = text(std::move(key), std::move(default_yaml), std::move(description), may_be_null);
  row.allowed = std::move(allowed);
  return row;
}

setting list(std::string key, std::string default_yaml, std::string description) {
  return of_kind(value_kind::text_list,
                 text(std::move(key), std::move(default_yaml), std::move(description)));
}

setting records(std::string key, std::string default_yaml, std::vector<std::string> fields,
                std::string description) {
  return of_kind(value_kind::record_list,
                 choice(std::move(key), std::move(default_yaml), std::move(fields), std::move(description)));
}

setting flag(std::string key, std::string default_yaml, std::string description, bool may_be_null) {
  return of_kind(value_kind::boolean,
                 text(std::move(key), std::move(default_yaml), std::move(description), may_be_null));
}

setting integer(std::string key, std::string default_yaml, double minimum, double maximum,
                std::string description, bool may_be_null) {
  setting row = of_kind(value_kind::integer,
                        text(std::move(key), std::move(default_yaml), std::move(description), may_be_null));
  row.minimum = minimum;
  row.maximum = maximum;
  return row;
}

setting number(std::string key, double minimum, double maximum, std::string description) {
  setting row = integer(std::move(key), "null", minimum, maximum, std::move(description), nullable);
  row.kind = value_kind::number;
  return row;
}

setting ratio(std::string key, std::string default_yaml, std::string description) {
  setting row = integer(std::move(key), std::move(default_yaml), 0, 1, std::move(description));
  row.kind = value_kind::number;
  return row;
}

}  // namespace profgate::core::setting_rows

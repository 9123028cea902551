#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "core/file_lock.h"
#include "progress.h"

namespace profgate::cli {

/// One measurement at a time on this machine, whoever's it is: two at once would time each other. CTest keeps
/// the steps of one build folder apart; this one also those of another ctest, and commands beside it.
class measuring_turn {
 public:
  /// Waits until nobody else measures, and says for whom it waits. A profgate that was started by what is
  /// measured (the environment tells it) has its turn already.
  explicit measuring_turn(progress& display);
  ~measuring_turn();
  /// How long it took until the turn came.
  std::chrono::duration<double> waited() const { return m_waited; }
  measuring_turn(const measuring_turn&) = delete;
  measuring_turn& operator=(const measuring_turn&) = delete;

 private:
  std::optional<core::file_lock> m_lock;
  std::chrono::duration<double> m_waited{0};
};

/// "process 4711 of user 0 (profgate step stage1)": for whom a turn would wait now. Nothing: for nobody.
std::optional<std::string> whoever_measures();

}  // namespace profgate::cli

#pragma once

#include <filesystem>
#include <string>

#include "../artifacts/test_folder.h"
#include "../gate/made_runs.h"
#include "baselines/baseline_store.h"
#include "baselines/run_set_file.h"

namespace profgate::baselines {

using artifacts::error_of;
using gate::made_later;
using gate::made_process;
using gate::made_runs;
using gate::today;

/// A test with a store of baselines of its own, and a history beside it.
class store_test : public artifacts::folder_test {
 protected:
  accept_request request(const std::string& reason = "first build") const {
    return {m_store, m_history, reason, "Ada <ada@example.org>", std::nullopt, 8};
  }

  static stored_run_set runs_of(gate::run_set runs, std::string run_id = "") {
    return {std::move(run_id), std::move(runs), {}, ""};
  }

  std::filesystem::path m_store = folder() / "baselines";
  std::filesystem::path m_history = folder() / "history.db";
};

}  // namespace profgate::baselines

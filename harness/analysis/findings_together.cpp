#include <algorithm>

#include "findings_parts.h"

/// What a stage's recommendations save together. They are upper bounds, and some tell of the same time: what
/// the stage is busy above its roof holds that of each kernel, a kernel's row holds what its experts or its
/// neighbours wait for. Each such time counts once; where two rows share a part that nothing tells, both
/// count, so that the sum stays an upper bound.
namespace profgate::analysis {
namespace {

constexpr double order_of_sum_ratio =
    1e-9;  ///< what lies above a roof may be a sum of rows, in another order

class rows_of_stage {
 public:
  rows_of_stage(const std::vector<recommendation>& rows, const std::string& stage) {
    for (const recommendation& row : rows) {
      // Less work lowers the roof that bounds the others: no sum holds both.
      if (row.stage != stage || row.from == saved_time::other_arithmetic) continue;
      if (row.saves_at_most_ns) m_known.push_back(&row);
      if (!row.saves_at_most_ns && row.from != saved_time::none) m_has_unknown = true;
    }
  }

  const std::vector<const recommendation*>& known() const { return m_known; }
  bool has_unknown() const { return m_has_unknown; }

  template <class Predicate>
  double sum_ns(saved_time from, Predicate counts) const {
    double sum = 0;
    for (const recommendation* row : m_known)
      if (row->from == from && counts(*row)) sum += *row->saves_at_most_ns;
    return sum;
  }
  double sum_ns(saved_time from) const {
    return sum_ns(from, [](const recommendation&) { return true; });
  }

  /// What the rows about single kernels have of its time already, at least. Of neighbours the longest stays:
  /// what is won of it is another time.
  double in_rows_of_kernels_ns(const recommendation& row) const {
    if (row.from == saved_time::some_kernels)
      return sum_ns(saved_time::one_kernel,
                    [&](const recommendation& one) { return one.op_name == row.op_name; });
    double sum = 0;
    for (const fused_kernel& fused : row.fused) {
      const double in_rows_ns = sum_ns(saved_time::one_kernel, [&](const recommendation& one) {
        return one.kernel_name == fused.kernel_name && one.op_name == fused.op_name;
      });
      sum += std::max(0.0, in_rows_ns - fused.stays_ns);
    }
    return sum;
  }

 private:
  std::vector<const recommendation*> m_known;
  bool m_has_unknown = false;
};

double together_ns(const rows_of_stage& rows, const stage_figures& stage) {
  const double idle_ns = rows.sum_ns(saved_time::idle);
  const double of_kernels_ns = rows.sum_ns(saved_time::one_kernel);
  const double busy_ns = rows.sum_ns(saved_time::all_kernels);
  if (busy_ns > 0) {
    // Neighbours lie in what the stage is busy, and the time between them in what it idles.
    const double gaps_ns =
        std::min(rows.sum_ns(saved_time::kernels_and_gaps), stage.idle ? stage.idle->idle_ns : 0.0);
    return std::max(busy_ns, of_kernels_ns) + std::max(idle_ns, gaps_ns);
  }
  double sum_ns = idle_ns + of_kernels_ns;
  for (const recommendation* row : rows.known()) {
    if (row->from != saved_time::some_kernels && row->from != saved_time::kernels_and_gaps) continue;
    sum_ns += std::max(0.0, *row->saves_at_most_ns - rows.in_rows_of_kernels_ns(*row));
  }
  return sum_ns;
}

/// Of a time of which all rows are shares; else there is none.
measured<double> ratio_together(const std::vector<const recommendation*>& rows, double saved_ns) {
  const recommendation& first = *rows.front();
  const bool are_alike = std::all_of(rows.begin(), rows.end(), [&](const recommendation* row) {
    return row->ratio_of == first.ratio_of && row->saves_at_most_ratio;
  });
  if (!are_alike) return measured<double>::absent("its recommendations are shares of different times");
  if (*first.saves_at_most_ns <= 0) return measured<double>::absent("nothing can be saved");
  return saved_ns * (*first.saves_at_most_ratio / *first.saves_at_most_ns);
}

}  // namespace

std::vector<stage_saving> savings_together(const run_figures& figures,
                                           const std::vector<recommendation>& rows) {
  std::vector<stage_saving> savings;
  for (const stage_figures& stage : figures.stages) {
    const rows_of_stage of_stage(rows, stage.bare.name);
    if (of_stage.known().empty()) continue;
    const double sum_ns = together_ns(of_stage, stage);
    const measured<double> median_ns = median_ns_of(stage);
    const measured<double> room = headroom(stage);
    // Without a roof nothing says how much of the time must stay: a sum of all of it tells nothing.
    if (median_ns && !room && sum_ns >= *median_ns) continue;
    const double most_ns = median_ns && room ? *median_ns * *room : median_ns ? *median_ns : sum_ns;
    const double saved_ns = std::min(sum_ns, most_ns);
    savings.push_back({stage.bare.name, saved_ns, ratio_together(of_stage.known(), saved_ns),
                       of_stage.known().front()->ratio_of,
                       room && most_ns < sum_ns * (1 - order_of_sum_ratio), of_stage.has_unknown()});
  }
  return savings;
}

}  // namespace profgate::analysis

#include "baselines/history.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "artifacts/files.h"
#include "core/error.h"
#include "render/trend_views.h"
#include "store_test.h"

namespace profgate::baselines {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* pair_name = "qwen3-0.6b.decode-b1";

class history : public store_test {
 protected:
  /// The build of one night; `night` counts from 1.
  static stored_run_set build_of(int night, double decode_ns) {
    stored_run_set stored = runs_of(made_runs(decode_ns));
    stored.runs.created_utc =
        "2026-10-" + std::string(night < 10 ? "0" : "") + std::to_string(night) + "T03:00:00Z";
    stored.runs.identity.commit = std::to_string(1000000 + night) + std::string(33, 'e');
    return stored;
  }
  /// 10 nights at one level, 10 that are 4 % slower.
  void fill() {
    for (int night = 1; night <= 20; ++night) {
      const double noise = 1 + 0.001 * (night * 3 % 5);
      append_history(m_file, build_of(night, 9e6 * noise * (night > 10 ? 1.04 : 1)),
                     night == 3 ? history_kind::accepted : history_kind::nightly);
    }
  }
  /// The build of one night that tells how many tokens a second it makes.
  static stored_run_set telling_build(int night, double tokens_per_s) {
    const double noise = 1 + 0.001 * (night * 3 % 5);
    stored_run_set stored = build_of(night, 1e12 / tokens_per_s * noise);
    stored.runs.units_of_figures = {{"decode_all", "tokens/s"}};
    return stored;
  }
  void execute(const std::string& sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(m_file.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }
  std::vector<trend> trends(const trend_request& request = {}) const {
    return make_trends(pair_name, read_history(m_file, pair_name), request);
  }

  fs::path m_file = folder() / "deep" / "history.sqlite";
};

TEST_F(history, a_ratio_measured_beside_the_anchor_counts_more_than_medians_of_two_sessions) {
  // The machine is 3 % slower every second night, and so is the anchor build that runs in turns with the
  // night's.
  append_history(m_file, build_of(1, 9e6), history_kind::accepted);
  for (int night = 2; night <= 20; ++night) {
    const double session = night % 2 == 0 ? 1.03 : 1;
    gate::run_set anchor = made_runs(9e6 * session, 12, 1);
    anchor.identity.commit = build_of(1, 9e6).runs.identity.commit;
    append_history(m_file, build_of(night, 9e6 * session), history_kind::nightly, &anchor);
  }
  for (const trend& series : trends()) {
    EXPECT_TRUE(series.changes.empty());
    for (const trend_point& point : series.points) {
      EXPECT_EQ(point.ran_with_anchor, point.entry.commit != series.points[0].entry.commit);
      EXPECT_NEAR(point.ratio, 1, 0.002) << series.stage;
    }
  }
  const std::vector<trend> other = trends({std::nullopt, "1000002"});
  EXPECT_FALSE(other.at(0).points.at(5).ran_with_anchor) << "it ran beside another build";
}

TEST_F(history, a_run_set_of_which_nothing_counts_is_refused) {
  stored_run_set empty = build_of(1, 9e6);
  empty.runs.processes.resize(1);  // the first never counts
  EXPECT_THROW(append_history(m_file, empty, history_kind::nightly), core::bad_input);
  EXPECT_TRUE(read_history(m_file, pair_name).empty());
}

TEST_F(history, appending_twice_is_appending_once) {
  EXPECT_TRUE(append_history(m_file, build_of(1, 9e6), history_kind::nightly));
  EXPECT_FALSE(append_history(m_file, build_of(1, 9e6), history_kind::nightly));
  std::vector<history_entry> entries = read_history(m_file, pair_name);
  ASSERT_EQ(entries.size(), 2U);  // stages
  EXPECT_EQ(entries[0].stage, "decode_all");
  EXPECT_EQ(entries[0].kind, history_kind::nightly);
  EXPECT_EQ(entries[0].processes, 11);
  EXPECT_NEAR(entries[0].median_ns, 9e6, 0.05e6);
  EXPECT_TRUE(append_history(m_file, build_of(1, 9e6), history_kind::accepted)) << "it is another kind now";
  EXPECT_FALSE(append_history(m_file, build_of(1, 9e6), history_kind::accepted));
  entries = read_history(m_file, pair_name);
  EXPECT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].kind, history_kind::accepted);
  EXPECT_TRUE(append_history(m_file, build_of(2, 9e6), history_kind::nightly));
  EXPECT_EQ(read_history(m_file, pair_name).size(), 4U);
  EXPECT_TRUE(read_history(m_file, "another.pair").empty());
}

TEST_F(history, a_change_of_level_falls_on_its_commit) {
  fill();
  const std::vector<trend> all = trends();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].stage, "decode_all");
  EXPECT_EQ(all[0].anchor, 2U) << "the first accepted build";
  EXPECT_DOUBLE_EQ(all[0].points[2].ratio, 1);
  ASSERT_EQ(all[0].changes.size(), 1U);
  EXPECT_EQ(all[0].changes[0].index, 10U);
  EXPECT_NEAR(all[0].changes[0].shift_ratio, 0.04, 0.005);
  EXPECT_TRUE(all[1].changes.empty()) << "prefill stayed as it was";
  EXPECT_THAT(change_sentences(all),
              ElementsAre(AllOf(HasSubstr("decode_all"), HasSubstr("+4.0 %"), HasSubstr("1000011"))));
}

TEST_F(history, another_device_is_another_series) {
  fill();
  stored_run_set elsewhere = build_of(5, 20e6);
  elsewhere.runs.identity.device_name = "NVIDIA H100";
  append_history(m_file, elsewhere, history_kind::nightly);
  EXPECT_EQ(trends().size(), 4U);
  trend_request decode;
  decode.stage = "decode_all";
  EXPECT_EQ(trends(decode).size(), 2U);
}

TEST_F(history, the_anchor_can_be_chosen) {
  fill();
  trend_request request;
  request.anchor = "1000012";
  EXPECT_EQ(trends(request)[0].anchor, 11U);
  EXPECT_DOUBLE_EQ(trends(request)[0].points[11].ratio, 1);
  request.anchor = "feed";
  EXPECT_THROW(trends(request), core::bad_input);
  request = {};
  request.stage = "vision";
  EXPECT_THROW(trends(request), core::bad_input);
  EXPECT_THROW(make_trends("nobody.knows", {}, {}), core::bad_input);
}

TEST_F(history, what_people_see_is_escaped) {
  stored_run_set hostile = build_of(1, 9e6);
  hostile.runs.identity.device_name = "<script>|`x`";
  hostile.runs.identity.commit = "</text><script>";
  append_history(m_file, hostile, history_kind::nightly);
  const std::string svg = render::trends_svg(trends(), PROFGATE_TEMPLATES_DIR);
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg "), HasSubstr("</svg>"), Not(HasSubstr("<script"))));
  EXPECT_THAT(trends_markdown(trends()),
              AllOf(HasSubstr("| anchor |"), Not(HasSubstr("<script")), Not(HasSubstr("|`x"))));
}

TEST_F(history, views_show_the_change) {
  fill();
  EXPECT_THAT(trends_markdown(trends()),
              AllOf(HasSubstr("- decode"), HasSubstr("level changed by +4.0 %"), HasSubstr("1.0")));
  EXPECT_THAT(
      render::trends_svg(trends(), PROFGATE_TEMPLATES_DIR),
      AllOf(HasSubstr("class=\"slower\""), HasSubstr("+4.0 % with 1000011eee"), Not(HasSubstr("nan"))));
}

TEST_F(history, of_a_rate_is_shown_in_its_unit_and_as_less_of_it) {
  for (int night = 1; night <= 20; ++night)
    append_history(m_file, telling_build(night, night > 10 ? 450 : 500), history_kind::nightly);
  trend_request told;
  told.stage = "decode_all";
  const std::vector<trend> rates = trends(told);
  EXPECT_NEAR(rates.at(0).points.at(15).ratio, 0.9, 1e-6);
  EXPECT_THAT(change_sentences(rates), ElementsAre(HasSubstr(": 10.0 % lower with 1000011eee")));
  EXPECT_THAT(trends_markdown(rates),
              AllOf(HasSubstr("| 449.8 tokens/s | 0.9000 |"), HasSubstr("| level 10.0 % lower |"),
                    Not(HasSubstr("+11")), Not(HasSubstr(" s |"))));
  EXPECT_THAT(render::trends_svg(rates, PROFGATE_TEMPLATES_DIR),
              AllOf(HasSubstr("class=\"slower\""), HasSubstr("10.0 % lower with 1000011eee"),
                    HasSubstr("449.8 tokens/s, 0.9000 of the anchor")));
  told.stage = "prefill";
  EXPECT_THAT(trends_markdown(trends(told)), HasSubstr(" ms |")) << "a time beside it";
}

TEST_F(history, of_a_rate_beside_its_anchor_has_the_ratio_of_the_rates) {
  const stored_run_set release = telling_build(1, 500);
  append_history(m_file, release, history_kind::accepted);
  gate::run_set anchor = made_runs(2e9, 12, 1);
  anchor.identity.commit = release.runs.identity.commit;
  stored_run_set nightly = build_of(2, 2.5e9);
  anchor.units_of_figures = nightly.runs.units_of_figures = release.runs.units_of_figures;
  append_history(m_file, nightly, history_kind::nightly, &anchor);
  const trend rates = trends().at(0);
  EXPECT_TRUE(rates.points.at(1).ran_with_anchor);
  EXPECT_NEAR(rates.points.at(1).ratio, 0.8, 1e-6);
}

TEST_F(history, of_an_earlier_profgate_has_no_units_and_gets_them) {
  for (int night = 1; night <= 3; ++night)
    append_history(m_file, telling_build(night, 500), history_kind::nightly);
  execute("DROP TABLE figure_units");
  EXPECT_THAT(trends_markdown(trends()), AllOf(HasSubstr("2.00 s"), Not(HasSubstr("tokens/s"))));
  EXPECT_TRUE(append_history(m_file, telling_build(4, 500), history_kind::nightly));
  EXPECT_THAT(trends_markdown(trends()), AllOf(HasSubstr("tokens/s"), Not(HasSubstr(" s |"))))
      << "the settings of all four nights name one unit";
}

TEST_F(history, the_line_goes_through_its_points) {
  fill();
  const std::string svg = render::trends_svg(trends(), PROFGATE_TEMPLATES_DIR);
  std::string points;
  const std::regex circle("<circle cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"");
  const std::string first_panel = svg.substr(0, svg.find("</g>"));
  for (std::sregex_iterator it(first_panel.begin(), first_panel.end(), circle), end; it != end; ++it)
    points += (points.empty() ? "" : " ") + (*it)[1].str() + "," + (*it)[2].str();
  EXPECT_EQ(std::count(points.begin(), points.end(), ','),
            static_cast<std::ptrdiff_t>(trends().front().points.size()));
  EXPECT_THAT(first_panel, HasSubstr("<polyline points=\"" + points + "\""));
}

TEST_F(history, a_file_that_is_no_history_stays_as_it_is) {
  fs::create_directories(m_file.parent_path());
  const std::string text = "precious notes, not a database\n";
  std::ofstream(m_file) << text;
  EXPECT_THROW(append_history(m_file, build_of(1, 9e6), history_kind::nightly), core::bad_input);
  EXPECT_THROW(read_history(m_file, pair_name), core::bad_input);
  EXPECT_EQ(artifacts::read_file(m_file), text);
}

TEST_F(history, a_database_of_somebody_else_stays_as_it_is) {
  fs::create_directories(m_file.parent_path());
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(m_file.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "CREATE TABLE precious (x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  const std::string before = artifacts::read_file(m_file);
  EXPECT_THROW(append_history(m_file, build_of(1, 9e6), history_kind::nightly), core::bad_input);
  EXPECT_EQ(artifacts::read_file(m_file), before);
}

/// As a profgate leaves it that is killed while SQLite writes: pages of it are in the file, and the journal
/// that takes them back lies beside it.
void write_and_die(const fs::path& file) {
  const pid_t child = ::fork();
  if (child == 0) {
    sqlite3* database = nullptr;
    sqlite3_open(file.c_str(), &database);
    const char* const sql =
        "PRAGMA cache_size = 1; BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS torn (text TEXT); WITH RECURSIVE "
        "n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) INSERT INTO torn SELECT "
        "hex(zeroblob(500)) FROM n";
    ::_exit(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_GT(fs::file_size(file), 100'000U) << "the test needs pages that were written already";
  ASSERT_TRUE(fs::exists(file.string() + "-journal"));
}

TEST_F(history, that_was_killed_when_it_was_new_is_new_again) {
  fs::create_directories(m_file.parent_path());
  write_and_die(m_file);
  EXPECT_TRUE(append_history(m_file, build_of(1, 9e6), history_kind::nightly));
  EXPECT_EQ(trends().at(0).points.size(), 1U);
}

TEST_F(history, that_was_killed_is_read_as_it_was_before) {
  append_history(m_file, build_of(1, 9e6), history_kind::nightly);
  write_and_die(m_file);
  EXPECT_EQ(trends().at(0).points.size(), 1U);
}

TEST_F(history, that_was_killed_when_it_was_new_is_none_to_a_reader) {
  fs::create_directories(m_file.parent_path());
  write_and_die(m_file);
  EXPECT_THAT(error_of([&] { trends(); }), HasSubstr("there is no history yet"));
}

TEST_F(history, a_damaged_history_is_refused_and_not_made_worse) {
  fill();
  const auto size = fs::file_size(m_file);
  fs::resize_file(m_file, size / 2);
  const std::string before = artifacts::read_file(m_file);
  EXPECT_THROW(append_history(m_file, build_of(30, 9e6), history_kind::nightly), core::bad_input);
  EXPECT_THROW(read_history(m_file, pair_name), core::bad_input);
  EXPECT_EQ(artifacts::read_file(m_file), before);
}

TEST_F(history, none_yet_is_said_and_none_is_made) {
  EXPECT_THROW(read_history(m_file, pair_name), core::bad_input);
  EXPECT_FALSE(fs::exists(m_file));
}

}  // namespace
}  // namespace profgate::baselines

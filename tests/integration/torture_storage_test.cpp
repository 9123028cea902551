#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "artifacts/run_list.h"
#include "core/owned_fd.h"
#include "torture_fixture.h"

/// Disks with a little room left, from none at all to enough, in bytes and in inodes: a command succeeds or
/// names the full disk, leaves nothing half written, and succeeds once there is room again.
namespace profgate::integration {
namespace {

namespace fs = std::filesystem;

/// A disk that ballast fills.
class tight_disk {
 public:
  explicit tight_disk(const fs::path& where) : m_where(where), m_disk(where, "size=64m,nr_inodes=4000") {}
  bool is_mounted() const { return m_disk.is_mounted(); }
  std::size_t free_bytes() const { return state().f_bavail * state().f_frsize; }
  std::size_t free_inodes() const { return state().f_ffree; }

  void leave_bytes(std::size_t wanted) const {
    const core::owned_fd file(::open((m_where / ".ballast").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    const std::size_t room = free_bytes();
    if (room <= wanted) return;
    ASSERT_EQ(::posix_fallocate(file.get(), 0, static_cast<off_t>(room - wanted)), 0) << room;
  }
  void leave_inodes(std::size_t wanted) const {
    fs::create_directory(m_where / ".ballast");
    for (int number = 0; free_inodes() > wanted; ++number)
      ASSERT_TRUE(std::ofstream(m_where / ".ballast" / std::to_string(number)).is_open());
  }
  void make_room() const { fs::remove_all(m_where / ".ballast"); }

 private:
  struct statvfs state() const {
    struct statvfs now {};
    ::statvfs(m_where.c_str(), &now);
    return now;
  }
  fs::path m_where;
  mounted_tmpfs m_disk;
};

class torture_storage : public torture {
 protected:
  fs::path disk_dir() const { return m_project / "disk"; }
  static int limits() { return is_large() ? 30 : 3; }

  /// `command` with less room than it needs, then with all of it. `reset` is called before each try and puts
  /// everything but the earlier files away.
  void starve(const words& command, const std::vector<int>& good_codes, const fs::path& earlier,
              const std::function<void()>& reset) {
    m_disk->make_room();
    reset();
    const std::size_t bytes_before = m_disk->free_bytes();
    const std::size_t inodes_before = m_disk->free_inodes();
    ASSERT_EQ(unless_ended(end_of(start(command)), good_codes), "");
    const std::size_t bytes = bytes_before - std::min(m_disk->free_bytes(), bytes_before);
    const std::size_t inodes = inodes_before - std::min(m_disk->free_inodes(), inodes_before);
    const std::map<std::string, std::string> before = contents_of(earlier);
    for (const bool is_bytes : {true, false}) {
      for (int limit = 0; limit < limits(); ++limit) {
        reset();
        const std::size_t share = static_cast<std::size_t>(limit);
        const std::size_t parts = static_cast<std::size_t>(limits() - 1);
        is_bytes ? m_disk->leave_bytes((bytes + 65536) * share / parts)
                 : m_disk->leave_inodes((inodes + 4) * share / parts);
        const ending tight = end_of(start(command));
        std::string complaint = complaint_about(tight, good_codes);
        complaint += unless(contents_of(earlier) == before, "what was there earlier has changed");
        complaint += left_behind() + damaged_json(disk_dir());
        m_disk->make_room();
        const bool was_enough = unless_ended(tight, good_codes).empty();
        if (!was_enough) complaint += unless_ended(end_of(start(command)), good_codes);
        complaint += damaged_json(disk_dir());
        const std::string room =
            std::to_string(share) + "/" + std::to_string(parts) + " of " +
            (is_bytes ? std::to_string(bytes) + " bytes" : std::to_string(inodes) + " inodes");
        count_round(!was_enough, complaint.empty() ? "" : room + ": " + complaint);
      }
    }
  }

  std::string complaint_about(const ending& tight, const std::vector<int>& good_codes) const {
    if (std::find(good_codes.begin(), good_codes.end(), tight.exit_code) != good_codes.end()) return "";
    const auto says = [&](const std::string& text) { return tight.output.find(text) != std::string::npos; };
    return unless(tight.exit_code > 1,
                  "ended with " + std::to_string(tight.exit_code) + ": " + tight.output) +
           unless(says("is full") || says("No space left"), "does not say that it is full: " + tight.output) +
           unless(says("disk/"), "does not say where it is full: " + tight.output) +
           unless(!says("a fault of profgate"), "blames itself: " + tight.output);
  }

  void SetUp() override {
    torture::SetUp();
    m_disk.emplace(disk_dir());
    if (!m_disk->is_mounted()) GTEST_SKIP() << "mounting a tmpfs needs root";
  }
  void TearDown() override {
    m_disk.reset();
    torture::TearDown();
  }

  std::optional<tight_disk> m_disk;
};

TEST_F(torture_storage, a_run) {
  const words run = profgate_words({"run", "--manifest", register_probe({}).string(),
                                    "artifacts.stage2_dir=disk/stage2", "artifacts.keep_runs=1000"});
  ASSERT_EQ(unless_ended(end_of(start(run)), {0}), "");
  const fs::path stage2 = disk_dir() / "stage2";
  const fs::path first = artifacts::list_runs(stage2).front().path;
  starve(run, {0}, first, [&] {
    for (const artifacts::run_info& each : artifacts::list_runs(stage2))
      if (each.path != first) fs::remove_all(each.path);
  });
}

TEST_F(torture_storage, an_accept) {
  const auto accept = [&](const std::string& arm, const std::string& folder) {
    return profgate_words({"baseline", "accept", recorded(arm).string(), "--reason", "torture",
                           "--baselines-dir", folder, "--history-file", folder + "/history.db"});
  };
  ASSERT_EQ(unless_ended(end_of(start(accept("baseline", "disk/earlier"))), {0}), "");
  starve(accept("candidate", "disk/new"), {0}, disk_dir() / "earlier",
         [&] { fs::remove_all(disk_dir() / "new"); });
}

TEST_F(torture_storage, an_accept_that_replaces_another) {
  const words accept =
      profgate_words({"baseline", "accept", recorded("candidate").string(), "--reason", "torture",
                      "--baselines-dir", "disk/baselines", "--history-file", "disk/history.db"});
  starve(accept, {0}, m_project / "conf", [&] {
    fs::remove_all(disk_dir() / "baselines");
    fs::remove(disk_dir() / "history.db");
    const command_result first =
        profgate({"baseline", "accept", recorded("baseline").string(), "--reason", "first", "--baselines-dir",
                  "disk/baselines", "--history-file", "disk/history.db"});
    EXPECT_EQ(first.exit_code, 0) << first.output;
  });
}

TEST_F(torture_storage, a_comparison_of_builds) {
  quick_build("old");
  words compare = ab_words(quick_build("new"), "old");
  compare.emplace_back("artifacts.stage2_dir=disk/stage2");
  const fs::path folder = disk_dir() / "stage2/ab/probe.probe";
  const fs::path earlier = disk_dir() / "earlier";
  ASSERT_EQ(unless_ended(end_of(start(compare)), {0, 77}), "");
  fs::rename(folder, earlier);
  starve(compare, {0, 77}, earlier, [&] { fs::remove_all(disk_dir() / "stage2"); });
}

TEST_F(torture_storage, a_comparison_of_runs) {
  const fs::path manifest = register_probe({});
  ASSERT_EQ(run_pair(manifest).exit_code, 0);
  ASSERT_EQ(run_pair(manifest).exit_code, 0);
  starve(
      profgate_words({"compare", runs().front().string(), runs().back().string(), "--out", "disk/compared"}),
      {0}, stage2_dir(), [&] { fs::remove_all(disk_dir() / "compared"); });
}

TEST_F(torture_storage, an_analysis) {
  ASSERT_EQ(run_pair(register_probe({})).exit_code, 0);
  const fs::path made = latest_run();
  const fs::path copy = disk_dir() / made.filename();
  starve(profgate_words({"analyze", copy.string()}), {0}, made, [&] {
    fs::remove_all(copy);
    fs::copy(made, copy, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    for (const char* report : {"profile.json", "report.md", "report.html"}) fs::remove(copy / report);
    fs::remove_all(copy / "ncu");
  });
}

}  // namespace
}  // namespace profgate::integration

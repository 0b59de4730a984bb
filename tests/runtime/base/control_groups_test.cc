// The groups around a process, and which limit on threads it has met, by files that the test plants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "runtime/base/exhaustion.h"
#include "runtime/base/memory.h"

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Groups : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "/groups_" + std::to_string(::getpid()) + "_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  // `mount`: "" of version 2, "/pids" of version 1.
  void WriteGroup(const std::string& mount, const std::string& group, const std::string& most, int used,
                  int refused = 0) const {
    const std::string folder = "/sys/fs/cgroup" + mount + group;
    Write(folder + "/pids.max", most + "\n");
    Write(folder + "/pids.current", std::to_string(used) + "\n");
    Write(folder + "/pids.events", "max " + std::to_string(refused) + "\n");
  }
  std::vector<std::string> Of(const std::string& controller) const {
    std::vector<std::string> found;
    for (const ControlGroup& group : ControlGroupsOf(controller, root_)) {
      EXPECT_THAT(group.folder, StartsWith(root_ + "/sys/fs/cgroup"));
      found.push_back(std::to_string(group.version) + " " + group.folder.substr(root_.size() + 14));
    }
    return found;
  }

  std::string root_;
};

TEST_F(Groups, OfBothVersionsFromTheInsideToTheOutside) {
  EXPECT_THAT(Of("pids"), IsEmpty());
  Write("/proc/self/cgroup", "0::/pod/job\n");
  EXPECT_THAT(Of("pids"), ElementsAre("2 /pod/job", "2 /pod", "2 "));
  Write("/proc/self/cgroup", "9:name=systemd:/x\n8:pids:/job\n1:cpu,cpuacct:/a\nnonsense\n0::/\n");
  EXPECT_THAT(Of("pids"), ElementsAre("1 /pids/job", "1 /pids", "2 "));
  EXPECT_THAT(Of("cpu"), ElementsAre("1 /cpu/a", "1 /cpu", "1 /cpu,cpuacct/a", "1 /cpu,cpuacct", "2 "));
  EXPECT_THAT(Of("cp"), ElementsAre("2 "));
}

TEST_F(Groups, TheOneThatIsFullIsTheLimitOnThreads) {
  for (const char* const mount : {"", "/pids"}) {
    Write("/proc/self/cgroup", std::string(mount).empty() ? "0::/pod/job\n" : "8:pids:/pod/job\n0::/\n");
    WriteGroup(mount, "/pod/job", "max", 40);
    WriteGroup(mount, "/pod", "64", 64);
    WriteGroup(mount, "", "max", 500);
    EXPECT_EQ(DescribeThreadLimit({}, root_),
              "pids.max of the control group /pod is 64; raise it, or use fewer threads (--threads) or ranks");
    EXPECT_THAT(DescribeThreadLimit(1000, root_), StartsWith("pids.max of the control group /pod is 64;"));
    WriteGroup(mount, "/pod/job", "32", 33);  // lowered below what it has
    WriteGroup(mount, "/pod", "64", 50);
    EXPECT_THAT(DescribeThreadLimit(1000, root_), StartsWith("pids.max of the control group /pod/job is 32;"));
  }
}

// Where others of its threads have ended since, the group tells by its count.
TEST_F(Groups, OneThatHasRefusedIsNamedWithTheLimitOfTheUser) {
  Write("/proc/self/cgroup", "0::/job\n");
  WriteGroup("", "/job", "64", 60, 3);
  EXPECT_THAT(DescribeThreadLimit({}, root_), StartsWith("pids.max of the control group /job is 64;"));
  EXPECT_THAT(DescribeThreadLimit(70, root_),
              StartsWith("pids.max of the control group /job is 64, `ulimit -u` is 70;"));
}

TEST_F(Groups, ElseTheLimitIsOfTheUserOrThereIsNoMemory) {
  EXPECT_THAT(DescribeThreadLimit(70, root_), StartsWith("`ulimit -u` is 70;"));
  Write("/proc/self/cgroup", "0::/job\n");
  WriteGroup("", "/job", "64", 10);
  EXPECT_THAT(DescribeThreadLimit(70, root_), StartsWith("`ulimit -u` is 70;"));
  EXPECT_THAT(DescribeThreadLimit({}, root_), HasSubstr("memory"));
  for (const char* const text : {"", "max\n", "many\n"}) {
    WriteGroup("", "/job", text, 1);
    EXPECT_THAT(DescribeThreadLimit({}, root_), Not(HasSubstr("pids.max of"))) << text;
  }
}

TEST(NoThread, NamesALimitOfThreadsOnlyWhereOneCanBeMet) {
  const absl::Status limited = NoThread("stream 'compute': cannot start its thread", EAGAIN);
  EXPECT_EQ(limited.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(limited.message()),
              StartsWith("stream 'compute': cannot start its thread: Resource temporarily unavailable; "));
  EXPECT_EQ(NoThread("cannot start a process", ENOMEM),
            absl::ResourceExhaustedError("cannot start a process: Cannot allocate memory"));
}

}  // namespace
}  // namespace partita

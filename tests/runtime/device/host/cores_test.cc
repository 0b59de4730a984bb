// Processors by affinity mask and by the quotas of control groups, whose files lie in a folder of the test.
#include "runtime/device/host/cores.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace partita {
namespace {

class CoresOf : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "/cores_" + std::to_string(::getpid()) + "_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void WriteGroup2(const std::string& group, const std::string& text) const {
    Write("/sys/fs/cgroup" + group + "/cpu.max", text);
  }
  void WriteGroup1(const std::string& mount, const std::string& quota, const std::string& period) const {
    Write("/sys/fs/cgroup/" + mount + "/cpu.cfs_quota_us", quota + "\n");
    Write("/sys/fs/cgroup/" + mount + "/cpu.cfs_period_us", period + "\n");
  }
  std::optional<double> Quota() const { return FindProcessors(root_).quota; }

  std::string root_;
};

TEST_F(CoresOf, WithoutGroupsThereIsNoQuota) {
  EXPECT_EQ(Quota(), std::nullopt);
  Write("/proc/self/cgroup", "0::/job\n");
  EXPECT_EQ(Quota(), std::nullopt);
  WriteGroup2("/job", "max 100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
}

TEST_F(CoresOf, TheLeastQuotaOfAllGroupsAroundCounts) {
  Write("/proc/self/cgroup", "0::/pod/job/inner\n");
  WriteGroup2("/pod", "400000 100000\n");
  EXPECT_EQ(Quota(), 4);
  WriteGroup2("/pod/job", "150000 100000\n");
  EXPECT_EQ(Quota(), 1.5);
  WriteGroup2("/pod/job/inner", "max 100000\n");
  EXPECT_EQ(Quota(), 1.5);
  WriteGroup2("", "10000 20000\n");
  EXPECT_EQ(Quota(), 0.5);
}

TEST_F(CoresOf, AContainerSeesItsGroupAsTheTopmost) {
  Write("/proc/self/cgroup", "0::/system.slice/docker-1.scope\n");
  WriteGroup2("", "200000 100000\n");
  EXPECT_EQ(Quota(), 2);
}

TEST_F(CoresOf, GroupsOfVersion1) {
  Write("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/other\n1:cpu,cpuacct:/pod/job\n0::/\n");
  WriteGroup1("cpu/pod/job", "-1", "100000");
  EXPECT_EQ(Quota(), std::nullopt);
  WriteGroup1("cpu/pod", "300000", "100000");
  EXPECT_EQ(Quota(), 3);
  WriteGroup1("cpu,cpuacct/pod/job", "50000", "50000");
  EXPECT_EQ(Quota(), 1);
}

TEST_F(CoresOf, BothVersionsAtOnce) {
  Write("/proc/self/cgroup", "1:cpu:/job\n0::/job\n");
  WriteGroup1("cpu/job", "300000", "100000");
  WriteGroup2("/job", "200000 100000");
  EXPECT_EQ(Quota(), 2);
}

TEST_F(CoresOf, MalformedFilesLimitNothing) {
  Write("/proc/self/cgroup", "nonsense\n1:cpu\n::\n\n7:cpu:/job\n0::/job\n");
  for (const char* const text : {"", "max", "200000", "two 100000", "200000 0", "0 100000", "-5 100000", "1e5 100000",
                                 "200000x 100000", "99999999999999999999 100000"}) {
    WriteGroup2("/job", text);
    EXPECT_EQ(Quota(), std::nullopt) << text;
  }
  WriteGroup1("cpu/job", "", "100000");
  EXPECT_EQ(Quota(), std::nullopt);
  WriteGroup1("cpu/job", "100000", "");
  EXPECT_EQ(Quota(), std::nullopt);
}

TEST(Processors, TheLeastOfMaskAndQuotaRoundedUp) {
  const auto usable = [](int online, std::vector<int> allowed, std::optional<double> quota) {
    return Processors{online, std::move(allowed), quota}.usable();
  };
  EXPECT_EQ(usable(64, {}, std::nullopt), 64);
  EXPECT_EQ(usable(64, {3, 5}, std::nullopt), 2);
  EXPECT_EQ(usable(64, {3, 5, 7}, 2.0), 2);
  EXPECT_EQ(usable(64, {3, 5, 7}, 1.01), 2);
  EXPECT_EQ(usable(64, {3, 5, 7}, 0.1), 1);
  EXPECT_EQ(usable(64, {3}, 8.0), 1);
  EXPECT_EQ(usable(2, {}, 1e18), 2);
}

TEST(Processors, TheMaskOfTheCallingThread) {
  const std::vector<int> all = AllowedCores();
  ASSERT_FALSE(all.empty());
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  CPU_SET(all.back(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(AllowedCores(), std::vector<int>{all.back()});
  EXPECT_EQ(UsableCores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(AllowedCores(), all);
}

}  // namespace
}  // namespace partita

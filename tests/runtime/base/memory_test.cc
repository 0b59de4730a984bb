#include "runtime/base/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace partita {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;

// A machine of 1000 MiB, of which 800 are available, as its files say it.
class MemoryOf : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = ::testing::TempDir() + "/machine_" + std::to_string(::getpid()) + "_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name();
    Write("/proc/meminfo", "MemTotal:        1024000 kB\nMemFree:          100000 kB\nMemAvailable:     819200 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void WriteGroup2(const std::string& group, const std::string& limit, int64_t used, int64_t pages = 0) const {
    const std::string folder = "/sys/fs/cgroup" + group;
    Write(folder + "/memory.max", limit + "\n");
    Write(folder + "/memory.current", std::to_string(used) + "\n");
    Write(folder + "/memory.stat",
          "anon 1\ninactive_file " + std::to_string(pages) + "\nactive_file " + std::to_string(pages) + "\n");
  }

  std::string root_;
};

TEST_F(MemoryOf, AMachineWithoutGroups) {
  EXPECT_EQ(MeasureMemory(root_).free, 800 * kMiB);
  EXPECT_EQ(MeasureMemory(root_).total, 1000 * kMiB);
}

TEST_F(MemoryOf, AGroupOfVersion2) {
  Write("/proc/self/cgroup", "0::/job\n");
  WriteGroup2("/job", std::to_string(300 * kMiB), 120 * kMiB, 10 * kMiB);
  EXPECT_EQ(MeasureMemory(root_).free, 200 * kMiB) << "pages of files are given back";
  EXPECT_EQ(MeasureMemory(root_).total, 300 * kMiB);
}

TEST_F(MemoryOf, EveryGroupAroundIt) {
  Write("/proc/self/cgroup", "0::/pod/job\n");
  WriteGroup2("/pod/job", "max", 50 * kMiB);
  WriteGroup2("/pod", std::to_string(200 * kMiB), 150 * kMiB);
  EXPECT_EQ(MeasureMemory(root_).free, 50 * kMiB);
  WriteGroup2("/pod", "max", 150 * kMiB);
  EXPECT_EQ(MeasureMemory(root_).free, 800 * kMiB);
}

TEST_F(MemoryOf, AContainerThatSeesItsGroupAsTheTopmost) {
  Write("/proc/self/cgroup", "0::/system.slice/docker-1.scope\n");
  WriteGroup2("", std::to_string(64 * kMiB), 4 * kMiB);
  EXPECT_EQ(MeasureMemory(root_).free, 60 * kMiB);
}

TEST_F(MemoryOf, AGroupOfVersion1) {
  Write("/proc/self/cgroup", "5:cpu,cpuacct:/job\n4:hugetlb,memory:/job\n1:name=systemd:/\n0::/\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(100 * kMiB));
  Write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(40 * kMiB));
  Write("/sys/fs/cgroup/memory/job/memory.stat", "cache 7\ntotal_inactive_file 1048576\ntotal_active_file 2097152\n");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(500 * kMiB));
  EXPECT_EQ(MeasureMemory(root_).free, 63 * kMiB);
  EXPECT_EQ(MeasureMemory(root_).total, 100 * kMiB);
}

TEST_F(MemoryOf, AFullGroupHasNothingFree) {
  Write("/proc/self/cgroup", "0::/job\n");
  WriteGroup2("/job", std::to_string(10 * kMiB), 12 * kMiB);
  EXPECT_EQ(MeasureMemory(root_).free, 0);
}

TEST(CheckMemory, RefusesWhatIsNotThere) {
  const HostMemory memory = MeasureMemory();
  EXPECT_GT(memory.free, 0);
  EXPECT_LE(memory.free, memory.total);
  EXPECT_TRUE(CheckMemory("a little", 4096).ok());
  EXPECT_TRUE(CheckMemory("some", 2 * kMiB).ok());
  const absl::Status status = CheckMemory("all of it", memory.total + kMiB);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("all of it: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(memory.total + kMiB) + " bytes are needed"));
}

}  // namespace
}  // namespace partita

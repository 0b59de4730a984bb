#include "runtime/telemetry/progress.h"

#include <gtest/gtest.h>

#include <limits>

namespace partita {
namespace {

TEST(Progress, IsOneLineOfKeysAndValues) {
  Progress progress{120, 0.3136, 2.30093, 1e-3, 812.4, 39.44, int64_t{8'482'560'000}, int64_t{141} << 30};
  EXPECT_EQ(FormatProgress(progress),
            "step=120 epoch=0.31 loss=2.301 lr=1e-3 samples/s=812 step_ms=39.4 mem=7.9/141GiB");
  progress.metrics = {{"accuracy", 0.62504}, {"head/top5", 1}};
  EXPECT_EQ(FormatProgress(progress),
            "step=120 epoch=0.31 loss=2.301 accuracy=0.625 head/top5=1 lr=1e-3 samples/s=812 step_ms=39.4 "
            "mem=7.9/141GiB");
  progress.metrics.clear();
  progress.memory_limit = 0;
  progress.memory_bytes = 64 << 20;
  progress.learning_rate = 0.1;
  progress.loss = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(FormatProgress(progress), "step=120 epoch=0.31 loss=nan lr=0.1 samples/s=812 step_ms=39.4 mem=64MiB");
}

TEST(Progress, LearningRates) {
  const auto rate = [](double value) {
    Progress progress;
    progress.learning_rate = value;
    const std::string line = FormatProgress(progress);
    const size_t begin = line.find("lr=") + 3;
    return line.substr(begin, line.find(' ', begin) - begin);
  };
  EXPECT_EQ(rate(0), "0");
  EXPECT_EQ(rate(1), "1");
  EXPECT_EQ(rate(0.05), "0.05");
  EXPECT_EQ(rate(0.01), "0.01");
  EXPECT_EQ(rate(0.009999), "0.01");
  EXPECT_EQ(rate(0.0025), "2.5e-3");
  EXPECT_EQ(rate(1.234567e-12), "1.23e-12");
}

TEST(Progress, Bytes) {
  EXPECT_EQ(FormatBytes(0), "0B");
  EXPECT_EQ(FormatBytes(999), "999B");
  EXPECT_EQ(FormatBytes(1023), "0.999KiB");
  EXPECT_EQ(FormatBytes(1024), "1KiB");
  EXPECT_EQ(FormatBytes(1536), "1.5KiB");
  EXPECT_EQ(FormatBytes(100 << 20), "100MiB");
  EXPECT_EQ(FormatBytes(999 << 10), "999KiB");
  EXPECT_EQ(FormatBytes(int64_t{1023} << 20), "0.999GiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<int64_t>::max()), "8388608TiB");
}

}  // namespace
}  // namespace partita

// Nothing that is read crashes a reader, hangs it, or makes it say something else than what it read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/campaign.h"
#include "tests/fuzz/mutate.h"

namespace partita {
namespace {

constexpr char kCorpus[] = "tests/fuzz/corpus/";
// Beside what a sanitizer needs; no input here is larger than kLargestInput.
constexpr int64_t kMostMemory = int64_t{3} << 30;

// Where Bazel keeps what a test leaves behind.
std::string Keep(const std::string& target, const std::string& input) {
  const char* const outputs = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::string path = fmt::format("{}/{}", outputs == nullptr ? ::testing::TempDir() : outputs, target);
  std::ofstream(path, std::ios::binary) << input;
  return path;
}

class Reader : public ::testing::TestWithParam<FuzzTarget> {};

TEST_P(Reader, KeepsItsPromises) {
  const FuzzTarget& target = GetParam();
  const Campaign campaign = {ReadCorpus(std::string(kCorpus) + target.name), target.smoke, 1};
  ASSERT_FALSE(campaign.corpus.empty());
  const CampaignResult result = RunCampaign(target, campaign);
  if (result.breach) {
    FAIL() << fmt::format("{} at input {}, which is kept in {}", result.breach->how, result.fed,
                          Keep(target.name, result.breach->input));
  }
  EXPECT_EQ(result.fed, static_cast<int64_t>(campaign.corpus.size()) + campaign.inputs);
  EXPECT_LT(result.peak_bytes, kMostMemory);
}

INSTANTIATE_TEST_SUITE_P(Every, Reader, ::testing::ValuesIn(FuzzTargets().begin(), FuzzTargets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

// What a broken promise looks like from outside.
void AbortAtZero(const std::string& bytes) {
  if (bytes.find('0') != std::string::npos) std::abort();
}

TEST(Campaign, TellsWhatBroke) {
  const FuzzTarget target = {"aborts", AbortAtZero, 0};
  EXPECT_FALSE(RunCampaign(target, {{"one", "two"}, 0, 1}).breach);
  const CampaignResult result = RunCampaign(target, {{"one", "1203", "two"}, 0, 1});
  ASSERT_TRUE(result.breach);
  EXPECT_EQ(result.breach->input, "1203");
  EXPECT_EQ(result.breach->how, "signal 6");
  EXPECT_EQ(result.fed, 2);
  EXPECT_TRUE(RunCampaign(target, {{"a decimal: 123"}, 1000, 1}).breach);  // mutations reach it
}

TEST(Mutator, IsAFunctionOfItsSeed) {
  const std::vector<std::string> corpus = {"some text", "123 { }"};
  const Mutator one(corpus, 1), again(corpus, 1), other(corpus, 2);
  int same = 0;
  for (int64_t number = 0; number < 100; ++number) {
    EXPECT_EQ(one.Make(number), again.Make(number));
    same += one.Make(number) == other.Make(number);
  }
  EXPECT_LT(same, 20);
}

}  // namespace
}  // namespace partita

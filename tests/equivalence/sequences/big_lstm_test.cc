// BigLSTM at small sizes under the strategies that are shipped for it: every value, gradient and state of some steps,
// what it carries from batch to batch included, is the serial one's, and the bytes counted are the bytes predicted.
#include "tools/models/big_lstm.h"

#include <gtest/gtest.h>

#include <cstring>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "tests/equivalence/side_by_side.h"
#include "tests/equivalence/small_batch.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 8, kPlaces = 5, kWords = 23;
constexpr int kSteps = 3;

HostTensor Words(int step) {
  HostTensor words = SmallLabels(kBatch * kPlaces, kWords, step);
  words.shape = {kBatch, kPlaces};
  return words;
}

std::map<std::string, HostTensor> BatchOf(int step) {
  HostTensor weights{DType::kF64, {kBatch, kPlaces}, std::vector<char>(kBatch * kPlaces * sizeof(double))};
  for (size_t i = 0; i < kBatch * kPlaces; ++i) {
    const double weight = i % 7 == 0 ? 0 : 1.25;
    std::memcpy(weights.bytes.data() + i * sizeof(double), &weight, sizeof(double));
  }
  return {{"ids", Words(step)}, {"targets", Words(step + 100)}, {"weights", weights}};
}

class BigLstmStrategies : public testing::TestWithParam<const char*> {};

TEST_P(BigLstmStrategies, GoTheWayOfOneRank) {
  ASSERT_OK_AND_ASSIGN(const Strategy strategy,
                       LoadStrategy(std::string("tools/models/examples/big_lstm/") + GetParam() + ".pbtxt"));
  const BigLstmOptions options{.batch = kBatch, .places = kPlaces, .words = kWords, .units = 6, .projection = 3};
  ASSERT_OK_AND_ASSIGN(const Model model, MakeBigLstm(options, Ops()));
  EXPECT_OK(RunSideBySide(model, strategy, kSteps, BatchOf));
}

INSTANTIATE_TEST_SUITE_P(Shipped, BigLstmStrategies, testing::Values("data", "vocabulary", "pipeline", "2x2"),
                         [](const auto& strategy) { return "By_" + std::string(strategy.param); });

}  // namespace
}  // namespace partita

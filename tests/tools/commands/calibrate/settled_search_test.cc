// That searches and measurements take turns until what is found was measured.
#include "tools/commands/calibrate/settled_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "tests/testing/assert_ok.h"
#include "tools/models/models.h"

namespace partita {
namespace {

constexpr int64_t kBatch = 8;

Model Mlp() {
  Model model = MakeModel("mlp", {.batch = kBatch}, Ops()).value();
  model.learning_rate.steps = 1;
  return model;
}

Strategy Replicas(const Model& model) { return DataModelStrategy(model.graph, 2, 1).value(); }

// The first of two replicas has so many samples of the batch.
Finalist Uneven(const Model& model, int64_t first) {
  Finalist finalist;
  finalist.candidate.strategy = Replicas(model);
  for (OpConfig& op : finalist.candidate.strategy.ops) {
    const auto data = op.axes.find("data");
    if (data != op.axes.end()) data->second.cuts = {0, first, kBatch};
  }
  return finalist;
}

const CalibrationOptions kQuick{{}, {}, /*steps=*/1, /*replicas=*/1, /*collectives=*/false};

bool HasRows(const Profile& profile, int64_t rows) {
  const std::string shape = "f32[" + std::to_string(rows) + ",784]";
  return std::ranges::any_of(profile.kernels,
                             [&](const KernelTime& time) { return time.signature.find(shape) != std::string::npos; });
}

TEST(SearchUntilSettled, MeasuresWhatIsFoundAndSearchesAgain) {
  const Model model = Mlp();
  int searches = 0;
  const auto search = [&](const Profile& profile) -> absl::StatusOr<std::vector<Finalist>> {
    ++searches;
    EXPECT_EQ(HasRows(profile, 3), searches > 1) << "of the plan that the first search finds";
    EXPECT_EQ(HasRows(profile, 2), searches > 1) << "of the one that it compares with";
    EXPECT_FALSE(HasRows(profile, 1)) << "that one cannot be run";
    Finalist refused = Uneven(model, 1);
    refused.status = ResourceExhausted("too large");
    return std::vector{Uneven(model, 3), Uneven(model, 2), refused};
  };
  ASSERT_OK_AND_ASSIGN(const SettledSearch found, SearchUntilSettled(model, Replicas(model), kQuick, search));
  EXPECT_TRUE(found.settled);
  EXPECT_EQ(found.searches, 2);
  EXPECT_EQ(searches, 2);
  EXPECT_EQ(found.finalists.size(), 3U);
}

TEST(SearchUntilSettled, EndsAtOnceWithWhatItBeganWith) {
  const Model model = Mlp();
  const auto search = [&](const Profile&) -> absl::StatusOr<std::vector<Finalist>> {
    Finalist same;
    same.candidate.strategy = Replicas(model);
    return std::vector{same};
  };
  ASSERT_OK_AND_ASSIGN(const SettledSearch found, SearchUntilSettled(model, Replicas(model), kQuick, search));
  EXPECT_TRUE(found.settled);
  EXPECT_EQ(found.searches, 1);
}

TEST(SearchUntilSettled, GivesUpAndSaysSo) {
  const Model model = Mlp();
  int64_t first = 0;
  const auto search = [&](const Profile&) -> absl::StatusOr<std::vector<Finalist>> {
    return std::vector{Uneven(model, ++first)};
  };
  ASSERT_OK_AND_ASSIGN(const SettledSearch found, SearchUntilSettled(model, Replicas(model), kQuick, search));
  EXPECT_FALSE(found.settled);
  EXPECT_EQ(found.searches, kMostSearches);
}

TEST(SearchUntilSettled, PassesErrorsOn) {
  const Model model = Mlp();
  const auto search = [](const Profile&) -> absl::StatusOr<std::vector<Finalist>> { return Internal("none"); };
  EXPECT_EQ(SearchUntilSettled(model, Replicas(model), kQuick, search).status().message(), "none");
}

}  // namespace
}  // namespace partita

// Beam search beside the search of all sequences of small random models, and what it promises of ties and lengths.
#include "runtime/decode/beam_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/philox.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kWords = 6, kPlaces = 3;
constexpr int32_t kEnd = 3;
const std::vector<int32_t> kBegun;

// What follows a sequence of a sentence is drawn from the sequence.
class RandomModel {
 public:
  RandomModel(uint64_t seed, bool attends) : seed_(seed), attends_(attends) {}

  std::vector<double> LogProbabilities(int64_t sentence, const std::vector<int32_t>& begun) const {
    std::vector<double> values = Draw("words", sentence, begun, kWords);
    double sum = 0;
    for (double& value : values) sum += std::exp(value = 3 * value);
    for (double& value : values) value = static_cast<float>(value - std::log(sum));
    return values;
  }

  std::vector<double> Attention(int64_t sentence, const std::vector<int32_t>& begun) const {
    if (!attends_) return {};
    std::vector<double> values = Draw("places", sentence, begun, kPlaces);
    const double sum = values[0] + values[1] + values[2];
    for (double& value : values) value = static_cast<float>(value / sum);
    return values;
  }

  bool attends() const { return attends_; }

 private:
  std::vector<double> Draw(const char* what, int64_t sentence, const std::vector<int32_t>& begun, int64_t count) const {
    uint64_t place = static_cast<uint64_t>(sentence) + 1;
    for (const int32_t word : begun) place = place * 7 + static_cast<uint64_t>(word) + 1;
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(Uniform(PhiloxKey(seed_, what), 0, place * 8 + static_cast<uint64_t>(i)));
    }
    return values;
  }

  const uint64_t seed_;
  const bool attends_;
};

// The model as a step: each row remembers what it has written.
class Rows {
 public:
  Rows(const RandomModel& model, int64_t beam) : model_(model), beam_(beam) {}

  absl::StatusOr<NextWords> Step(std::span<const int32_t> ids, std::span<const int32_t> parents) {
    const bool first = begun_.empty();
    std::vector<std::vector<int32_t>> begun(ids.size());
    log_probabilities_.clear();
    attention_.clear();
    for (size_t row = 0; row < ids.size(); ++row) {
      if (first) {
        EXPECT_EQ(ids[row], 2);
      } else {
        begun[row] = begun_[parents[row]];
        begun[row].push_back(ids[row]);
      }
      const int64_t sentence = static_cast<int64_t>(row) / beam_;
      for (const double each : model_.LogProbabilities(sentence, begun[row])) log_probabilities_.push_back(each);
      for (const double each : model_.Attention(sentence, begun[row])) attention_.push_back(each);
    }
    begun_ = std::move(begun);
    return NextWords{log_probabilities_, attention_};
  }

 private:
  const RandomModel& model_;
  const int64_t beam_;
  std::vector<std::vector<int32_t>> begun_;
  std::vector<float> log_probabilities_, attention_;
};

// All sequences that end within so many words, the best one first.
class EverySequence {
 public:
  EverySequence(const RandomModel& model, int64_t sentence, int64_t places, const BeamOptions& options)
      : model_(model), sentence_(sentence), options_(options) {
    Walk({}, 0, std::vector<double>(static_cast<size_t>(places)));
    std::ranges::stable_sort(found_, [](const auto& a, const auto& b) { return a.score > b.score; });
  }

  const std::vector<Hypothesis>& found() const { return found_; }

 private:
  void Walk(const std::vector<int32_t>& begun, double sum, std::vector<double> coverage) {
    if (static_cast<int64_t>(begun.size()) == options_.most_words) return;
    const std::vector<double> next = model_.LogProbabilities(sentence_, begun);
    const std::vector<double> attention = model_.Attention(sentence_, begun);
    for (size_t i = 0; i < coverage.size() && !attention.empty(); ++i) coverage[i] += attention[i];
    for (const int32_t word : {1, kEnd, 4, 5}) {
      if (word == kEnd) {
        found_.push_back({begun, Score(begun.size() + 1, sum + next[word], coverage), sum + next[word], true});
        continue;
      }
      std::vector<int32_t> more = begun;
      more.push_back(word);
      Walk(more, sum + next[word], coverage);
    }
  }

  double Score(size_t length, double sum, const std::vector<double>& coverage) const {
    double score = sum / (std::pow(5.0 + static_cast<double>(length), options_.length_penalty) /
                          std::pow(6.0, options_.length_penalty));
    for (const double each : coverage) {
      if (model_.attends()) score += options_.coverage_penalty * std::log(std::min(each, 1.0));
    }
    return score;
  }

  const RandomModel& model_;
  const int64_t sentence_;
  const BeamOptions& options_;
  std::vector<Hypothesis> found_;
};

absl::StatusOr<std::vector<std::vector<Hypothesis>>> Search(const RandomModel& model,
                                                            const std::vector<int64_t>& places,
                                                            const BeamOptions& options) {
  Rows rows(model, options.beam);
  return BeamSearch(places, options, [&](auto ids, auto parents) { return rows.Step(ids, parents); });
}

struct Penalties {
  double length = 0, coverage = 0;
  bool attends = true;
};

class WideBeam : public testing::TestWithParam<Penalties> {};

TEST_P(WideBeam, FindsTheBestOfAllSequences) {
  const BeamOptions options{40, 4, GetParam().length, GetParam().coverage};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const RandomModel model(seed, GetParam().attends);
    const std::vector<int64_t> places = {kPlaces, 2, 1};
    ASSERT_OK_AND_ASSIGN(const auto found, Search(model, places, options));
    ASSERT_EQ(found.size(), places.size());
    for (size_t s = 0; s < places.size(); ++s) {
      const EverySequence all(model, static_cast<int64_t>(s), places[s], options);
      ASSERT_FALSE(found[s].empty());
      EXPECT_EQ(found[s][0].words, all.found()[0].words) << seed << " " << s;
      EXPECT_NEAR(found[s][0].score, all.found()[0].score, 1e-9);
      EXPECT_NEAR(found[s][0].log_probability, all.found()[0].log_probability, 1e-9);
      EXPECT_TRUE(found[s][0].ended);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Penalties, WideBeam,
                         testing::Values(Penalties{}, Penalties{0.6, 0.1}, Penalties{0.6, 0.1, false},
                                         Penalties{2, 0.5}, Penalties{-0.5, 0}));

// Each is a sequence of the model with its score, however narrow the beam.
TEST(BeamSearch, FindsSequencesWithTheirScores) {
  int best = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const RandomModel model(seed, true);
    const BeamOptions options{3, 4};
    ASSERT_OK_AND_ASSIGN(const auto found, Search(model, {kPlaces}, options));
    const EverySequence all(model, 0, kPlaces, options);
    ASSERT_LE(found[0].size(), 3u);
    for (size_t h = 0; h < found[0].size(); ++h) {
      const auto same = std::ranges::find(all.found(), found[0][h].words, &Hypothesis::words);
      ASSERT_NE(same, all.found().end());
      EXPECT_NEAR(found[0][h].score, same->score, 1e-9);
      if (h > 0) {
        EXPECT_LE(found[0][h].score, found[0][h - 1].score);
      }
    }
    best += found[0][0].words == all.found()[0].words ? 1 : 0;
  }
  EXPECT_GE(best, 15) << "of 20";
}

TEST(BeamSearch, DoesNotDependOnWhatElseIsInTheBatch) {
  const RandomModel model(3, true);
  const BeamOptions options{3, 6};
  ASSERT_OK_AND_ASSIGN(const auto alone, Search(model, {kPlaces}, options));
  ASSERT_OK_AND_ASSIGN(const auto together, Search(model, {kPlaces, 1, 2}, options));
  ASSERT_EQ(alone[0].size(), together[0].size());
  for (size_t h = 0; h < alone[0].size(); ++h) EXPECT_EQ(alone[0][h].words, together[0][h].words);
}

// The same of every word everywhere.
NextWords Same(std::vector<float>& values, size_t rows, float end) {
  values.assign(rows * kWords, -1);
  for (size_t row = 0; row < rows; ++row) values[row * kWords + kEnd] = end;
  return {values, {}};
}

TEST(BeamSearch, TakesTheLowerWordOfEqualOnes) {
  std::vector<float> values;
  const auto step = [&](std::span<const int32_t> ids, auto) -> absl::StatusOr<NextWords> {
    return Same(values, ids.size(), -std::numeric_limits<float>::infinity());
  };
  ASSERT_OK_AND_ASSIGN(const auto found, BeamSearch(std::vector<int64_t>{0}, {2, 3}, step));
  ASSERT_EQ(found[0].size(), 2u);
  EXPECT_THAT(found[0][0].words, testing::ElementsAre(1, 1, 1));
  EXPECT_THAT(found[0][1].words, testing::ElementsAre(1, 1, 4));
  EXPECT_FALSE(found[0][0].ended);
  EXPECT_DOUBLE_EQ(found[0][0].score, -3 / std::pow(8.0 / 6, 0.6));
}

TEST(BeamSearch, EndsWhenNothingBetterCanCome) {
  int steps = 0;
  std::vector<float> values;
  const auto step = [&](std::span<const int32_t> ids, auto) -> absl::StatusOr<NextWords> {
    ++steps;
    return Same(values, ids.size(), -0.01F);
  };
  ASSERT_OK_AND_ASSIGN(const auto found, BeamSearch(std::vector<int64_t>{0, 0}, {4, 1000}, step));
  EXPECT_EQ(found[1][0].words, kBegun);
  EXPECT_LE(steps, 40) << "of 1000";
}

TEST(BeamSearch, RefusesWhatIsNoModel) {
  const std::vector<int64_t> places = {2};
  std::vector<float> values, attention;
  const auto step = [&](auto, auto) -> absl::StatusOr<NextWords> { return NextWords{values, attention}; };
  const auto refusal = [&](const BeamOptions& options) {
    return std::string(BeamSearch(places, options, step).status().message());
  };
  EXPECT_THAT(refusal({0}), testing::HasSubstr("a beam of 0"));
  EXPECT_THAT(refusal({2, 0}), testing::HasSubstr("0 words"));
  EXPECT_THAT(refusal({2, 5, 0.6, -1}), testing::HasSubstr("coverage penalty of -1"));
  values.assign(7, -1);
  EXPECT_THAT(refusal({2}), testing::HasSubstr("7 log-probabilities of 2 rows"));
  values.assign(6, -1);
  EXPECT_THAT(refusal({2}), testing::HasSubstr("whose word 3 is the end"));
  values.assign(12, -1);
  values[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(refusal({2}), testing::HasSubstr("row 1: a log-probability is nan"));
  values[7] = -1;
  attention.assign(2, 0.5F);
  EXPECT_THAT(refusal({2}), testing::HasSubstr("up to 2 places"));
}

TEST(BeamSearch, EndsWithTheErrorOfAStep) {
  const auto step = [](auto, auto) -> absl::StatusOr<NextWords> { return absl::DataLossError("gone"); };
  EXPECT_EQ(BeamSearch(std::vector<int64_t>{1}, {}, step).status().message(), "gone");
  EXPECT_TRUE(BeamSearch({}, {}, step).ok()) << "nobody asked";
}

}  // namespace
}  // namespace partita

// Batches of a text: rows go on from batch to batch, every word of an evaluation counts once, and rows do not depend on
// who asks for which.
#include "runtime/data/text/token_batches.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

// 0, 1, 2, ...
std::vector<int32_t> Words(int64_t count) {
  std::vector<int32_t> words(static_cast<size_t>(count));
  std::iota(words.begin(), words.end(), 0);
  return words;
}

std::vector<WantedField> Wanted(int64_t places, bool weights = true) {
  std::vector<WantedField> wanted = {{{"ids", DType::kI32, {places}}}, {{"targets", DType::kI32, {places}}}};
  if (weights) wanted.push_back({{"weights", DType::kF64, {places}}});
  return wanted;
}

absl::StatusOr<std::shared_ptr<TokenBatches>> Make(BatchMode mode, int64_t count, int64_t rows,
                                                   std::vector<WantedField> wanted) {
  return TokenBatches::Create(Words(count), {mode, rows, std::move(wanted)});
}

struct Filled {
  std::vector<int32_t> ids, targets;
  std::vector<double> weights;
  std::vector<float> row_weights;
};

Filled Fill(const BatchSource& source, int64_t batch, Rows rows) {
  const auto count = static_cast<size_t>(rows.size()), places = static_cast<size_t>(source.fields()[0].row[0]);
  Filled filled{std::vector<int32_t>(count * places), std::vector<int32_t>(count * places),
                std::vector<double>(count * places), std::vector<float>(count)};
  const auto bytes = [](auto& values) { return std::as_writable_bytes(std::span(values)); };
  EXPECT_OK(source.Fill(batch, rows,
                        {bytes(filled.ids), bytes(filled.targets), bytes(filled.weights), bytes(filled.row_weights)}));
  return filled;
}

TEST(TokenBatches, RowsGoOnFromBatchToBatch) {
  // 22 words follow another: two rows of two batches of 5, and two words that are left out.
  ASSERT_OK_AND_ASSIGN(const auto source, Make(BatchMode::kTraining, 23, 2, Wanted(5)));
  EXPECT_EQ(source->batches_per_epoch(), 2);
  EXPECT_EQ(source->samples(), 4);
  for (int64_t batch = 0; batch < 5; ++batch) {
    const Filled filled = Fill(*source, batch, {0, 2});
    for (int64_t i = 0; i < 10; ++i) {
      const int64_t word = i / 5 * 10 + batch % 2 * 5 + i % 5;
      EXPECT_EQ(filled.ids[i], word) << batch;
      EXPECT_EQ(filled.targets[i], word + 1) << batch;
      EXPECT_EQ(filled.weights[i], 1) << batch;
    }
    EXPECT_EQ(filled.row_weights, std::vector<float>({1, 1}));
  }
}

// Whatever fills up the last places and rows: 7 words in a row of 3, 2 or none.
TEST(TokenBatches, EveryWordOfAnEvaluationCountsOnce) {
  for (const int64_t count : {2, 8, 20, 21, 22, 23, 61}) {
    for (const int64_t rows : {1, 3, 4}) {
      ASSERT_OK_AND_ASSIGN(const auto source, Make(BatchMode::kEvaluation, count, rows, Wanted(5)));
      EXPECT_EQ(source->samples() % rows, 0);
      std::map<int32_t, int> seen;
      double weights = 0;
      for (int64_t batch = 0; batch < source->batches_per_epoch(); ++batch) {
        const Filled filled = Fill(*source, batch, {0, rows});
        for (size_t i = 0; i < filled.ids.size(); ++i) {
          weights += filled.weights[i];
          if (filled.weights[i] == 0) continue;
          EXPECT_EQ(filled.targets[i], filled.ids[i] + 1);
          ++seen[filled.targets[i]];
        }
      }
      EXPECT_EQ(static_cast<int64_t>(seen.size()), count - 1);
      for (const auto& [word, times] : seen) EXPECT_EQ(times, 1) << word;
      EXPECT_EQ(weights, static_cast<double>(source->words())) << "each word counts 1";
    }
  }
}

TEST(TokenBatches, RowsAreThoseOfTheWholeBatchWhoeverAsks) {
  ASSERT_OK_AND_ASSIGN(const auto source, Make(BatchMode::kEvaluation, 50, 7, Wanted(3)));
  for (const int64_t batch : {2, 0, 1}) {
    const Filled whole = Fill(*source, batch, {0, 7});
    for (int64_t row = 0; row < 7; ++row) {
      const Filled own = Fill(*source, batch, {row, row + 1});
      for (int64_t t = 0; t < 3; ++t) {
        EXPECT_EQ(own.targets[t], whole.targets[row * 3 + t]);
        EXPECT_EQ(own.weights[t], whole.weights[row * 3 + t]);
      }
    }
  }
}

TEST(TokenBatches, RefusesWhatDoesNotFit) {
  const auto refused = [](const auto& made) { return std::string(made.status().message()); };
  EXPECT_EQ(refused(Make(BatchMode::kTraining, 10, 2, Wanted(5))), "found 10 words, 2 rows of 5 need at least 11");
  EXPECT_EQ(refused(Make(BatchMode::kEvaluation, 1, 2, Wanted(5))), "found 1 word, 2 rows of 5 need at least 2");
  EXPECT_EQ(refused(Make(BatchMode::kEvaluation, 12, 2, Wanted(5, false))),
            "found 12 words, of which the last batch of 2 rows of 5 is not full; the graph has no input 'weights', so "
            "what fills it up would count");
  EXPECT_OK(Make(BatchMode::kEvaluation, 11, 2, Wanted(5, false)).status());
  EXPECT_EQ(refused(Make(BatchMode::kTraining, 30, 2, {{{"images", DType::kF32, {5}}}})),
            "the graph takes field 'images'; text has ids, targets and weights");
  EXPECT_EQ(refused(Make(BatchMode::kTraining, 30, 2, {{{"ids", DType::kI32, {5}}}, {{"targets", DType::kI32, {4}}}})),
            "field 'targets': the graph takes i32[4] in each row; text has i32[5]");
  EXPECT_EQ(refused(Make(BatchMode::kTraining, 30, 2, {{{"ids", DType::kF32, {5}}}})),
            "field 'ids': the graph takes f32[5] in each row; text has i32[words]");
}

}  // namespace
}  // namespace partita

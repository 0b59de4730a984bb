// The rows of batches of arrays: order, filling, weights, and that rows do not depend on who asks for which.
#include "runtime/data/arrays/array_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "runtime/data/arrays/synthetic_batches.h"

namespace partita {
namespace {

// Fields of `count` rows: i, twice; and the byte i.
std::vector<ArrayField> Arrays(int64_t count) {
  std::vector<float> numbers;
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < count; ++i) {
    numbers.insert(numbers.end(), 2, static_cast<float>(i));
    bytes.push_back(static_cast<uint8_t>(i));
  }
  const auto* const first = reinterpret_cast<const uint8_t*>(numbers.data());
  std::vector<double> table;
  for (int byte = 0; byte < 256; ++byte) table.push_back(byte + 0.5);
  return {{{"numbers", DType::kF32, {2}}, count, {first, first + count * 8}, {}},
          {{"scaled", DType::kF64, {}}, count, bytes, table}};
}

std::shared_ptr<const BatchSource> Batches(BatchMode mode, int64_t count, int64_t rows, uint64_t seed = 1) {
  return ArrayBatches::Create(Arrays(count), {mode, rows, seed, {"weights", DType::kF32, {}}}).value();
}

struct Filled {
  std::vector<float> numbers, weights;
  std::vector<double> scaled;
  bool operator==(const Filled&) const = default;
};

Filled Fill(const BatchSource& source, int64_t batch, Rows rows) {
  const auto size = static_cast<size_t>(rows.size());
  Filled filled{std::vector<float>(2 * size), std::vector<float>(size), std::vector<double>(size)};
  EXPECT_TRUE(
      source
          .Fill(batch, rows,
                {std::as_writable_bytes(std::span(filled.numbers)), std::as_writable_bytes(std::span(filled.scaled)),
                 std::as_writable_bytes(std::span(filled.weights))})
          .ok());
  return filled;
}

TEST(ArrayBatches, AnEpochIsAPermutationOfWholeBatches) {
  const auto source = Batches(BatchMode::kTraining, 11, 4);
  EXPECT_EQ(source->batches_per_epoch(), 2);
  std::vector<float> orders[2];
  for (int64_t batch = 0; batch < 4; ++batch) {
    const Filled filled = Fill(*source, batch, {0, 4});
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(filled.numbers[2 * i], filled.numbers[2 * i + 1]);
      EXPECT_EQ(filled.scaled[i], filled.numbers[2 * i] + 0.5);
      EXPECT_EQ(filled.weights[i], 1);
      orders[batch / 2].push_back(filled.numbers[2 * i]);
    }
  }
  for (const std::vector<float>& order : orders) EXPECT_EQ(std::set<float>(order.begin(), order.end()).size(), 8U);
  EXPECT_NE(orders[0], orders[1]);
  EXPECT_NE(Fill(*Batches(BatchMode::kTraining, 11, 4, 2), 0, {0, 4}), Fill(*source, 0, {0, 4}));
}

TEST(ArrayBatches, RowsAreThoseOfTheWholeBatchWhoeverAsks) {
  const auto source = Batches(BatchMode::kTraining, 50, 7);
  for (const int64_t batch : {0, 9, 3}) {
    const Filled whole = Fill(*source, batch, {0, 7});
    for (int64_t cut = 0; cut <= 7; ++cut) {
      const Filled front = Fill(*source, batch, {0, cut}), back = Fill(*source, batch, {cut, 7});
      EXPECT_TRUE(std::equal(front.scaled.begin(), front.scaled.end(), whole.scaled.begin()));
      EXPECT_TRUE(std::equal(back.numbers.begin(), back.numbers.end(), whole.numbers.begin() + 2 * cut));
    }
  }
}

TEST(ArrayBatches, TheLastBatchOfAnEvaluationIsFilledUp) {
  const auto source = Batches(BatchMode::kEvaluation, 6, 4);
  EXPECT_EQ(source->batches_per_epoch(), 2);
  EXPECT_EQ(source->samples(), 6);
  EXPECT_EQ(Fill(*source, 1, {0, 4}), (Filled{{4, 4, 5, 5, 0, 0, 0, 0}, {2, 2, 0, 0}, {4.5, 5.5, 0.5, 0.5}}));
}

// Other rows than the first are never read twice, and in a field that counts nothing is.
TEST(ArrayBatches, WhatFillsUpIsTheFirstRowOrCountsNothing) {
  const std::vector<float> numbers = {2, 3, 4};
  const auto* const bytes = reinterpret_cast<const uint8_t*>(numbers.data());
  for (const bool counts : {false, true}) {
    const ArrayField field{{"x", DType::kF32, {}}, 3, {bytes, bytes + 12}, {}, "x.npy", false, counts};
    const auto source =
        ArrayBatches::Create({field}, {BatchMode::kEvaluation, 2, 1, {"weights", DType::kF32, {}}}).value();
    std::vector<float> values(2), weights(2);
    ASSERT_TRUE(
        source->Fill(1, {0, 2}, {std::as_writable_bytes(std::span(values)), std::as_writable_bytes(std::span(weights))})
            .ok());
    EXPECT_EQ(values, (std::vector<float>{4, counts ? 0.0F : 2.0F}));
    EXPECT_EQ(weights, (std::vector<float>{2, 0}));
  }
}

TEST(ArrayBatches, RefusesLessThanABatch) {
  const auto made = ArrayBatches::Create(Arrays(3), {BatchMode::kTraining, 4, 1, {"w", DType::kF32, {}}});
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(ArrayBatches::Create(Arrays(3), {BatchMode::kEvaluation, 4, 1, {"w", DType::kF32, {}}}).ok());
}

// Rows of two weights, of which some are padding.
const std::vector<float> kWeights = {1, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0.5, 0, 0};

absl::StatusOr<std::shared_ptr<ArrayBatches>> Weighed(BatchMode mode, bool divides, int64_t rows) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(kWeights.data());
  const ArrayField field{{"w", DType::kF32, {2}}, 8, {bytes, bytes + 64}, {}, "w.npy", divides};
  return ArrayBatches::Create({field}, {mode, rows, 1, {"weights", DType::kF32, {}}});
}

// Batch 2 of an evaluation by 2 rows is of nothing else: it counts nothing. A set of nothing else is refused.
TEST(ArrayBatches, AnEvaluationIsDividedByTheSumOfTheSet) {
  EXPECT_TRUE(Weighed(BatchMode::kEvaluation, true, 2).ok());
  EXPECT_TRUE(Weighed(BatchMode::kEvaluation, true, 1).ok());
  const std::vector<float> zeros(16);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(zeros.data());
  const auto made = [&](bool divides) {
    const ArrayField field{{"w", DType::kF32, {2}}, 8, {bytes, bytes + 64}, {}, "w.npy", divides};
    return ArrayBatches::Create({field}, {BatchMode::kEvaluation, 2, 1, {"weights", DType::kF32, {}}}).status();
  };
  EXPECT_TRUE(made(false).ok());
  EXPECT_EQ(made(true).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(made(true).message()),
            "w.npy: field 'w': all rows add up to 0; the graph divides by their sum");
}

// Which batches of training have nothing else is drawn anew in each epoch: their rows are refused whoever asks for
// whichever, and those that are planned can be looked at before.
TEST(ArrayBatches, ABatchOfTrainingByWhoseSumNothingCanBeDividedIsRefused) {
  const auto source = Weighed(BatchMode::kTraining, true, 2).value();
  const auto filled = [&](int64_t batch, Rows rows) {
    std::vector<float> values(static_cast<size_t>(rows.size()) * 2), counts(static_cast<size_t>(rows.size()));
    return source->Fill(batch, rows,
                        {std::as_writable_bytes(std::span(values)), std::as_writable_bytes(std::span(counts))});
  };
  int64_t bad = 0;
  while (bad < 1000 && filled(bad, {0, 2}).ok()) ++bad;
  ASSERT_LT(bad, 1000);
  for (const Rows rows : {Rows{0, 2}, Rows{1, 2}}) {
    EXPECT_EQ(filled(bad, rows).code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(source->CheckBatches(0, bad).ok());
  EXPECT_EQ(source->CheckBatches(0, bad + 1), filled(bad, {0, 2}));
  EXPECT_TRUE(source->CheckBatches(bad + 1, bad + 1).ok());
  EXPECT_TRUE(Weighed(BatchMode::kTraining, true, 5).value()->CheckBatches(0, 1000).ok());  // 4 rows count nothing
}

// Rows of two labels, of which the graph ignores -100.
absl::StatusOr<std::shared_ptr<ArrayBatches>> Labelled(BatchMode mode, const std::vector<int32_t>& labels,
                                                       int64_t batch_rows) {
  const auto* const bytes = reinterpret_cast<const uint8_t*>(labels.data());
  const auto rows = static_cast<int64_t>(labels.size()) / 2;
  const ArrayField field{{"t", DType::kI32, {2}}, rows, {bytes, bytes + rows * 8}, {}, "t.npy", true, true, -100};
  return ArrayBatches::Create({field}, {mode, batch_rows, 1, {"weights", DType::kF32, {}}});
}

TEST(ArrayBatches, ABatchOfIgnoredLabelsIsRefused) {
  const std::vector<int32_t> labels = {0, -100, -100, -100, 3, 0};
  EXPECT_TRUE(Labelled(BatchMode::kEvaluation, labels, 1).ok());
  EXPECT_TRUE(Labelled(BatchMode::kTraining, labels, 2).value()->CheckBatches(0, 1000).ok());
  const absl::Status batch = Labelled(BatchMode::kTraining, labels, 1).value()->CheckBatches(0, 3);
  EXPECT_EQ(batch.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(batch.message()).find("t.npy: field 't': rows 1, which are batch "), std::string::npos);
  EXPECT_EQ(std::string(Labelled(BatchMode::kEvaluation, std::vector<int32_t>(6, -100), 2).status().message()),
            "t.npy: field 't': all rows have no label but -100, which the graph ignores; it divides by the number of "
            "all others");
}

TEST(ArrayBatches, TheDigestKnowsEveryPart) {
  std::vector<ArrayField> other = Arrays(4);
  const uint64_t digest = Digest(Arrays(4));
  EXPECT_EQ(Digest(other), digest);
  other[0].bytes[5] ^= 1;
  EXPECT_NE(Digest(other), digest);
  other = Arrays(4);
  other[1].table[7] = 0;
  EXPECT_NE(Digest(other), digest);
  other = Arrays(4);
  other[1].field.name = "other";
  EXPECT_NE(Digest(other), digest);
}

TEST(SyntheticBatches, AreRandomOfTheWantedForm) {
  const SyntheticBatches source(
      {{{"x", DType::kF32, {3, 3}}}, {{"labels", DType::kI32, {}}, 5}, {{"b", DType::kU8, {}}}},
      {1000, 2, 7, {"weights", DType::kF64, {}}});
  EXPECT_EQ(source.samples(), 2000);
  std::vector<float> x(9000);
  std::vector<int32_t> labels(1000);
  std::vector<uint8_t> bytes(1000);
  std::vector<double> weights(1000);
  const FieldBuffers out = {std::as_writable_bytes(std::span(x)), std::as_writable_bytes(std::span(labels)),
                            std::as_writable_bytes(std::span(bytes)), std::as_writable_bytes(std::span(weights))};
  ASSERT_TRUE(source.Fill(1, {0, 1000}, out).ok());
  double sum = 0, squares = 0;
  for (const float value : x) sum += value, squares += value * value;
  EXPECT_NEAR(sum / 9000, 0, 0.05);
  EXPECT_NEAR(squares / 9000, 1, 0.05);
  std::map<int32_t, int> seen;
  for (const int32_t label : labels) ++seen[label];
  EXPECT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen.begin()->first, 0);
  EXPECT_EQ(weights, std::vector<double>(1000, 1));
  const std::vector<float> whole = x;
  const FieldBuffers part = {out[0].first(36), out[1].first(4), out[2].first(1), out[3].first(8)};
  ASSERT_TRUE(source.Fill(3, {999, 1000}, part).ok());  // the same epoch once more
  EXPECT_TRUE(std::equal(x.begin(), x.begin() + 9, whole.end() - 9));
}

TEST(SyntheticBatches, SomeLabelsAreIgnoredAndNeverAllOfARow) {
  const SyntheticBatches source({{.field = {"labels", DType::kI32, {8}}, .classes = 3, .ignored = -100}},
                                {1000, 2, 7, {"weights", DType::kF32, {}}});
  std::vector<int32_t> labels(8000);
  std::vector<float> weights(1000);
  const FieldBuffers out = {std::as_writable_bytes(std::span(labels)), std::as_writable_bytes(std::span(weights))};
  ASSERT_TRUE(source.Fill(1, {0, 1000}, out).ok());
  const auto ignored = std::ranges::count(labels, -100);
  EXPECT_GT(ignored, 1500);
  EXPECT_LT(ignored, 2000);
  for (size_t row = 0; row < 1000; ++row) EXPECT_NE(labels[8 * row], -100);
  const std::vector<int32_t> whole = labels;
  ASSERT_TRUE(source.Fill(1, {999, 1000}, {out[0].first(32), out[1].first(4)}).ok());
  EXPECT_TRUE(std::equal(labels.begin(), labels.begin() + 8, whole.end() - 8));
}

TEST(SyntheticBatches, SequencesAreWholeAndEveryPlaceCounts) {
  const SyntheticBatches source(
      {{.field = {"lengths", DType::kI32, {}}, .places = 7}, {.field = {"counts", DType::kF64, {2}}, .weighs = true}},
      {3, 2, 7, {"weights", DType::kF32, {}}});
  std::vector<int32_t> lengths(3);
  std::vector<double> counts(6);
  std::vector<float> weights(3);
  const FieldBuffers out = {std::as_writable_bytes(std::span(lengths)), std::as_writable_bytes(std::span(counts)),
                            std::as_writable_bytes(std::span(weights))};
  ASSERT_TRUE(source.Fill(1, {0, 3}, out).ok());
  EXPECT_EQ(lengths, std::vector<int32_t>(3, 7));
  EXPECT_EQ(counts, std::vector<double>(6, 1));
}

}  // namespace
}  // namespace partita

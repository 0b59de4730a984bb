// Batches of pairs: what a row has, which bucket a pair is in, that an evaluation counts every target once, and that
// rows do not depend on who asks for which.
#include "runtime/data/pairs/pair_batches.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "tests/runtime/data/pairs/pair_files.h"

namespace partita {
namespace {

using Ids = std::vector<int32_t>;

std::vector<WantedField> Wanted(int64_t source, int64_t target) {
  return {{{"source", DType::kI32, {source}}},
          {{"source_lengths", DType::kI32, {}}},
          {{"ids", DType::kI32, {target}}},
          {{"targets", DType::kI32, {target}}},
          {{"weights", DType::kF64, {target}}}};
}

PairBatchOptions Options(BatchMode mode, int64_t rows, std::vector<WantedField> wanted,
                         std::vector<PairSize> further = {}) {
  return {mode, rows, 3, std::move(wanted), std::move(further)};
}

struct Filled {
  Ids source, lengths, ids, targets;
  std::vector<double> weights;
  std::vector<float> row_weights;
};

Filled Fill(const BatchSource& source, int64_t batch, Rows rows) {
  const std::vector<Field>& fields = source.fields_of(source.bucket(batch));
  const auto size = [&](size_t f) { return static_cast<size_t>(rows.size() * Elements(fields[f].row)); };
  Filled filled{Ids(size(0), 77), Ids(size(1), 77),           Ids(size(2), 77),
                Ids(size(3), 77), std::vector(size(4), 77.0), std::vector(size(5), 77.0F)};
  const auto bytes = [](auto& values) { return std::as_writable_bytes(std::span(values)); };
  EXPECT_OK(source.Fill(batch, rows,
                        {bytes(filled.source), bytes(filled.lengths), bytes(filled.ids), bytes(filled.targets),
                         bytes(filled.weights), bytes(filled.row_weights)}));
  return filled;
}

// 11 pairs, pair i with 1 + i % 4 words and 1 + i % 3 words; the first of both is a letter of its own.
PairSet Eleven() {
  std::string source, target;
  for (int i = 0; i < 11; ++i) {
    for (int w = 0; w <= i % 4; ++w) source += "abcde"[(i + w) % 5] + std::string(" ");
    for (int w = 0; w <= i % 3; ++w) target += "abcde"[(i + w) % 5] + std::string(" ");
    source += "\n", target += "\n";
  }
  return Pairs(source, target).value();
}

TEST(PairBatches, ShiftTargetsByOnePlaceAndFillUpWithZeros) {
  ASSERT_OK_AND_ASSIGN(const PairSet pairs, Pairs("a b c\nd\n", "e d\nc\n"));
  ASSERT_OK_AND_ASSIGN(const auto source, PairBatches::Create(pairs, Options(BatchMode::kEvaluation, 3, Wanted(4, 3))));
  const Filled filled = Fill(*source, 0, {0, 3});
  EXPECT_EQ(filled.source, Ids({4, 5, 6, 0, 7, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(filled.lengths, Ids({3, 1, 1}));
  EXPECT_EQ(filled.ids, Ids({kBeginId, 8, 7, kBeginId, 6, 0, 0, 0, 0}));
  EXPECT_EQ(filled.targets, Ids({8, 7, kEndId, 6, kEndId, 0, 0, 0, 0}));
  EXPECT_EQ(filled.weights, std::vector<double>({1, 1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(filled.row_weights, std::vector<float>({1.5, 1.5, 0}));
}

TEST(PairBatches, APairIsInTheSmallestBucketThatItFitsInto) {
  ASSERT_OK_AND_ASSIGN(const PairSet pairs, Pairs("a b\na b c\na b\na\n", "a\na\na b\na b c d\n"));
  ASSERT_OK_AND_ASSIGN(const auto source, PairBatches::Create(pairs, Options(BatchMode::kEvaluation, 1, Wanted(4, 5),
                                                                             {{2, 2}, {3, 2}, {3, 3}})));
  ASSERT_EQ(source->buckets(), 4);
  std::vector<int64_t> buckets;
  for (int64_t batch = 0; batch < 4; ++batch) buckets.push_back(source->bucket(batch));
  EXPECT_EQ(buckets, std::vector<int64_t>({0, 1, 2, 3}));
  EXPECT_EQ(Fill(*source, 0, {0, 1}).source, Ids({4, 5}));
  EXPECT_EQ(Fill(*source, 1, {0, 1}).source, Ids({4, 5, 6}));
  EXPECT_EQ(Fill(*source, 2, {0, 1}).targets, Ids({4, 5, kEndId}));
  EXPECT_EQ(Fill(*source, 3, {0, 1}).targets, Ids({4, 5, 6, 7, kEndId}));
  EXPECT_EQ(source->fields()[0].row, Shape({4}));
  EXPECT_EQ(source->fields_of(1)[4].row, Shape({2}));
}

TEST(PairBatches, EveryTargetOfAnEvaluationCountsOnce) {
  for (const int64_t rows : {1, 3, 4, 20}) {
    for (const bool bucketed : {false, true}) {
      const std::vector<PairSize> smaller = bucketed ? std::vector<PairSize>{{1, 2}, {2, 3}} : std::vector<PairSize>{};
      ASSERT_OK_AND_ASSIGN(const auto source,
                           PairBatches::Create(Eleven(), Options(BatchMode::kEvaluation, rows, Wanted(4, 4), smaller)));
      EXPECT_EQ(source->samples(), 11);
      double targets = 0;
      int64_t samples = 0;
      for (int64_t batch = 0; batch < source->batches_per_epoch(); ++batch) {
        const std::vector<double> weights = Fill(*source, batch, {0, rows}).weights;
        targets += std::accumulate(weights.begin(), weights.end(), 0.0);
        samples += source->samples_of(batch);
      }
      EXPECT_EQ(targets, 21 + 11);
      EXPECT_EQ(source->words(), 21 + 11);
      EXPECT_EQ(samples, 11);
    }
  }
}

TEST(PairBatches, AnEpochOfTrainingHasEachPairOnceInAnyBuckets) {
  ASSERT_OK_AND_ASSIGN(const auto source, PairBatches::Create(Eleven(), Options(BatchMode::kTraining, 1, Wanted(4, 4),
                                                                                {{1, 2}, {2, 3}, {3, 4}})));
  std::map<Ids, int> seen, second;
  for (int64_t batch = 0; batch < 22; ++batch) {
    const Filled filled = Fill(*source, batch, {0, 1});
    Ids words(filled.source.begin(), filled.source.begin() + filled.lengths[0]);
    words.insert(words.end(), filled.targets.begin(), std::ranges::find(filled.targets, 0));
    ++(batch < 11 ? seen : second)[words];
  }
  EXPECT_EQ(seen.size(), 11u);
  EXPECT_EQ(seen, second);
}

TEST(PairBatches, RowsAreThoseOfTheWholeBatchWhoeverAsks) {
  for (const BatchMode mode : {BatchMode::kTraining, BatchMode::kEvaluation}) {
    ASSERT_OK_AND_ASSIGN(const auto source, PairBatches::Create(Eleven(), Options(mode, 4, Wanted(4, 4), {{2, 4}})));
    for (int64_t batch = source->batches_per_epoch() - 1; batch >= 0; --batch) {
      const Filled whole = Fill(*source, batch, {0, 4});
      const size_t places = whole.targets.size() / 4;
      for (int64_t row = 0; row < 4; ++row) {
        const Filled own = Fill(*source, batch, {row, row + 1});
        EXPECT_EQ(own.lengths[0], whole.lengths[row]);
        EXPECT_EQ(own.row_weights[0], whole.row_weights[row]);
        for (size_t t = 0; t < places; ++t) EXPECT_EQ(own.targets[t], whole.targets[row * places + t]);
      }
    }
  }
}

TEST(PairBatches, PairsThatAreTooLongAreRefusedOrLeftOut) {
  PairBatchOptions options = Options(BatchMode::kTraining, 2, Wanted(3, 3));
  EXPECT_EQ(Said(PairBatches::Create(Eleven(), options).status()),
            "target.txt: line 3: found 3 words, the graph takes at most 2; too long are 5 of 11 pairs");
  options.wanted = Wanted(2, 5);
  EXPECT_EQ(Said(PairBatches::Create(Eleven(), options).status()),
            "source.txt: line 3: found 3 words, the graph takes at most 2; too long are 5 of 11 pairs");
  options.long_pairs = LongPairs::kLeaveOut;
  ASSERT_OK_AND_ASSIGN(const auto source, PairBatches::Create(Eleven(), options));
  EXPECT_EQ(source->left_out(), 5);
  EXPECT_EQ(source->samples(), 6);
  options.wanted = Wanted(3, 1);
  EXPECT_EQ(Said(PairBatches::Create(Eleven(), options).status()),
            "target.txt: line 1: found 1 word, the graph takes at most 0; too long are 11 of 11 pairs");
}

TEST(PairBatches, PairsThatAreTooLongMayBeCut) {
  ASSERT_OK_AND_ASSIGN(const PairSet pairs, Pairs("a b c d e\na\nb\n", "a\na b c d\nb\n"));
  PairBatchOptions options = Options(BatchMode::kEvaluation, 1, Wanted(3, 3), {{1, 2}});
  options.long_pairs = LongPairs::kCut;
  ASSERT_OK_AND_ASSIGN(const auto source, PairBatches::Create(pairs, options));
  EXPECT_EQ(source->cut(), 2);
  EXPECT_EQ(source->left_out(), 0);
  EXPECT_EQ(Fill(*source, 0, {0, 1}).source, Ids({5}));  // of the smaller size
  const Filled long_source = Fill(*source, 1, {0, 1}), long_target = Fill(*source, 2, {0, 1});
  EXPECT_EQ(long_source.source, Ids({4, 5, 6}));
  EXPECT_EQ(long_source.lengths, Ids({3}));
  EXPECT_EQ(long_source.targets, Ids({4, kEndId, 0}));
  EXPECT_EQ(long_target.ids, Ids({kBeginId, 4, 5}));
  EXPECT_EQ(long_target.targets, Ids({4, 5, kEndId}));
  EXPECT_EQ(source->words(), 2 + 2 + 3);
}

TEST(PairBatches, SourcesAreEnoughWhereNobodyReadsTargets) {
  ASSERT_OK_AND_ASSIGN(const PairSet pairs, ReadSources(FileOf("alone.txt", "a b\nc\n"), Letters()));
  std::vector<WantedField> wanted = Wanted(4, 4);
  EXPECT_TRUE(NeedTargets(wanted));
  for (size_t f = 2; f < wanted.size(); ++f) wanted[f].needed = false;
  EXPECT_FALSE(NeedTargets(wanted));
  ASSERT_OK_AND_ASSIGN(const auto source, PairBatches::Create(pairs, Options(BatchMode::kEvaluation, 2, wanted)));
  const Filled filled = Fill(*source, 0, {0, 2});
  EXPECT_EQ(filled.source, Ids({4, 5, 0, 0, 6, 0, 0, 0}));
  EXPECT_EQ(filled.targets, Ids({kEndId, 0, 0, 0, kEndId, 0, 0, 0}));
}

TEST(PairBatches, RefuseWhatDoesNotFit) {
  const auto refused = [](const std::vector<WantedField>& wanted, const std::vector<PairSize>& further = {}) {
    return Said(PairBatches::Create(Eleven(), Options(BatchMode::kTraining, 2, wanted, further)).status());
  };
  EXPECT_EQ(refused({{{"images", DType::kF32, {5}}}}),
            "source.txt: the graph takes field 'images'; parallel texts have source, source_lengths, ids, targets and "
            "weights");
  EXPECT_EQ(refused({{{"source_lengths", DType::kI32, {}}}}),
            "source.txt: the graph takes no words of a parallel text");
  std::vector<WantedField> wanted = Wanted(4, 4);
  wanted[3].field.row = {5};
  EXPECT_EQ(refused(wanted),
            "source.txt: field 'targets': the graph takes i32[5] in each row; parallel texts have i32[4]");
  wanted = Wanted(4, 4);
  wanted[1].field.row = {1};
  EXPECT_EQ(refused(wanted),
            "source.txt: field 'source_lengths': the graph takes i32[1] in each row; parallel texts have i32");
  wanted = Wanted(4, 4);
  wanted[0].field.dtype = DType::kF32;
  EXPECT_EQ(refused(wanted),
            "source.txt: field 'source': the graph takes f32[4] in each row; parallel texts have i32[words]");
  EXPECT_EQ(refused(Wanted(4, 4), {{3, 4}, {5, 3}}),
            "source.txt: batches of 4 and 4 words, and of 5 and 3: neither size holds the other");
  EXPECT_EQ(Said(PairBatches::Create(Eleven(), Options(BatchMode::kTraining, 12, Wanted(4, 4))).status()),
            "source.txt: data: found 11 samples, a training batch of 12 needs at least as many");
}

}  // namespace
}  // namespace partita

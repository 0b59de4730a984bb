#include "runtime/data/pairs/pair_batches.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr size_t kMostBuckets = 256;

// All buckets, the largest last.
absl::StatusOr<std::vector<PairSize>> SizesOf(const PairBatchOptions& options) {
  std::vector<PairSize> sizes = options.further;
  ASSIGN_OR_RETURN(sizes.emplace_back(), PairSizeOf(options.wanted));
  std::ranges::sort(sizes);
  sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
  if (sizes.size() > kMostBuckets) {
    return InvalidArgument("found {} sizes of batches, allowed are {}", sizes.size(), kMostBuckets);
  }
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i].target >= sizes[i - 1].target) continue;
    return InvalidArgument("batches of {} and {} words, and of {} and {}: neither size holds the other",
                           sizes[i - 1].source, sizes[i - 1].target, sizes[i].source, sizes[i].target);
  }
  return sizes;
}

// The place of the smallest bucket that has room; sizes.size(): none has.
size_t BucketOf(int64_t source, int64_t target, const std::vector<PairSize>& sizes) {
  const auto fits = [&](const PairSize& size) { return source <= size.source && target < size.target; };
  return static_cast<size_t>(std::ranges::find_if(sizes, fits) - sizes.begin());
}

absl::Status TooLong(const PairSet& pairs, int64_t pair, int64_t count, const PairSize& largest) {
  const auto source = static_cast<int64_t>(pairs.source[pair].size());
  const bool of_source = source > largest.source;
  const Sentences& side = of_source ? pairs.source : pairs.target;
  return InvalidArgument("{}: line {}: found {}, the graph takes at most {}; too long are {} of {}", side.path,
                         pair + 1, Counted(side[pair].size(), "word"), of_source ? largest.source : largest.target - 1,
                         count, Counted(pairs.count(), "pair"));
}

std::vector<std::vector<Field>> FieldsOf(const PairBatchOptions& options, const std::vector<PairSize>& sizes) {
  std::vector<std::vector<Field>> fields;
  for (const PairSize& size : sizes) {
    fields.push_back(PairFields(options.wanted, size));
    fields.back().push_back(options.row_weights);
  }
  return fields;
}

}  // namespace

absl::StatusOr<std::shared_ptr<PairBatches>> PairBatches::Create(PairSet pairs, const PairBatchOptions& options) {
  const absl::StatusOr<std::vector<PairSize>> sizes = SizesOf(options);
  if (!sizes.ok()) return WithContext(pairs.source.path, sizes.status());
  ASSIGN_OR_RETURN(Fitting fitting, Fit(pairs, *sizes, options.long_pairs));
  const absl::Status enough =
      SampleOrder::Check(options.mode, static_cast<int64_t>(fitting.pairs.size()), options.batch_rows);
  if (!enough.ok()) return WithContext(pairs.source.path, enough);
  return std::shared_ptr<PairBatches>(new PairBatches(std::move(pairs), options, *sizes, std::move(fitting)));
}

absl::StatusOr<PairBatches::Fitting> PairBatches::Fit(const PairSet& pairs, const std::vector<PairSize>& sizes,
                                                      LongPairs policy) {
  if (pairs.count() > std::numeric_limits<uint32_t>::max()) {
    return InvalidArgument("{}: found {} lines, allowed are {}", pairs.source.path, pairs.count(),
                           std::numeric_limits<uint32_t>::max());
  }
  Fitting fitting;
  int64_t first_long = -1;
  for (int64_t pair = 0; pair < pairs.count(); ++pair) {
    size_t bucket = BucketOf(static_cast<int64_t>(pairs.source[pair].size()),
                             static_cast<int64_t>(pairs.target[pair].size()), sizes);
    if (bucket == sizes.size() && policy == LongPairs::kCut) {
      ++fitting.cut;
      --bucket;
    }
    if (bucket < sizes.size()) {
      fitting.pairs.push_back(static_cast<uint32_t>(pair));
      fitting.buckets.push_back(static_cast<uint8_t>(bucket));
    } else if (first_long < 0) {
      first_long = pair;
    }
  }
  const auto fit = static_cast<int64_t>(fitting.pairs.size());
  if (first_long < 0 || (policy == LongPairs::kLeaveOut && fit > 0)) return fitting;
  return TooLong(pairs, first_long, pairs.count() - fit, sizes.back());
}

PairBatches::PairBatches(PairSet pairs, const PairBatchOptions& options, const std::vector<PairSize>& sizes,
                         Fitting fitting)
    : pairs_(std::move(pairs)),
      largest_(sizes.back()),
      cut_(fitting.cut),
      used_(std::move(fitting.pairs)),
      fields_(FieldsOf(options, sizes)),
      batch_rows_(options.batch_rows),
      weights_(options.mode, static_cast<int64_t>(used_.size()), options.batch_rows, options.seed),
      order_(options.mode, std::move(fitting.buckets), options.batch_rows, options.seed) {
  for (size_t sample = 0; sample < used_.size(); ++sample) targets_ += TargetsOf(static_cast<int64_t>(sample));
}

PairWords PairBatches::WordsOf(uint32_t pair) const {
  const auto up_to = [](std::span<const int32_t> words, int64_t most) {
    return words.first(std::min(words.size(), static_cast<size_t>(most)));
  };
  return {up_to(pairs_.source[pair], largest_.source), up_to(pairs_.target[pair], largest_.target - 1)};
}

absl::Status PairBatches::FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const {
  const std::vector<int64_t> samples = order_.Samples(batch, rows);
  const std::vector<Field>& fields = fields_[bucket(batch)];
  weights_.WriteWeights(batch, samples, fields.back().dtype, out.back());
  for (size_t f = 0; f + 1 < fields.size(); ++f) {
    const auto row_bytes = static_cast<size_t>(fields[f].row_bytes());
    for (size_t i = 0; i < samples.size(); ++i) {
      const bool fills_up = samples[i] == SampleOrder::kNoSample;
      const PairWords words = WordsOf(fills_up ? 0 : used_[samples[i]]);
      FillPairField(fields[f], fills_up ? nullptr : &words, out[f].subspan(i * row_bytes, row_bytes));
    }
  }
  return absl::OkStatus();
}

}  // namespace partita

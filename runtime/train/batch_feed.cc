#include "runtime/train/batch_feed.h"

#include <algorithm>
#include <cstring>

#include "graph/ir/generated_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

Rows RowsOf(const LocalTensor& tensor) { return {tensor.box.offset[0], tensor.box.offset[0] + tensor.box.size[0]}; }

// Rows that hold both; rows without any are no reason to make others.
Rows Hull(const Rows& a, const Rows& b) {
  if (a.size() == 0) return b;
  if (b.size() == 0) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

// The part as one of the rank's rows instead of the whole batch.
void MoveToRows(const Rows& rows, HeldPart& part) {
  part.tensor.global[0] = rows.size();
  part.tensor.box.offset[0] -= rows.begin;
}

void Copy(std::span<const std::byte> from, const HeldPart& to) {
  // Whole rows, which is nearly always, are one run of bytes.
  if (to.tensor.box.size == to.tensor.global) {
    std::memcpy(to.data, from.data(), from.size());
  } else {
    CopyToPart(reinterpret_cast<const char*>(from.data()), to);
  }
}

}  // namespace

absl::StatusOr<BatchFeed> BatchFeed::Create(const Session& session, Entry entry, const ImageInputs& inputs) {
  std::vector<std::pair<Field, std::string>> fields = {{Field::kImages, inputs.images},
                                                       {Field::kLabels, inputs.labels}};
  if (session.InputPlacements(entry, kSampleWeightName, 0).ok()) {
    fields.emplace_back(Field::kWeights, kSampleWeightName);
  }
  BatchFeed feed;
  feed.rows_.resize(static_cast<size_t>(session.ranks()));
  for (int rank = 0; rank < session.ranks(); ++rank) {
    for (const auto& [field, name] : fields) {
      ASSIGN_OR_RETURN(std::vector<HeldPart> parts, session.InputPlacements(entry, name, rank));
      for (HeldPart& part : parts) {
        if (field == Field::kImages) feed.dtype_ = part.tensor.dtype;
        if (part.data == nullptr) continue;
        feed.rows_[rank] = Hull(feed.rows_[rank], RowsOf(part.tensor));
        feed.places_.push_back({rank, field, std::move(part)});
      }
    }
  }
  for (Place& place : feed.places_) MoveToRows(feed.rows_[place.rank], place.part);
  return feed;
}

absl::StatusOr<std::unique_ptr<Prefetcher>> BatchFeed::Prefetch(std::shared_ptr<const BatchSource> source,
                                                                int64_t first, int64_t count) const {
  PrefetchOptions options;
  options.ranks = rows_;
  options.dtype = dtype_;
  options.first_batch = first;
  options.batch_count = count;
  return Prefetcher::Start(std::move(source), std::move(options));
}

void BatchFeed::Stage(const Batch& batch) const {
  for (const Place& place : places_) {
    const BatchPart& part = batch.parts[place.rank];
    switch (place.field) {
      case Field::kImages:
        Copy(part.images, place.part);
        break;
      case Field::kLabels:
        Copy(std::as_bytes(part.labels), place.part);
        break;
      case Field::kWeights:
        Copy(part.weights, place.part);
        break;
    }
  }
}

}  // namespace partita

#include "runtime/train/batch_feed.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

Rows RowsOf(const Box& box) { return {box.offset[0], box.offset[0] + box.size[0]}; }

// Rows that hold both; rows without any are no reason to make others.
Rows Hull(const Rows& a, const Rows& b) {
  if (a.size() == 0) return b;
  if (b.size() == 0) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

// The part as one of the rank's rows instead of the whole batch.
void MoveToRows(const Rows& rows, HeldTensor& part) {
  part.tensor.global[0] = rows.size();
  part.tensor.box.offset[0] -= rows.begin;
}

void Copy(std::span<const std::byte> from, const HeldTensor& to) {
  // Whole rows, which is nearly always, are one run of bytes.
  if (to.tensor.box.size == to.tensor.global) {
    std::memcpy(to.data, from.data(), from.size());
  } else {
    CopyToPart(reinterpret_cast<const char*>(from.data()), to);
  }
}

// Those of all inputs that take fields.
Rows RowsOfRank(const EntryPoint& entry, int rank) {
  Rows rows;
  for (const EntryInput& input : entry.inputs) {
    for (const ValueId value : input.values) {
      const Layout& layout = entry.graph.layout(value);
      const auto box = LocalBox(layout, entry.graph.type(value).shape, entry.graph.mesh(layout), rank);
      if (box && !box->empty()) rows = Hull(rows, RowsOf(*box));
    }
  }
  return rows;
}

// What fills the input, by its place among the fields.
absl::StatusOr<size_t> FindField(const EntryPoint& entry, const EntryInput& input, const std::vector<Field>& fields,
                                 int64_t batch_rows) {
  const TensorType& type = entry.graph.type(input.values[0]);
  const int64_t rows_taken = type.shape[0] * static_cast<int64_t>(input.values.size());
  if (rows_taken != batch_rows) {
    return InvalidArgument("input {} of '{}' takes {} rows; a batch of the data has {}", Quoted(input.field),
                           entry.name, rows_taken, batch_rows);
  }
  std::vector<std::string> known;
  for (const Field& field : fields) known.push_back(field.name);
  const auto found = std::ranges::find(known, input.field);
  if (found == known.end()) {
    return InvalidArgument("input {} {}{}: the data has no such field{}", Quoted(input.field), Name(type.dtype),
                           ToString(type.shape), Suggestion(input.field, known));
  }
  const auto place = static_cast<size_t>(found - known.begin());
  const Field& field = fields[place];
  const int64_t row = Elements(type.shape) / type.shape[0];  // rows may be flat in the graph
  if (field.dtype == type.dtype && Elements(field.row) == row) return place;
  return InvalidArgument("input {} is {}{}; the data's field of that name has {}{} in each row", Quoted(input.field),
                         Name(type.dtype), ToString(type.shape), Name(field.dtype), ToString(field.row));
}

// The entry point of that use all of whose inputs these fields fill; nullptr: there is none.
const EntryPoint* FindEntry(const Program& program, const std::string& use, const std::vector<Field>& fields,
                            int64_t batch_rows) {
  const auto fills = [&](const EntryPoint& entry) {
    return IsUse(entry.name, use) && CheckFeed(entry, fields, batch_rows).ok();
  };
  const auto found = std::ranges::find_if(program.entries, fills);
  return found == program.entries.end() ? nullptr : &*found;
}

}  // namespace

absl::Status CheckFeed(const EntryPoint& entry, const std::vector<Field>& fields, int64_t batch_rows) {
  for (const EntryInput& input : entry.inputs) {
    RETURN_IF_ERROR(FindField(entry, input, fields, batch_rows).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<BatchFeed::Bucket> BatchFeed::PlacesOf(const Session& session, const EntryPoint& entry,
                                                      const std::vector<Field>& fields, int64_t batch_rows) {
  Bucket bucket{entry.name, {}};
  for (const EntryInput& input : entry.inputs) {
    ASSIGN_OR_RETURN(const size_t field, FindField(entry, input, fields, batch_rows));
    for (const int rank : session.local_ranks()) {
      ASSIGN_OR_RETURN(std::vector<HeldTensor> parts, session.InputPlacements(entry.name, input.field, rank));
      for (HeldTensor& part : parts) {
        if (part.data != nullptr) bucket.places.push_back({rank, field, std::move(part)});
      }
    }
  }
  return bucket;
}

absl::StatusOr<BatchFeed> BatchFeed::Create(const Session& session, const std::string& use,
                                            std::shared_ptr<const BatchSource> source) {
  BatchFeed feed;
  feed.rows_.resize(static_cast<size_t>(session.ranks()));
  RETURN_IF_ERROR(session.program().PlaceOf(use).status());
  for (int64_t b = 0; b < source->buckets(); ++b) {
    const EntryPoint* const entry = FindEntry(session.program(), use, source->fields_of(b), source->batch_rows());
    const EntryPoint& point = entry == nullptr ? *session.program().Find(use) : *entry;
    absl::StatusOr<Bucket> bucket = PlacesOf(session, point, source->fields_of(b), source->batch_rows());
    if (!bucket.ok() && source->buckets() > 1) {
      return WithContext(fmt::format("bucket {} of the data, for which the graph has no sizes", b), bucket.status());
    }
    RETURN_IF_ERROR(bucket.status());
    feed.buckets_.push_back(*std::move(bucket));
  }
  for (const Bucket& bucket : feed.buckets_) {
    for (const Place& place : bucket.places) {
      feed.rows_[place.rank] = Hull(feed.rows_[place.rank], RowsOf(place.part.tensor.box));
    }
  }
  for (Bucket& bucket : feed.buckets_) {
    for (Place& place : bucket.places) MoveToRows(feed.rows_[place.rank], place.part);
  }
  feed.source_ = std::move(source);
  return feed;
}

absl::StatusOr<std::unique_ptr<Prefetcher>> BatchFeed::Prefetch(int64_t first, int64_t count) const {
  PrefetchOptions options;
  options.ranks = rows_;
  options.first_batch = first;
  options.batch_count = count;
  return Prefetcher::Start(source_, std::move(options));
}

void BatchFeed::Stage(const Batch& batch) const {
  for (const Place& place : buckets_[batch.bucket].places) {
    Copy(batch.parts[place.rank].fields[place.field], place.part);
  }
}

int64_t PrefetchedBytes(const EntryPoint& entry, std::span<const int> ranks) {
  std::set<std::pair<int64_t, int64_t>> blocks;
  for (const int rank : ranks) {
    const Rows rows = RowsOfRank(entry, rank);
    blocks.emplace(rows.begin, rows.end);
  }
  int64_t row_bytes = 0;
  for (const EntryInput& input : entry.inputs) {
    const TensorType& type = entry.graph.type(input.values[0]);
    row_bytes += Elements(type.shape) / type.shape[0] * SizeOf(type.dtype);
  }
  int64_t rows = 0;
  for (const auto& [begin, end] : blocks) rows += end - begin;
  return Prefetcher::Slots(PrefetchOptions()) * rows * row_bytes;
}

absl::StatusOr<std::vector<HostTensor>> WholeBatch(const BatchSource& source, int64_t number) {
  std::vector<HostTensor> tensors;
  FieldBuffers buffers;
  for (const Field& field : source.fields_of(source.bucket(number))) {
    Shape shape = {source.batch_rows()};
    for (const int64_t size : field.row) shape.push_back(size);
    const auto bytes = static_cast<size_t>(source.batch_rows() * field.row_bytes());
    tensors.push_back({field.dtype, std::move(shape), std::vector<char>(bytes)});
    buffers.push_back(std::as_writable_bytes(std::span(tensors.back().bytes)));
  }
  RETURN_IF_ERROR(source.Fill(number, {0, source.batch_rows()}, buffers));
  return tensors;
}

}  // namespace partita

#include "runtime/train/sharded/shard_writer.h"

#include <utility>

#include "runtime/api/job/packed_values.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checksum.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/train/sharded/finite_check.h"

namespace partita {
namespace {

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::Status WriteShard(int rank, std::span<const NamedTensor> tensors, const std::string& folder, Disk& disk,
                        WrittenShards& written) {
  const std::string path = folder + "/" + ShardFile(rank);
  ASSIGN_OR_RETURN(const EncodedFile encoded, EncodeSafetensors(path, tensors, {}));
  std::vector<std::string_view> pieces = {encoded.head};
  for (const std::span<const std::byte> bytes : encoded.tensors) pieces.push_back(TextOf(bytes));
  SavedShard shard{rank, 0, HashOfBytes(encoded.head)};
  for (const std::string_view piece : pieces) shard.bytes += static_cast<int64_t>(piece.size());
  written.shards.push_back(std::move(shard));
  return WriteNewFile(disk, path, pieces);
}

void AddSizes(const Shape& sizes, PackedValues& packed) {
  packed.Add(static_cast<int64_t>(sizes.size()));
  for (const int64_t size : sizes) packed.Add(size);
}

// As many as the state has dimensions.
Shape NextSizes(PackedReader& reader, const Shape& whole) {
  if (const int64_t count = reader.NextBelow(static_cast<int64_t>(whole.size()) + 1);
      count != static_cast<int64_t>(whole.size())) {
    reader.Refuse(fmt::format("a box of {} dimensions; expected {}", count, whole.size()));
  }
  Shape sizes = whole;
  for (int64_t& size : sizes) size = reader.Next<int64_t>();
  return sizes;
}

WrittenPart NextPart(PackedReader& reader, const std::vector<SavedState>& states, int ranks) {
  WrittenPart part;
  part.state = static_cast<int>(reader.NextBelow(static_cast<int64_t>(states.size())));
  part.part.rank = static_cast<int>(reader.NextBelow(ranks));
  const Shape& whole = states[static_cast<size_t>(part.state)].shape;
  part.part.box.offset = NextSizes(reader, whole);
  part.part.box.size = NextSizes(reader, whole);
  part.part.hash = reader.NextText();
  return part;
}

}  // namespace

OwnStates::Part OwnStates::WithoutMargins(int state, const HeldTensor& part) {
  Part own{state, part.tensor, {}, part.memory};
  own.tensor.box = Intersect(part.tensor.box, WholeBox(part.tensor.global));
  const char* bytes = static_cast<const char*>(part.data);
  if (own.tensor.box != part.tensor.box) {
    const auto copy = std::make_shared<std::vector<char>>(static_cast<size_t>(own.tensor.bytes()));
    HeldTensor within = part;
    within.tensor.global = own.tensor.box.size;
    for (size_t d = 0; d < own.tensor.box.size.size(); ++d) within.tensor.box.offset[d] -= own.tensor.box.offset[d];
    CopyFromPart(within, copy->data());
    bytes = copy->data();
    own.memory = copy;
  }
  own.bytes = std::as_bytes(std::span(bytes, static_cast<size_t>(own.tensor.bytes())));
  return own;
}

absl::StatusOr<OwnStates> OwnStates::Collect(const Session& session, const std::string& checkpoint) {
  OwnStates states;
  states.names_ = session.StateNames();
  FiniteCheck finite;
  for (size_t state = 0; state < states.names_.size(); ++state) {
    const std::string& name = states.names_[state];
    ASSIGN_OR_RETURN(const std::vector<RankPart> own, session.OwnParts(name));
    for (const RankPart& held : own) {
      Part part = states.WithoutMargins(static_cast<int>(state), held.part);
      if (part.bytes.empty()) continue;
      finite.Look(name, part.tensor, part.bytes);
      states.parts_[held.rank].push_back(std::move(part));
    }
  }
  RETURN_IF_ERROR(finite.Result(checkpoint));
  return states;
}

int64_t OwnStates::bytes() const {
  int64_t bytes = 0;
  for (const auto& [rank, parts] : parts_) {
    for (const Part& part : parts) bytes += part.tensor.bytes();
  }
  return bytes;
}

void OwnStates::Detach() {
  for (auto& [rank, parts] : parts_) {
    for (Part& part : parts) {
      if (part.memory != nullptr) continue;
      const char* const bytes = reinterpret_cast<const char*>(part.bytes.data());
      const auto copy = std::make_shared<std::vector<char>>(bytes, bytes + part.bytes.size());
      part.bytes = std::as_bytes(std::span(*copy));
      part.memory = copy;
    }
  }
}

absl::StatusOr<WrittenShards> WriteShards(const OwnStates& states, const std::string& folder, Disk& disk) {
  WrittenShards written;
  for (const auto& [rank, parts] : states.parts_) {
    std::vector<NamedTensor> tensors;
    for (const OwnStates::Part& part : parts) {
      const Box& box = part.tensor.box;
      tensors.push_back({states.names_[static_cast<size_t>(part.state)],
                         part.tensor.dtype,
                         {box.size.begin(), box.size.end()},
                         part.bytes});
      written.parts.push_back({part.state, {rank, box, HashOfBytes(TextOf(part.bytes))}});
    }
    RETURN_IF_ERROR(WriteShard(rank, tensors, folder, disk, written));
  }
  RETURN_IF_ERROR(disk.SyncFolder(folder));
  return written;
}

std::string Pack(const WrittenShards& shards) {
  PackedValues packed;
  packed.Add(static_cast<int64_t>(shards.shards.size()));
  for (const SavedShard& shard : shards.shards) {
    packed.Add(int64_t{shard.rank});
    packed.Add(shard.bytes);
    packed.AddText(shard.head_hash);
  }
  for (const auto& [state, part] : shards.parts) {
    packed.Add(int64_t{state});
    packed.Add(int64_t{part.rank});
    AddSizes(part.box.offset, packed);
    AddSizes(part.box.size, packed);
    packed.AddText(part.hash);
  }
  return packed.bytes();
}

absl::StatusOr<WrittenShards> Unpack(const std::string& packed, int process, const std::vector<SavedState>& states,
                                     int ranks) {
  WrittenShards shards;
  PackedReader reader(MessageKind::kCheckpointShards, static_cast<size_t>(process), packed);
  const int64_t count = reader.NextBelow(int64_t{ranks} + 1);
  for (int64_t i = 0; i < count; ++i) {
    SavedShard& shard = shards.shards.emplace_back();
    shard.rank = static_cast<int>(reader.NextBelow(ranks));
    shard.bytes = reader.Next<int64_t>();
    shard.head_hash = reader.NextText();
  }
  if (states.empty() && !reader.AtEnd()) reader.Refuse("a state where there is none");
  while (!reader.AtEnd()) shards.parts.push_back(NextPart(reader, states, ranks));
  RETURN_IF_ERROR(reader.Finish());
  return shards;
}

}  // namespace partita

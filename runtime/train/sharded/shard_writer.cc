#include "runtime/train/sharded/shard_writer.h"

#include <list>
#include <map>

#include "runtime/api/job/packed_values.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checksum.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/train/sharded/finite_check.h"

namespace partita {
namespace {

struct OwnPart {
  int state = 0;
  LocalTensor tensor;  // without margins
  std::span<const std::byte> bytes;
};

using PartsByRank = std::map<int, std::vector<OwnPart>>;

// `storage` keeps what had to be copied, for it lies apart in memory.
OwnPart WithoutMargins(int state, const HeldTensor& part, std::list<std::vector<char>>& storage) {
  OwnPart own{state, part.tensor, {}};
  own.tensor.box = Intersect(part.tensor.box, WholeBox(part.tensor.global));
  const char* bytes = static_cast<const char*>(part.data);
  if (own.tensor.box != part.tensor.box) {
    storage.emplace_back(static_cast<size_t>(own.tensor.bytes()));
    HeldTensor within = part;
    within.tensor.global = own.tensor.box.size;
    for (size_t d = 0; d < own.tensor.box.size.size(); ++d) within.tensor.box.offset[d] -= own.tensor.box.offset[d];
    CopyFromPart(within, storage.back().data());
    bytes = storage.back().data();
  }
  own.bytes = std::as_bytes(std::span(bytes, static_cast<size_t>(own.tensor.bytes())));
  return own;
}

absl::StatusOr<PartsByRank> CollectParts(const Session& session, const std::string& checkpoint,
                                         const std::vector<std::string>& names, std::list<std::vector<char>>& storage) {
  PartsByRank parts;
  FiniteCheck finite;
  for (size_t state = 0; state < names.size(); ++state) {
    ASSIGN_OR_RETURN(const std::vector<RankPart> own, session.OwnParts(names[state]));
    for (const RankPart& held : own) {
      OwnPart part = WithoutMargins(static_cast<int>(state), held.part, storage);
      if (part.bytes.empty()) continue;
      finite.Look(names[state], part.tensor, part.bytes);
      parts[held.rank].push_back(std::move(part));
    }
  }
  RETURN_IF_ERROR(finite.Result(checkpoint));
  return parts;
}

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

absl::Status WriteShard(int rank, const std::vector<std::string>& names, const std::vector<OwnPart>& parts,
                        const std::string& folder, Disk& disk, WrittenShards& written) {
  const std::string path = folder + "/" + ShardFile(rank);
  std::vector<NamedTensor> tensors;
  for (const OwnPart& part : parts) {
    const Box& box = part.tensor.box;
    tensors.push_back(
        {names[static_cast<size_t>(part.state)], part.tensor.dtype, {box.size.begin(), box.size.end()}, part.bytes});
    written.parts.push_back({part.state, {rank, box, HashOfBytes(TextOf(part.bytes))}});
  }
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

Shape NextSizes(PackedReader& reader) {
  Shape sizes(static_cast<size_t>(reader.Next<int64_t>()));
  for (int64_t& size : sizes) size = reader.Next<int64_t>();
  return sizes;
}

}  // namespace

absl::StatusOr<WrittenShards> WriteShards(const Session& session, const std::string& checkpoint,
                                          const std::string& folder, Disk& disk) {
  const std::vector<std::string> names = session.StateNames();
  std::list<std::vector<char>> storage;
  ASSIGN_OR_RETURN(const PartsByRank parts, CollectParts(session, checkpoint, names, storage));
  WrittenShards written;
  for (const auto& [rank, own] : parts) RETURN_IF_ERROR(WriteShard(rank, names, own, folder, disk, written));
  RETURN_IF_ERROR(disk.SyncFolder(folder));
  return written;
}

std::string Pack(const WrittenShards& shards) {
  PackedValues packed;
  packed.Add(static_cast<int64_t>(shards.shards.size()));
  for (const SavedShard& shard : shards.shards) {
    packed.Add(shard.rank);
    packed.Add(shard.bytes);
    packed.AddText(shard.head_hash);
  }
  for (const auto& [state, part] : shards.parts) {
    packed.Add(state);
    packed.Add(part.rank);
    AddSizes(part.box.offset, packed);
    AddSizes(part.box.size, packed);
    packed.AddText(part.hash);
  }
  return packed.bytes();
}

WrittenShards Unpack(const std::string& packed) {
  WrittenShards shards;
  PackedReader reader(packed);
  shards.shards.resize(static_cast<size_t>(reader.Next<int64_t>()));
  for (SavedShard& shard : shards.shards) {
    shard.rank = reader.Next<int>();
    shard.bytes = reader.Next<int64_t>();
    shard.head_hash = reader.NextText();
  }
  while (!reader.AtEnd()) {
    WrittenPart part;
    part.state = reader.Next<int>();
    part.part.rank = reader.Next<int>();
    part.part.box.offset = NextSizes(reader);
    part.part.box.size = NextSizes(reader);
    part.part.hash = reader.NextText();
    shards.parts.push_back(std::move(part));
  }
  return shards;
}

}  // namespace partita

#include "runtime/checkpoint/sharded/saved_checkpoint.h"

#include <algorithm>

#include "runtime/base/input_file.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/checksum.h"
#include "runtime/checkpoint/sharded/pieces.h"

namespace partita {
namespace {

constexpr int64_t kLargestRecord = 1 << 30;
constexpr int64_t kPieceBytes = 1 << 20;
constexpr size_t kLengthBytes = 8;

// The shard as the record knows it, by its size.
absl::StatusOr<InputFile> OpenShard(const std::string& folder, const SavedShard& shard) {
  ASSIGN_OR_RETURN(InputFile input, InputFile::Open(folder + "/" + ShardFile(shard.rank), Links::kRefused));
  if (input.size() == shard.bytes) return input;
  return InvalidArgument("{}: found {} bytes, {} says {}", input.path(), input.size(), kRecordFile, shard.bytes);
}

// What stands before the tensors.
absl::StatusOr<std::string> ReadHead(InputFile& input) {
  std::string head;
  RETURN_IF_ERROR(input.Append(std::min<int64_t>(kLengthBytes, input.rest()), head));
  uint64_t length = 0;
  for (size_t i = head.size(); i > 0; --i) length = length << 8 | static_cast<uint8_t>(head[i - 1]);
  if (length > static_cast<uint64_t>(input.rest())) {
    return InvalidArgument("{}: found a header length of {}, the file has {} bytes behind it", input.path(), length,
                           input.rest());
  }
  RETURN_IF_ERROR(input.Append(static_cast<int64_t>(length), head));
  return head;
}

bool IsTensorOf(const SavedState& state, const SavedPart& part, const StoredTensor& tensor) {
  return tensor.type == StoredTypeOf(state.dtype) && std::ranges::equal(tensor.shape, part.box.size);
}

}  // namespace

absl::StatusOr<SavedCheckpoint> SavedCheckpoint::Open(const std::string& folder) {
  const std::string path = folder + "/" + kRecordFile;
  ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(path, kLargestRecord, Links::kRefused));
  ASSIGN_OR_RETURN(CheckpointRecord record, ParseRecord(path, text));
  SavedCheckpoint checkpoint(folder, std::move(record), HashOfBytes(text));
  RETURN_IF_ERROR(checkpoint.OpenShards());
  RETURN_IF_ERROR(checkpoint.CheckPlaces());
  return checkpoint;
}

absl::Status SavedCheckpoint::OpenShards() {
  for (const SavedShard& shard : record_.shards) {
    ASSIGN_OR_RETURN(InputFile input, OpenShard(folder_, shard));
    ASSIGN_OR_RETURN(const std::string head, ReadHead(input));
    if (const std::string hash = HashOfBytes(head); hash != shard.head_hash) {
      return InvalidArgument("{}: found checksum {} of its header, {} says {}: the file was damaged, or is another's",
                             input.path(), hash, kRecordFile, Printable(shard.head_hash));
    }
    ASSIGN_OR_RETURN(const SafetensorsReader reader, SafetensorsReader::Open(input.path(), Links::kRefused));
    for (const StoredTensor& tensor : reader.header().tensors()) {
      shards_[shard.rank][tensor.name] = {tensor, static_cast<int64_t>(head.size()) + tensor.begin};
    }
  }
  return absl::OkStatus();
}

// Every part is a tensor of its shard.
absl::Status SavedCheckpoint::CheckPlaces() const {
  for (const SavedState& state : record_.states) {
    for (const SavedPart& part : state.parts) {
      const auto shard = shards_.find(part.rank);
      if (shard != shards_.end()) {
        const auto found = shard->second.find(state.name);
        if (found != shard->second.end() && IsTensorOf(state, part, found->second.tensor)) continue;
      }
      return InvalidArgument("{}/{}: tensor {}: not found as {}{}, as which {} has it", folder_, ShardFile(part.rank),
                             Printable(state.name), Name(state.dtype), ToString(part.box.size), kRecordFile);
    }
  }
  return absl::OkStatus();
}

const SavedState* SavedCheckpoint::Find(const std::string& state) const {
  const auto found = std::ranges::find(record_.states, state, &SavedState::name);
  return found == record_.states.end() ? nullptr : &*found;
}

absl::Status SavedCheckpoint::Read(const SavedState& state, const Choice& wanted, const Sink& sink) const {
  for (const SavedPart& part : state.parts) {
    if (wanted(part.box)) RETURN_IF_ERROR(ReadPart(state, part, sink));
  }
  return absl::OkStatus();
}

absl::Status SavedCheckpoint::CheckTensors() const {
  for (const SavedState& state : record_.states) {
    RETURN_IF_ERROR(Read(
        state, [](const Box&) { return true; }, [](const Box&, const char*) {}));
  }
  return absl::OkStatus();
}

absl::Status SavedCheckpoint::ReadPart(const SavedState& state, const SavedPart& part, const Sink& sink) const {
  const auto shard = std::ranges::find(record_.shards, part.rank, &SavedShard::rank);
  ASSIGN_OR_RETURN(InputFile input, OpenShard(folder_, *shard));
  RETURN_IF_ERROR(input.Skip(shards_.at(part.rank).at(state.name).begin));
  FileHash hash;
  std::string bytes;
  const int64_t element = SizeOf(state.dtype);
  RETURN_IF_ERROR(EachPiece(part.box, kPieceBytes / element, [&](const Box& piece) -> absl::Status {
    bytes.clear();
    RETURN_IF_ERROR(input.Append(piece.elements() * element, bytes));
    hash.Add(bytes.data(), bytes.size());
    sink(piece, bytes.data());
    return absl::OkStatus();
  }));
  if (hash.Text() == part.hash) return absl::OkStatus();
  return InvalidArgument("{}: tensor {}: found checksum {}, {} says {}: the file was damaged, or is another's",
                         input.path(), Printable(state.name), hash.Text(), kRecordFile, Printable(part.hash));
}

}  // namespace partita

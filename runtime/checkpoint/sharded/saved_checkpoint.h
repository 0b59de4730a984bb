// A checkpoint that is read: boxes of its states, from the shards that have them, and never more of one at a time than
// a piece of a shard.
#ifndef PARTITA_RUNTIME_CHECKPOINT_SHARDED_SAVED_CHECKPOINT_H_
#define PARTITA_RUNTIME_CHECKPOINT_SHARDED_SAVED_CHECKPOINT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/checkpoint/sharded/record.h"

namespace partita {

// Immutable, so thread-safe; holds no file open.
class SavedCheckpoint {
 public:
  // Reads the record and the heads of all shards. kInvalidArgument: there is no record, so it is no checkpoint; a newer
  // version; a shard that is missing, or another one than the record says, by its size and its head. Each is named.
  static absl::StatusOr<SavedCheckpoint> Open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const CheckpointRecord& record() const { return record_; }
  std::string Digest() const { return digest_; }  // of all that it says and holds
  const SavedState* Find(const std::string& state) const;

  // Whether a box of the state is wanted; and takes a piece of it, a box in row-major order.
  using Choice = std::function<bool(const Box&)>;
  using Sink = std::function<void(const Box& piece, const char* bytes)>;
  // The parts of a state that are wanted, each whole, piece by piece. kInvalidArgument: damaged bytes: the shard and
  // the state; what the sink was given is then of no use.
  absl::Status Read(const SavedState& state, const Choice& wanted, const Sink& sink) const;

  // Reads every tensor and compares its checksum. kInvalidArgument as of Read: the first damaged tensor.
  absl::Status CheckTensors() const;

 private:
  struct PlacedTensor {
    StoredTensor tensor;
    int64_t begin = 0;  // its first byte in the file
  };
  using ShardIndex = std::map<std::string, PlacedTensor, std::less<>>;

  SavedCheckpoint(std::string folder, CheckpointRecord record, std::string digest)
      : folder_(std::move(folder)), record_(std::move(record)), digest_(std::move(digest)) {}
  absl::Status OpenShards();
  absl::Status CheckPlaces() const;
  absl::Status ReadPart(const SavedState& state, const SavedPart& part, const Sink& sink) const;

  std::string folder_;
  CheckpointRecord record_;
  std::string digest_;
  std::map<int, ShardIndex> shards_;  // by rank
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SHARDED_SAVED_CHECKPOINT_H_

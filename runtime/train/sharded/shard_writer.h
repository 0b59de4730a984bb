// The shards of the ranks of one process.
#ifndef PARTITA_RUNTIME_TRAIN_SHARDED_SHARD_WRITER_H_
#define PARTITA_RUNTIME_TRAIN_SHARDED_SHARD_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/api/session.h"
#include "runtime/checkpoint/sharded/disk.h"
#include "runtime/checkpoint/sharded/record.h"

namespace partita {

// A part of the state at this place in the program's order.
struct WrittenPart {
  int state = 0;
  SavedPart part;
};

struct WrittenShards {
  std::vector<SavedShard> shards;
  std::vector<WrittenPart> parts;
};

// What the ranks of this process are the first to hold. Movable, and then still refers to the same bytes.
class OwnStates {
 public:
  // No step is in flight. The bytes are where the states lie, or copies: on a device that the host does not reach, and
  // of those that have margins.
  // kOutOfRange: a value is not finite (of `checkpoint`, for messages).
  static absl::StatusOr<OwnStates> Collect(const Session& session, const std::string& checkpoint);

  int64_t bytes() const;

  // Copies what is no copy yet: steps may then change the states.
  void Detach();

 private:
  friend absl::StatusOr<WrittenShards> WriteShards(const OwnStates& states, const std::string& folder, Disk& disk);
  struct Part {
    int state = 0;
    LocalTensor tensor;  // without margins
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> memory;  // owns the bytes; null: they are the session's
  };
  Part WithoutMargins(int state, const HeldTensor& part);

  std::vector<std::string> names_;
  std::map<int, std::vector<Part>> parts_;  // by rank
};

// Writes to `folder`, which is there, a shard for each rank of this process that is the first replica of anything, and
// syncs them. Any thread.
absl::StatusOr<WrittenShards> WriteShards(const OwnStates& states, const std::string& folder, Disk& disk);

// For another process of the job.
std::string Pack(const WrittenShards& shards);

// What `process`, of a job of `ranks` ranks, has packed, of the program's states. kUnavailable: it names a rank or a
// state that there is none of, or a box that is not within its state.
absl::StatusOr<WrittenShards> Unpack(const std::string& packed, int process, const std::vector<SavedState>& states,
                                     int ranks);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_SHARDED_SHARD_WRITER_H_

// The shards of the ranks of one process.
#ifndef PARTITA_RUNTIME_TRAIN_SHARDED_SHARD_WRITER_H_
#define PARTITA_RUNTIME_TRAIN_SHARDED_SHARD_WRITER_H_

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

// Writes to `folder`, which is there, a shard for each rank of this process that is the first replica of anything, and
// syncs them. Bytes go from where the states are; nothing is copied but what has margins. kOutOfRange: a value is not
// finite (of `checkpoint`, for messages); nothing is written then.
absl::StatusOr<WrittenShards> WriteShards(const Session& session, const std::string& checkpoint,
                                          const std::string& folder, Disk& disk);

// For another process of the job, and back.
std::string Pack(const WrittenShards& shards);
WrittenShards Unpack(const std::string& packed);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_SHARDED_SHARD_WRITER_H_

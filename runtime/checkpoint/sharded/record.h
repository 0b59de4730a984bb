// `trainer_state.json`: what a checkpoint is, and that it is whole. Written last, so that a folder without it is none.
//
//   {"epoch":...,"format":"partita.checkpoint","graph":[...],"metadata":{...},"shards":[...],"states":[...],
//    "step":100,"strategy":"...","version":1,"xxh3":"..."}
//
// One line, keys in the order of the alphabet, and nothing else: the text of a record is the only one that says the
// same, and `xxh3` is over all of it but itself, so that any damaged byte is found.
#ifndef PARTITA_RUNTIME_CHECKPOINT_SHARDED_RECORD_H_
#define PARTITA_RUNTIME_CHECKPOINT_SHARDED_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {

inline constexpr char kRecordFile[] = "trainer_state.json";
inline constexpr int64_t kRecordVersion = 1;

// A box of a state, which is the tensor of the state's name in a shard.
struct SavedPart {
  int rank = 0;  // whose shard
  Box box;
  std::string hash;  // of its bytes
  bool operator==(const SavedPart&) const = default;
};

struct SavedState {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<SavedPart> parts;  // that tile it
  bool operator==(const SavedState&) const = default;
};

// What one rank has written: a safetensors file in the checkpoint's folder.
struct SavedShard {
  int rank = 0;
  int64_t bytes = 0;
  std::string head_hash;  // of what stands before its tensors
  bool operator==(const SavedShard&) const = default;
};
std::string ShardFile(int rank);               // "rank-00003.safetensors"
bool IsCheckpointFile(std::string_view name);  // the record's name, or a shard's

// Sums over the steps of an epoch that has not ended.
struct LossSums {
  int64_t steps = 0;
  double loss = 0;
  std::vector<std::pair<std::string, double>> metrics = {};
  bool operator==(const LossSums&) const = default;
};

struct CheckpointRecord {
  int64_t step = 0;                     // steps done, which is the number of the next batch
  LossSums epoch = {};                  // so far
  Metadata metadata = {};               // of the model file that the checkpoint would be
  std::string strategy = {};            // of the run that wrote it, as text
  std::vector<std::string> graph = {};  // a line for each node
  std::vector<SavedState> states = {};  // in the order of the program
  std::vector<SavedShard> shards = {};  // by rank
  bool operator==(const CheckpointRecord&) const = default;
};

// kInvalidArgument: text that is not UTF-8.
absl::StatusOr<std::string> FormatRecord(const std::string& file, const CheckpointRecord& record);

// `file` is for messages. kInvalidArgument: a newer version, a damaged byte, or anything that FormatRecord does not
// write; names the file, the field and what was found.
absl::StatusOr<CheckpointRecord> ParseRecord(const std::string& file, std::string_view text);

// Whether ParseRecord refused a newer version. Such a checkpoint may be whole: it must not be treated as damaged.
bool IsNewerVersion(const absl::Status& status);

}  // namespace partita

#endif  // PARTITA_RUNTIME_CHECKPOINT_SHARDED_RECORD_H_

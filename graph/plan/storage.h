// Decides which tensors share bytes: outputs in place of inputs after their last use, members inside their bucket, the
// new state in the place of the old one.
#ifndef PARTITA_GRAPH_PLAN_STORAGE_H_
#define PARTITA_GRAPH_PLAN_STORAGE_H_

#include <string>
#include <vector>

#include "graph/schedule/local_program.h"

namespace partita {

// Bytes that need one place in the arena, from launch `first` to launch `last` (both included).
struct Storage {
  std::string name;  // of the first tensor in it
  int64_t bytes = 0;
  MemoryKind kind = MemoryKind::kActivation;
  int first = 0;
  int last = 0;
  bool last_by_collective = false;  // the last use is a collective: it may run long after its turn in program order
};

struct StoragePlan {
  std::vector<Storage> storages;   // parameters and states first, in the order of their tensors
  std::vector<int> storage_of;     // by TensorId
  std::vector<int64_t> offset_in;  // by TensorId: bytes from the storage's beginning
  std::vector<int> last_write;     // by TensorId: the last launch that writes it; -1: none (a state)
};

// Every tensor gets a storage. Changes the program where that saves or needs a copy:
// - the copy of a bucket's member is dropped if nothing reads the member after the bucket's sum: the member is made
//   inside the bucket, and its bytes are the bucket's until the sum overwrites them;
// - an update is made in the place of its state if every reader of the old state comes before (or reads in place), else
//   it is copied to the state at the end, by one launch for all such updates;
// - the host's last launch is appended.
// Linear in the launches.
StoragePlan AssignStorage(LocalProgram& program);

}  // namespace partita

#endif  // PARTITA_GRAPH_PLAN_STORAGE_H_

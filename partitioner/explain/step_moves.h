// The purpose of the moves of a program's training step: which value or gradient moves where, and its bytes.
#ifndef PARTITA_PARTITIONER_EXPLAIN_STEP_MOVES_H_
#define PARTITA_PARTITIONER_EXPLAIN_STEP_MOVES_H_

#include <string>
#include <vector>

#include "graph/ir/program.h"
#include "graph/moves/move_bytes.h"

namespace partita {

struct StepMove {
  NodeId node = -1;  // in the graph of the training step
  std::string name;
  std::string op;
  Phase phase = Phase::kForward;
  std::string along;                // "data+model", or "all~tail" between two meshes
  std::vector<std::string> serves;  // nodes of the user whose values or gradients it moves, each once, in their order
  MoveBytes bytes;                  // summed over its groups
};

// Those by which ranks send each other something, in the order of the program.
std::vector<StepMove> MovesOf(const Program& program);

// "data+model", or "all~tail" between two meshes.
std::string AlongOf(const GroupKey& key, const std::vector<Mesh>& meshes);

// "conv1/weights", "conv1/weights and 7 more".
std::string ServedBy(const StepMove& move);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_EXPLAIN_STEP_MOVES_H_

// Appends the launches of moves, and the tensors that they make, to a rank's program.
#ifndef PARTITA_GRAPH_LOWER_MOVES_MOVE_LAUNCHES_H_
#define PARTITA_GRAPH_LOWER_MOVES_MOVE_LAUNCHES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/graph.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/lower/moves/held_move.h"
#include "graph/schedule/box_copy.h"
#include "graph/schedule/local_program.h"
#include "graph/schedule/localize.h"

namespace partita {

// Borrows its arguments.
class MoveLaunches {
 public:
  MoveLaunches(const Graph& entry, const LocalGraph& local, const KernelCatalogue& kernels, LocalProgram& out)
      : graph_(entry), local_(local), kernels_(kernels), out_(out) {}

  const Graph& graph() const { return graph_; }
  const LocalGraph& local() const { return local_; }
  LocalProgram& out() { return out_; }

  // An error: the layouts of the move are not those that its op leads from and to.
  absl::Status Misfit(const HeldMove& move) const;
  std::string Over(const Node& move) const;  // the axes or meshes, for messages

  // kNoTensor: the rank holds nothing.
  TensorId Of(ValueId value) const { return out_.tensor_of[value]; }
  TensorId NewOutput(ValueId value);
  TensorId NewTemporary(NodeId node, const std::string& suffix, int64_t bytes);
  // The output is the input.
  void MakeView(const HeldMove& move) { out_.tensor_of[move.output] = Of(move.input); }

  LocalLaunch& Append(NodeId node, const std::string& suffix);
  // A kernel of the move's op; its workspace is added.
  absl::Status AppendKernel(NodeId node, const std::string& suffix, LocalKernel kernel);
  // A copy between two tensors, all boxes of it.
  void AppendCopy(NodeId node, const char* suffix, std::vector<BoxCopy> copies, TensorId from, TensorId to);
  // Puts the output together: a part of the input, and the blocks in `arrived` (-1: they come by themselves). Zero
  // where neither lies.
  LocalLaunch& AppendAssembly(const HeldMove& move, const char* suffix, const HeldBox& own,
                              const std::vector<HeldBox>& blocks, TensorId arrived);
  // The collective of a move; -1 tensors: this rank gives or gets nothing. Offsets that are not set are 0.
  LocalLaunch& AppendCollective(NodeId node, CollectiveLaunch collective, TensorId input, TensorId output,
                                const std::string& suffix = "");
  // The input, or a temporary that holds blocks of it one after the other; -1 if they are empty.
  TensorId Packed(const HeldMove& move, const std::vector<HeldBox>& blocks);

 private:
  const Graph& graph_;
  const LocalGraph& local_;
  const KernelCatalogue& kernels_;
  LocalProgram& out_;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_LOWER_MOVES_MOVE_LAUNCHES_H_

// One rank's launches before they have addresses: what lowering makes and the memory plan reads.
//
//   graph -> LowerGraph -> LocalProgram -> AssignStorage -> PlanMemory -> Schedule
//
// Memory is named by tensors: flat runs of bytes that one launch (rarely several) writes and later ones read. A view
// (reshape, drop) is no tensor of its own: its value shares the tensor of what it views.
#ifndef PARTITA_GRAPH_SCHEDULE_LOCAL_PROGRAM_H_
#define PARTITA_GRAPH_SCHEDULE_LOCAL_PROGRAM_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/schedule/schedule.h"

namespace partita {

enum class MemoryKind : uint8_t { kParameter, kState, kInput, kActivation, kWorkspace };

struct PlannedTensor {
  int64_t bytes = 0;  // > 0: what a rank holds nothing of has no tensor
  MemoryKind kind = MemoryKind::kActivation;
  std::string name;
  // A part of another tensor (a member of a bucket): it begins at byte `offset` of `inside`.
  TensorId inside = kNoTensor;
  int64_t offset = 0;
};

// Output `to` may use the bytes of input `from` after the last use of `from`. They have the same size.
struct InPlace {
  TensorId from = kNoTensor;
  TensorId to = kNoTensor;
};

// What a kernel reads or writes: it begins at byte `offset` of the tensor. kNoTensor: absent, or empty.
struct Operand {
  TensorId tensor = kNoTensor;
  int64_t offset = 0;
  ValueId value = kNoValue;  // its box, in whose memory it lies, moves with where the rank's of this value begins
};

// The work of a launch, as in schedule.h, with tensors instead of addresses.
struct LocalKernel {
  LocalNode node;
  KernelChoice choice;
  std::vector<Operand> inputs, outputs;  // one for each of the node's
  TensorId workspace = kNoTensor;
};

struct LocalCopy {
  BoxCopy boxes;  // offsets from the beginning of the two tensors
  TensorId from = kNoTensor, to = kNoTensor;
  bool keeps = false;  // what is copied stays what it was: another copy of `from`, not a part of `to`
};

struct LocalCopies {
  TensorId zeroed = kNoTensor;  // cleared before the copies, all of it
  std::vector<LocalCopy> copies;
};

struct LocalCollective {
  CollectiveLaunch call;                           // offsets from the beginning of the two tensors; its members
  TensorId input = kNoTensor, output = kNoTensor;  // kNoTensor: this rank gives or gets nothing
};

struct LocalHost {
  bool begin = true;
  std::vector<TensorId> tensors;  // that it writes (begin) or reads (end)
};

struct LocalLaunch {
  std::string name;
  NodeId node = -1;  // as in Launch
  Phase phase = Phase::kForward;
  std::variant<LocalKernel, LocalCopies, LocalCollective, LocalHost> work;
  std::vector<InPlace> in_place;
  // Fills a bucket: copies of members that can be made inside the bucket right away are dropped (AssignStorage).
  bool packs_bucket = false;
  // Writes other ranks' elements into the result of a halo exchange: its readers wait for this launch.
  bool brings_ghosts = false;
};

// At the end of the step the bytes of `update` are those of `state`.
struct StateUpdate {
  TensorId state = kNoTensor;
  TensorId update = kNoTensor;
};

// A state of the program that is kept in bf16 as well.
struct LocalRounded {
  int state = 0;  // its place among them
  TensorId tensor = kNoTensor;
};

// A value that the host reads at the end of the step.
struct Result {
  ValueId value = kNoValue;
  TensorId tensor = kNoTensor;
};

struct LocalProgram {
  std::vector<PlannedTensor> tensors;  // the states come first, in the program's order, then the rounded ones
  std::vector<LocalLaunch> launches;   // begins with the host's; its last one is added by AssignStorage
  std::vector<TensorId> tensor_of;     // by ValueId; kNoTensor: nothing here
  std::vector<LocalRounded> rounded;
  std::vector<StateUpdate> updates;
  std::vector<Result> results;

  TensorId AddTensor(PlannedTensor tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(tensors.size()) - 1;
  }
  // Scratch memory of a kernel; kNoTensor if it needs none.
  TensorId AddWorkspace(const KernelChoice& choice, const std::string& launch) {
    if (choice.workspace_bytes == 0) return kNoTensor;
    return AddTensor({choice.workspace_bytes, MemoryKind::kWorkspace, launch + "/workspace", kNoTensor, 0});
  }
};

// Calls visit(TensorId, bool write) for every tensor that the launch touches, one that is touched twice twice, in a
// fixed order: inputs, outputs, workspace; what is cleared, then from and to of each copy; input, output, summand and
// sum of each member.
template <typename Visit>
void VisitTensors(const LocalLaunch& launch, const Visit& visit) {
  const auto touch = [&](TensorId tensor, bool write) {
    if (tensor != kNoTensor) visit(tensor, write);
  };
  if (const auto* const kernel = std::get_if<LocalKernel>(&launch.work)) {
    for (const Operand& input : kernel->inputs) touch(input.tensor, false);
    for (const Operand& output : kernel->outputs) touch(output.tensor, true);
    touch(kernel->workspace, true);
  } else if (const auto* const work = std::get_if<LocalCopies>(&launch.work)) {
    touch(work->zeroed, true);
    for (const LocalCopy& copy : work->copies) {
      touch(copy.from, false);
      touch(copy.to, true);
    }
  } else if (const auto* const collective = std::get_if<LocalCollective>(&launch.work)) {
    touch(collective->input, false);
    touch(collective->output, !OnlyReads(collective->call));
    for (const BucketMember& member : collective->call.members) {
      touch(member.summand, false);
      touch(member.sum, true);
    }
  } else if (const auto* const host = std::get_if<LocalHost>(&launch.work)) {
    for (const TensorId tensor : host->tensors) touch(tensor, host->begin);
  }
}

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_LOCAL_PROGRAM_H_

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
#include <vector>

#include "graph/schedule/schedule.h"

namespace partita {

enum class MemoryKind : uint8_t { kParameter, kState, kInput, kActivation, kWorkspace };

using TensorId = int;

struct PlannedTensor {
  int64_t bytes = 0;  // > 0: what a rank holds nothing of has no tensor
  MemoryKind kind = MemoryKind::kActivation;
  std::string name;
  // A part of another tensor (a member of a bucket): it begins at byte `offset` of `inside`.
  TensorId inside = -1;
  int64_t offset = 0;
};

// Output `to` may take the place of input `from` if nobody needs `from` any more. They have the same bytes.
struct InPlace {
  TensorId from = -1;
  TensorId to = -1;
};

struct LocalLaunch {
  // Streams, waits and accesses are not set. Offsets in `work` count from the beginning of their operand.
  Launch launch;
  // The tensor of every offset in `work` that is not -1, in the order of VisitOffsets. Of host launches: the tensors
  // that they write (begin) or read (end).
  std::vector<TensorId> operands;
  std::vector<InPlace> in_place;
  // Fills a bucket: copies of members that can be made inside the bucket right away are dropped (AssignStorage).
  bool packs_bucket = false;
};

// At the end of the step the bytes of `update` are those of `state`.
struct StateUpdate {
  TensorId state = -1;
  TensorId update = -1;
};

// A value that the host reads at the end of the step.
struct Result {
  ValueId value = kNoValue;
  TensorId tensor = -1;
};

struct LocalProgram {
  std::vector<PlannedTensor> tensors;  // the states come first, in the program's order
  std::vector<LocalLaunch> launches;   // begins with the host's; its last one is added by AssignStorage
  std::vector<TensorId> tensor_of;     // by ValueId; -1: nothing here
  std::vector<StateUpdate> updates;
  std::vector<Result> results;

  TensorId AddTensor(PlannedTensor tensor) {
    tensors.push_back(std::move(tensor));
    return static_cast<TensorId>(tensors.size()) - 1;
  }
};

// Calls visit(int64_t& offset, bool write) for every offset of the work, set or not, in a fixed order: inputs, outputs,
// workspace; zeroed range, then (from, to) of each copy; input, output of a collective.
template <typename Work, typename Visit>
void VisitOffsets(Work& work, const Visit& visit) {
  if (auto* kernel = std::get_if<KernelLaunch>(&work)) {
    for (auto& input : kernel->inputs) visit(input, false);
    for (auto& output : kernel->outputs) visit(output, true);
    visit(kernel->workspace, true);
  } else if (auto* copy = std::get_if<CopyLaunch>(&work)) {
    if (copy->zero.bytes > 0) visit(copy->zero.offset, true);
    for (auto& box : copy->copies) {
      visit(box.from, false);
      visit(box.to, true);
    }
  } else if (auto* collective = std::get_if<CollectiveLaunch>(&work)) {
    const bool writes = !OnlyReads(*collective);
    visit(collective->input, false);
    visit(collective->output, writes);
  }
}

// Calls visit(TensorId, bool write) for every tensor that the launch touches; one that is touched twice comes twice.
template <typename Visit>
void VisitTensors(const LocalLaunch& launch, const Visit& visit) {
  if (const auto* host = std::get_if<HostLaunch>(&launch.launch.work)) {
    for (TensorId tensor : launch.operands) visit(tensor, host->begin);
    return;
  }
  size_t next = 0;
  VisitOffsets(launch.launch.work, [&](const int64_t& offset, bool write) {
    if (offset >= 0) visit(launch.operands[next++], write);
  });
}

}  // namespace partita

#endif  // PARTITA_GRAPH_SCHEDULE_LOCAL_PROGRAM_H_

#include "graph/lower/launch_halos_early.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "graph/ir/op_definition.h"

namespace partita {
namespace {

class EarlyLaunching {
 public:
  EarlyLaunching(LocalProgram& program, const Graph& entry)
      : launches_(program.launches), tensors_(program.tensors), graph_(entry), writer_(program.tensors.size()) {}

  void Run() {
    int barrier = 0;  // the step's beginning, then the last collective so far
    const int count = static_cast<int>(launches_.size());
    for (int l = 0; l < count; ++l) {
      NoteWrites(l);
      if (!std::holds_alternative<LocalCollective>(launches_[l].work)) continue;
      const int first = FirstOf(l);
      const std::optional<int> target = MovesHalo(l) ? Earliest(first, l, barrier) : std::nullopt;
      barrier = l;
      if (!target || *target >= first) continue;
      std::rotate(launches_.begin() + *target, launches_.begin() + first, launches_.begin() + l + 1);
      for (int moved = *target; moved <= l; ++moved) NoteWrites(moved);
      barrier = *target + (l - first);
    }
  }

 private:
  void NoteWrites(int l) {
    VisitTensors(launches_[l], [&](TensorId tensor, bool write) {
      if (write) writer_[tensor] = l;
    });
  }

  bool MovesHalo(int l) const {
    if (launches_[l].node < 0) return false;
    const std::optional<MoveKind> move = graph_.node(launches_[l].node).op->move;
    return move && MovesGhosts(*move);
  }

  // The first of the launches of a move, of which l is the collective.
  int FirstOf(int l) const {
    int first = l;
    while (first > 0 && launches_[first - 1].node == launches_[l].node) --first;
    return first;
  }

  // Where launches first .. l may begin, behind `barrier`; nullopt if they read nothing.
  std::optional<int> Earliest(int first, int l, int barrier) const {
    int target = barrier + 1;
    bool reads = false;
    for (int i = first; i <= l; ++i) {
      VisitTensors(launches_[i], [&](TensorId tensor, bool write) {
        if (write) return;
        const TensorId inside = tensors_[tensor].inside;
        const std::optional<int> writer =
            inside == kNoTensor ? writer_[tensor] : std::max(writer_[tensor], writer_[inside]);
        if (writer >= first) return;  // packed by one of them
        reads = true;
        if (writer) target = std::max(target, *writer + 1);
      });
    }
    return reads ? std::optional(target) : std::nullopt;
  }

  std::vector<LocalLaunch>& launches_;
  const std::vector<PlannedTensor>& tensors_;
  const Graph& graph_;
  std::vector<std::optional<int>> writer_;  // by tensor: where its last writer stands; nullopt: none so far
};

}  // namespace

void LaunchHalosEarly(LocalProgram& program, const Graph& entry) { EarlyLaunching(program, entry).Run(); }

}  // namespace partita

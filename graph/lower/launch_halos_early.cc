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
      : launches_(program.launches), tensors_(program.tensors), graph_(entry), writer_(program.tensors.size(), -1) {}

  void Run() {
    int barrier = 0;  // the step's beginning, then the last collective so far
    const int count = static_cast<int>(launches_.size());
    for (int l = 0; l < count; ++l) {
      NoteWrites(l);
      if (!std::holds_alternative<CollectiveLaunch>(launches_[l].launch.work)) continue;
      const int first = FirstOf(l);
      const int target = first < 0 ? first : Earliest(first, l, barrier);
      barrier = l;
      if (target < 0 || target >= first) continue;
      std::rotate(launches_.begin() + target, launches_.begin() + first, launches_.begin() + l + 1);
      for (int moved = target; moved <= l; ++moved) NoteWrites(moved);
      barrier = target + (l - first);
    }
  }

 private:
  void NoteWrites(int l) {
    VisitTensors(launches_[l], [&](TensorId tensor, bool write) {
      if (write) writer_[tensor] = l;
    });
  }

  // The first of the launches of a halo's exchange, of which l is the collective; -1: it is none.
  int FirstOf(int l) const {
    const NodeId node = launches_[l].launch.node;
    if (node < 0) return -1;
    const std::optional<MoveKind> move = graph_.node(node).op->move;
    if (!move || !MovesGhosts(*move)) return -1;
    int first = l;
    while (launches_[first - 1].launch.node == node) --first;  // the step's first launch has no node
    return first;
  }

  // Where launches first .. l may begin, behind `barrier`; -1 if they read nothing.
  int Earliest(int first, int l, int barrier) const {
    int target = barrier + 1;
    bool reads = false;
    for (int i = first; i <= l; ++i) {
      VisitTensors(launches_[i], [&](TensorId tensor, bool write) {
        if (write) return;
        const TensorId inside = tensors_[tensor].inside;
        const int writer = inside < 0 ? writer_[tensor] : std::max(writer_[tensor], writer_[inside]);
        if (writer >= first) return;  // packed by one of them
        reads = true;
        target = std::max(target, writer + 1);
      });
    }
    return reads ? target : -1;
  }

  std::vector<LocalLaunch>& launches_;
  const std::vector<PlannedTensor>& tensors_;
  const Graph& graph_;
  std::vector<int> writer_;  // by tensor: where its last writer stands
};

}  // namespace

void LaunchHalosEarly(LocalProgram& program, const Graph& entry) { EarlyLaunching(program, entry).Run(); }

}  // namespace partita

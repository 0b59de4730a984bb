#include "runtime/train/sharded/load_checkpoint.h"

#include <algorithm>
#include <span>

#include "runtime/base/status.h"
#include "runtime/train/sharded/agreement.h"
#include "runtime/train/sharded/fill_parts.h"
#include "runtime/train/sharded/precision_hint.h"

namespace partita {
namespace {

absl::Status FillFrom(const SavedCheckpoint& checkpoint, const SavedState& state, std::span<const HeldTensor> parts) {
  const auto wanted = [&](const Box& box) {
    return std::ranges::any_of(parts, [&](const HeldTensor& part) { return !Intersect(box, part.tensor.box).empty(); });
  };
  return checkpoint.Read(state, wanted, [&](const Box& piece, const char* bytes) { FillParts(piece, bytes, parts); });
}

absl::Status FillAll(const SavedCheckpoint& checkpoint, Session& session) {
  for (const SavedState& state : checkpoint.record().states) {
    RETURN_IF_ERROR(session.FillState(
        state.name, [&](std::span<const HeldTensor> parts) { return FillFrom(checkpoint, state, parts); }));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckStates(const SavedCheckpoint& checkpoint, const Program& program) {
  const Graph& graph = program.state_graph();
  for (const State& state : graph.states()) {
    const std::string& name = graph.value(state.value).name;
    const TensorType& type = graph.type(state.value);
    const SavedState* const saved = checkpoint.Find(name);
    if (saved == nullptr) {
      return InvalidArgument("{}: has no state {}, which training has here", checkpoint.folder(), Printable(name));
    }
    if (saved->dtype == type.dtype && saved->shape == type.shape) continue;
    const bool other = saved->dtype != type.dtype && IsFloating(saved->dtype) && IsFloating(type.dtype);
    return InvalidArgument("{}: state {} is {}{}; here it is {}{}{}", checkpoint.folder(), Printable(name),
                           Name(saved->dtype), ToString(saved->shape), Name(type.dtype), ToString(type.shape),
                           other ? PrecisionHint(saved->dtype) : "");
  }
  for (const SavedState& saved : checkpoint.record().states) {
    if (std::ranges::any_of(graph.states(),
                            [&](const State& state) { return graph.value(state.value).name == saved.name; })) {
      continue;
    }
    return InvalidArgument("{}: has a state {}, which training has not here", checkpoint.folder(),
                           Printable(saved.name));
  }
  return absl::OkStatus();
}

absl::Status LoadCheckpoint(const SavedCheckpoint& checkpoint, Session& session) {
  return Agree(session, MessageKind::kLoadedStates, FillAll(checkpoint, session)).status();
}

}  // namespace partita

// What the ranks of a session hold: states, observed values, votes, made whole over all processes of the job.
#include <algorithm>

#include "graph/ir/op_definition.h"
#include "graph/schedule/localize.h"
#include "runtime/api/job/job.h"
#include "runtime/api/job/packed_values.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"

namespace partita {

std::vector<std::string> Session::StateNames() const {
  std::vector<std::string> names;
  for (const State& state : program_.state_graph().states())
    names.push_back(program_.state_graph().value(state.value).name);
  return names;
}

bool Session::IsParameter(const std::string& state) const {
  const ValueId value = program_.state_graph().Find(state);
  return value != kNoValue &&
         program_.state_graph().node(program_.state_graph().value(value).producer).op->role == Role::kParameter;
}

const Placement* Session::FindState(const std::string& name, int rank) const {
  for (const Placement& placement : ScheduleOf(0, rank).states) {
    if (placement.name == name) return &placement;
  }
  return nullptr;
}

absl::StatusOr<HeldTensor> Session::StatePart(const std::string& name, int rank) const {
  const bool elsewhere = ranks_[rank] == nullptr;
  const Placement* const placement = FindState(name, elsewhere ? local_ranks_.front() : rank);
  if (placement == nullptr) return InvalidArgument("there is no state '{}'", name);
  const Graph& graph = program_.state_graph();
  if (elsewhere) return HeldTensor{LocalTensorOf(graph, graph.Find(name), rank)};
  return ranks_[rank]->Fetch(*placement);
}

absl::StatusOr<HostTensor> Session::ReadState(const std::string& name) const {
  RETURN_IF_ERROR(CheckIdle("read a state"));
  if (FindState(name, local_ranks_.front()) == nullptr) return InvalidArgument("there is no state '{}'", name);
  const Layout& layout = program_.state_graph().layout(program_.state_graph().Find(name));
  std::vector<HeldTensor> parts;
  for (int rank = 0; rank < ranks(); ++rank) {
    ASSIGN_OR_RETURN(HeldTensor part, StatePart(name, rank));
    parts.push_back(std::move(part));
    if (!IsFirstReplica(layout, program_.state_graph().mesh(layout), rank)) parts.back().data = nullptr;
  }
  std::vector<std::string> storage;
  ASSIGN_OR_RETURN(parts, AllParts(std::move(parts), storage));
  HostTensor tensor{parts[0].tensor.dtype, parts[0].tensor.global, {}};
  tensor.bytes.resize(static_cast<size_t>(Elements(tensor.shape) * SizeOf(tensor.dtype)));
  for (const HeldTensor& part : parts) CopyFromPart(part, tensor.bytes.data());
  return tensor;
}

absl::Status Session::WriteState(const std::string& name, const ConstTensor& tensor) {
  RETURN_IF_ERROR(CheckIdle("write a state"));
  for (const int rank : local_ranks_) {
    const Placement* const placement = FindState(name, rank);
    if (placement == nullptr) return InvalidArgument("there is no state '{}'", name);
    if (placement->tensor.dtype != tensor.dtype || placement->tensor.global != tensor.shape) {
      return InvalidArgument("state '{}' is {}{}; given is {}{}", name, Name(placement->tensor.dtype),
                             ToString(placement->tensor.global), Name(tensor.dtype), ToString(tensor.shape));
    }
    ASSIGN_OR_RETURN(const HeldTensor part, ranks_[rank]->NewBytes(*placement));
    CopyToPart(static_cast<const char*>(tensor.data), part);
    RETURN_IF_ERROR(ranks_[rank]->Store(*placement, part));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<RankPart>> Session::OwnParts(const std::string& state) const {
  RETURN_IF_ERROR(CheckIdle("read a state"));
  const Graph& graph = program_.state_graph();
  const ValueId value = graph.Find(state);
  if (value == kNoValue) return InvalidArgument("there is no state '{}'", state);
  const Layout& layout = graph.layout(value);
  std::vector<RankPart> parts;
  for (const int rank : local_ranks_) {
    if (!IsFirstReplica(layout, graph.mesh(layout), rank)) continue;
    ASSIGN_OR_RETURN(HeldTensor part, StatePart(state, rank));
    if (part.data != nullptr && !part.tensor.box.empty()) parts.push_back({rank, std::move(part)});
  }
  return parts;
}

absl::Status Session::FillState(const std::string& state, const PartFiller& fill) {
  RETURN_IF_ERROR(CheckIdle("write a state"));
  std::vector<HeldTensor> parts;
  for (const int rank : local_ranks_) {
    const Placement* const placement = FindState(state, rank);
    if (placement == nullptr) return InvalidArgument("there is no state '{}'", state);
    ASSIGN_OR_RETURN(HeldTensor part, ranks_[rank]->NewBytes(*placement));
    parts.push_back(std::move(part));
  }
  std::vector<HeldTensor> filled = parts;
  std::erase_if(filled, [](const HeldTensor& part) { return part.data == nullptr || part.tensor.box.empty(); });
  RETURN_IF_ERROR(fill(filled));
  for (size_t i = 0; i < local_ranks_.size(); ++i) {
    const int rank = local_ranks_[i];
    RETURN_IF_ERROR(ranks_[rank]->Store(*FindState(state, rank), parts[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Session::ReplicasEqual(const std::string& state) const {
  RETURN_IF_ERROR(CheckIdle("read a state"));
  const ValueId value = program_.state_graph().Find(state);
  std::vector<HeldTensor> parts;
  for (int rank = 0; rank < ranks(); ++rank) {
    ASSIGN_OR_RETURN(HeldTensor part, StatePart(state, rank));
    parts.push_back(std::move(part));
  }
  std::vector<std::string> storage;
  ASSIGN_OR_RETURN(parts, AllParts(std::move(parts), storage));
  return GatherValue(program_.state_graph().type(value), program_.state_graph().layout(value),
                     program_.state_graph().mesh(value), parts)
      .replicas_equal;
}

absl::StatusOr<WholeValue> Session::Observed(const std::string& name) const {
  RETURN_IF_ERROR(train_.status());
  RETURN_IF_ERROR(CheckIdle("read an observed value"));
  const Graph& training = program_.entries[*train_].graph;
  const ValueId value = training.Find(name);
  if (value == kNoValue || !options_.tests.observe) return InvalidArgument("no value '{}' is observed", name);
  std::vector<HeldTensor> parts;
  for (int rank = 0; rank < ranks(); ++rank) parts.push_back(ObservedPart(value, rank));
  std::vector<std::string> storage;
  ASSIGN_OR_RETURN(parts, AllParts(std::move(parts), storage));
  return GatherValue(training.type(value), training.layout(value), training.mesh(value), parts);
}

absl::StatusOr<std::vector<HeldTensor>> Session::VotePlacements(std::string_view entry) const {
  ASSIGN_OR_RETURN(const int place, program_.PlaceOf(entry));
  const Votes& votes = program_.entries[place].graph.votes;
  std::vector<HeldTensor> cast;
  if (!votes.counted()) return cast;
  for (const int rank : local_ranks_) {
    const ValuePlacement& placement = ScheduleOf(place, rank).values[votes.cast];
    cast.push_back(PartOf(placement.tensor, placement.offset, rank));
  }
  return cast;
}

absl::StatusOr<std::vector<std::string>> Session::AllGather(const Message& message) const {
  if (options_.job == nullptr) return std::vector<std::string>{std::string(message.bytes)};
  return options_.job->AllGather(message);
}

// The parts of all ranks, of which those in other processes lie in `storage`.
absl::StatusOr<std::vector<HeldTensor>> Session::AllParts(std::vector<HeldTensor> parts,
                                                          std::vector<std::string>& storage) const {
  if (options_.job == nullptr) return parts;
  PackedValues packed;
  for (const int rank : local_ranks_) {
    if (parts[rank].data == nullptr) continue;
    packed.Add(int64_t{rank});
    packed.AddBytes(parts[rank].data, parts[rank].tensor.bytes());
  }
  int64_t most_bytes = 0;  // if one process had all
  for (const HeldTensor& part : parts) most_bytes += static_cast<int64_t>(sizeof(int64_t)) + part.tensor.bytes();
  constexpr MessageKind kKind = MessageKind::kValueParts;
  ASSIGN_OR_RETURN(storage, AllGather({kKind, packed.bytes(), most_bytes}));
  for (size_t process = 0; process < storage.size(); ++process) {
    PackedReader values(kKind, process, storage[process]);
    while (!values.AtEnd()) {
      HeldTensor& part = parts[values.NextBelow(ranks())];
      char* const bytes = const_cast<char*>(values.NextBytes(part.tensor.bytes()));
      if (part.data == nullptr) part.data = bytes;
    }
    RETURN_IF_ERROR(values.Finish());
  }
  return parts;
}

}  // namespace partita

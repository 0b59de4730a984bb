#include "runtime/train/model_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "graph/ir/generated_name.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/adapter_folder.h"
#include "runtime/checkpoint/save_in_turn.h"
#include "runtime/checkpoint/sharded/pieces.h"
#include "runtime/train/sharded/agreement.h"
#include "runtime/train/sharded/fill_parts.h"
#include "runtime/train/sharded/finite_check.h"
#include "runtime/train/sharded/precision_hint.h"

namespace partita {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;
constexpr char kClassWeights[] = "/class_weights";  // as graph/read/class_weights.cc names the state

using StateTypes = std::map<std::string, TensorType, std::less<>>;

StateTypes StatesOf(const Graph& graph) {
  StateTypes states;
  for (const State& state : graph.states()) states[graph.value(state.value).name] = graph.type(state.value);
  return states;
}

// What entry points other than training read of a program's states; those that they change begin anew with every set.
std::set<std::string, std::less<>> EvaluatedStates(const Program& program) {
  std::set<std::string, std::less<>> names;
  for (const EntryPoint& entry : program.entries) {
    if (IsUse(entry.name, kTrainEntry)) continue;
    for (const State& state : entry.graph.states()) {
      if (state.update == kNoValue) names.insert(entry.graph.value(state.value).name);
    }
  }
  return names;
}

bool HasShape(const StoredTensor& tensor, const Shape& shape) {
  return std::equal(tensor.shape.begin(), tensor.shape.end(), shape.begin(), shape.end());
}

absl::Status CheckShape(const std::string& path, const StoredTensor& tensor, const Shape& shape) {
  if (HasShape(tensor, shape)) return absl::OkStatus();
  return InvalidArgument("{}: tensor {}: found {}[{}], needed is {}", path, Printable(tensor.name), tensor.type->name,
                         fmt::join(tensor.shape, ","), ToString(shape));
}

// Also of its type, which --precision decides.
absl::Status CheckType(const std::string& path, const StoredTensor& tensor, const TensorType& type) {
  RETURN_IF_ERROR(CheckShape(path, tensor, type.shape));
  if (tensor.type == StoredTypeOf(type.dtype)) return absl::OkStatus();
  std::string hint;
  for (const DType precision : {DType::kF32, DType::kF64}) {
    if (tensor.type == StoredTypeOf(precision) && IsFloating(type.dtype)) hint = PrecisionHint(precision);
  }
  return InvalidArgument("{}: tensor {}: found {}[{}], needed is {}{}{}", path, Printable(tensor.name),
                         tensor.type->name, fmt::join(tensor.shape, ","), StoredTypeOf(type.dtype)->name,
                         ToString(type.shape), hint);
}

// The weights of classes that --class-weights gave the loss in training: other commands do without.
bool IsClassWeights(const std::string& name, const Graph& graph) {
  return graph.loss != kNoValue && name == graph.value(graph.loss).name + kClassWeights;
}

// Every tensor is a state of the graph, or lies beside a node of it, and no state is larger than there: so the file is
// not, either, but for what training added, which is looked at when the program is known.
absl::Status CheckTensors(const SafetensorsFile& file, const Graph& graph) {
  const StateTypes states = StatesOf(graph);
  for (const StoredTensor& tensor : file.tensors()) {
    const std::string owner = UserNameOf(tensor.name);
    const auto found = states.find(owner);
    const bool added = IsGenerated(tensor.name) && (owner.empty() || graph.Find(owner) != kNoValue);
    if (found == states.end() && !added) {
      if (IsClassWeights(tensor.name, graph)) continue;
      const bool adapter = tensor.name.ends_with(kAdapterDown) || tensor.name.ends_with(kAdapterUp);
      return InvalidArgument("{}: tensor {} is no parameter and no running statistic of the graph{}", file.path(),
                             Printable(tensor.name),
                             adapter ? "; --lora-rank and --lora-alpha say of what adapters" : "");
    }
    if (!IsGenerated(tensor.name)) RETURN_IF_ERROR(CheckShape(file.path(), tensor, found->second.shape));
  }
  return absl::OkStatus();
}

// Where to look for a state that only one of a file and a program has.
const char* OwnerOf(const std::string& state) {
  return state.ends_with(kClassWeights) ? "it comes from --class-weights" : "does the optimizer have it?";
}

// A file from which training goes on has the program's states and nothing else.
absl::Status CheckAll(const SafetensorsFile& file, const StateTypes& states) {
  for (const StoredTensor& tensor : file.tensors()) {
    if (states.contains(tensor.name)) continue;
    return InvalidArgument("{}: tensor {}: training has no such state here ({})", file.path(), Printable(tensor.name),
                           OwnerOf(tensor.name));
  }
  for (const auto& [name, type] : states) {
    if (file.Find(name) != nullptr) continue;
    return InvalidArgument("{}: tensor {}: not found, but training has such a state here ({})", file.path(),
                           Printable(name), OwnerOf(name));
  }
  return absl::OkStatus();
}

// What the steps read as their number is the number that the file tells, if there is such a state.
absl::Status CheckIteration(const CheckedFile& file, const Graph& graph, int64_t step) {
  for (const State& state : graph.states()) {
    if (graph.value(state.value).name != kIterationName || state.update == kNoValue) continue;
    ASSIGN_OR_RETURN(const StoredTensor* const tensor,
                     file.Find(kIterationName, DType::kI32, graph.type(state.value).shape));
    ASSIGN_OR_RETURN(TensorStream stream, file.Open(*tensor));
    int32_t iteration = 0;
    ASSIGN_OR_RETURN(const std::string_view bytes, stream.Next(sizeof(iteration)));
    std::memcpy(&iteration, bytes.data(), sizeof(iteration));
    if (iteration == step) continue;
    return InvalidArgument("{}: tensor {}: found {}, the metadata speaks of step {}", file.path(), kIterationName,
                           iteration, step);
  }
  return absl::OkStatus();
}

bool IsWanted(States states, std::string_view name, const std::set<std::string, std::less<>>& evaluated) {
  return states == States::kAll || !IsGenerated(name) || (states == States::kEvaluated && evaluated.contains(name));
}

// What the file has for a state; null: nothing, the state stays as it is.
const StoredTensor* FindFor(const CheckedFile& file, const std::string& state, const TensorType& type,
                            const std::set<std::string, std::less<>>& evaluated) {
  const StoredTensor* const own = file.Find(state);
  if (own != nullptr || !IsGenerated(state) || !evaluated.contains(state)) return own;
  const StoredTensor* const owner = file.Find(UserNameOf(state));
  return owner != nullptr && HasShape(*owner, type.shape) ? owner : nullptr;
}

// States as wholes, each when it is asked for: all processes read the same ones in the same order, or until the first
// that cannot be read. With the last one comes whether all were finite.
class StatesInTurn {
 public:
  StatesInTurn(const Session& session, const std::vector<NamedTensor>& tensors, std::span<const size_t> order,
               const std::string& path)
      : session_(session), tensors_(tensors), order_(order), path_(path) {}

  absl::StatusOr<std::string_view> Next() {
    const std::string& name = tensors_[order_[read_++]].name;
    state_ = {};
    ASSIGN_OR_RETURN(state_, session_.ReadState(name));
    finite_.Look(name, {state_.dtype, state_.shape, WholeBox(state_.shape)}, std::as_bytes(std::span(state_.bytes)));
    if (read_ == order_.size()) RETURN_IF_ERROR(finite_.Result(path_));
    return std::string_view(state_.bytes.data(), state_.bytes.size());
  }

  absl::Status ReadOthers() {
    while (read_ < order_.size()) RETURN_IF_ERROR(Next().status());
    return absl::OkStatus();
  }

 private:
  const Session& session_;
  const std::vector<NamedTensor>& tensors_;
  const std::span<const size_t> order_;
  const std::string& path_;
  FiniteCheck finite_;
  HostTensor state_;
  size_t read_ = 0;
};

absl::Status FillFrom(const CheckedFile& file, const StoredTensor& tensor, std::span<const HeldTensor> parts) {
  ASSIGN_OR_RETURN(TensorStream stream, file.Open(tensor));
  const Shape shape(tensor.shape.begin(), tensor.shape.end());
  const int64_t element = tensor.type->bits / 8;
  RETURN_IF_ERROR(EachPiece(WholeBox(shape), kPieceBytes / element, [&](const Box& piece) -> absl::Status {
    ASSIGN_OR_RETURN(const std::string_view bytes, stream.Next(piece.elements() * element));
    FillParts(piece, bytes.data(), parts);
    return absl::OkStatus();
  }));
  return stream.CheckEnd();
}

}  // namespace

absl::Status SaveStates(const Session& session, const Model& model, const ModelRecord& record, States states,
                        const std::string& path) {
  const auto evaluated = EvaluatedStates(session.program());
  std::vector<NamedTensor> tensors;
  for (const auto& [name, type] : StatesOf(session.program().state_graph())) {
    if (IsWanted(states, name, evaluated)) {
      tensors.push_back({name, type.dtype, {type.shape.begin(), type.shape.end()}, {}});
    }
  }
  Metadata metadata = ToMetadata(record);
  metadata["partita.model"] = model.name;
  ASSIGN_OR_RETURN(const SafetensorsOutline outline, SafetensorsOutline::Make(path, tensors, metadata));
  StatesInTurn in_turn(session, tensors, outline.order(), path);
  absl::Status saved;
  if (session.local_ranks().front() == 0) {
    saved = SaveInTurn(path, tensors, metadata, [&](size_t /*tensor*/) { return in_turn.Next(); });
  }
  const absl::Status others = in_turn.ReadOthers();  // those of other processes, or behind an error of the disk
  return saved.ok() ? others : saved;
}

absl::Status SaveModel(const Session& session, const Model& model, ModelRecord record, bool weights_only,
                       const std::string& path) {
  const bool evaluated = weights_only || session.program().Find(kTrainEntry) == nullptr;
  if (evaluated) record.training.reset();
  return SaveStates(session, model, record, evaluated ? States::kEvaluated : States::kAll, path);
}

absl::StatusOr<ModelFile> ModelFile::Open(const Model& model, const std::string& path) {
  ASSIGN_OR_RETURN(SafetensorsReader reader, SafetensorsReader::Open(path));
  RETURN_IF_ERROR(CheckTensors(reader.header(), model.graph));
  ASSIGN_OR_RETURN(ModelRecord record, ReadRecord(path, reader.header().metadata()));
  return ModelFile(std::move(reader), std::move(record));
}

absl::StatusOr<CheckedFile> ModelFile::Check(const Program& program, States states) && {
  const StateTypes types = StatesOf(program.state_graph());
  if (states == States::kAll) RETURN_IF_ERROR(CheckAll(reader_.header(), types));
  const auto evaluated = EvaluatedStates(program);
  const auto wanted = [&](const StoredTensor& tensor) {
    return types.contains(tensor.name) && IsWanted(states, tensor.name, evaluated);
  };
  for (const StoredTensor& tensor : reader_.header().tensors()) {
    if (wanted(tensor)) RETURN_IF_ERROR(CheckType(path(), tensor, types.find(tensor.name)->second));
  }
  ASSIGN_OR_RETURN(CheckedFile file, CheckedFile::Check(std::move(reader_), wanted));
  if (states == States::kAll && record_.training) {
    RETURN_IF_ERROR(CheckIteration(file, program.state_graph(), record_.training->step));
  }
  return file;
}

absl::Status LoadStates(Session& session, const CheckedFile& file, const std::set<std::string>& optional) {
  const auto evaluated = EvaluatedStates(session.program());
  std::vector<std::pair<std::string, const StoredTensor*>> loaded;
  for (const auto& [name, type] : StatesOf(session.program().state_graph())) {
    const StoredTensor* const tensor = FindFor(file, name, type, evaluated);
    if (tensor == nullptr && (IsGenerated(name) || optional.contains(name))) continue;
    ASSIGN_OR_RETURN(const StoredTensor* const suits,
                     file.Find(tensor == nullptr ? name : tensor->name, type.dtype, type.shape));
    loaded.emplace_back(name, suits);
  }
  absl::Status filled;
  for (const auto& [name, tensor] : loaded) {
    if (!filled.ok()) break;
    filled = session.FillState(name, [&](std::span<const HeldTensor> parts) { return FillFrom(file, *tensor, parts); });
  }
  return Agree(session, MessageKind::kLoadedStates, filled).status();
}

}  // namespace partita

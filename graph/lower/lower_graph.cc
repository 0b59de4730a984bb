#include "graph/lower/lower_graph.h"

#include <algorithm>
#include <unordered_map>

#include "graph/ir/entry_point.h"
#include "graph/ir/op_definition.h"
#include "graph/lower/moves/lower_moves.h"
#include "graph/lower/rounded_states.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

class GraphLowering {
 public:
  GraphLowering(const Program& program, const Graph& entry, int rank, const LocalGraph& local,
                const KernelCatalogue& kernels, const LoweringOptions& options)
      : program_(program),
        graph_(entry),
        rank_(rank),
        local_(local),
        kernels_(kernels),
        round_states_(options.round_states),
        moves_(program, entry, rank, local, kernels, options.exchange_boxes, out_) {}

  absl::StatusOr<LocalProgram> Run() {
    out_.tensor_of.assign(graph_.values().size(), -1);
    out_.tensors.reserve(graph_.values().size());
    out_.launches.reserve(graph_.nodes().size());
    RETURN_IF_ERROR(AddStates());
    if (round_states_) AddRoundedStates();
    AddBegin();
    for (NodeId node = 0; node < static_cast<NodeId>(graph_.nodes().size()); ++node) {
      RETURN_IF_ERROR(LowerNode(node));
    }
    RETURN_IF_ERROR(AddUpdates());
    AddResults();
    return std::move(out_);
  }

 private:
  // The states of the program, all of them and in its order, so that every entry point finds them in the same places.
  absl::Status AddStates() {
    std::unordered_map<std::string, std::pair<LocalTensor, TensorId>> by_name;
    const Graph& all = program_.state_graph();
    for (const State& state : all.states()) {
      const Value& value = all.value(state.value);
      LocalTensor tensor{value.type.dtype, value.type.shape, WholeBox({0})};
      std::optional<Box> box = LocalBox(value.layout, value.type.shape, all.mesh(value.layout), rank_);
      if (box) tensor.box = *std::move(box);
      const bool parameter = all.node(value.producer).op->role == Role::kParameter;
      const MemoryKind kind = parameter ? MemoryKind::kParameter : MemoryKind::kState;
      const TensorId id = tensor.bytes() == 0 ? -1 : out_.AddTensor({tensor.bytes(), kind, value.name, -1, 0});
      by_name.emplace(value.name, std::pair{std::move(tensor), id});
    }
    for (const State& state : graph_.states()) {
      const std::string& name = graph_.value(state.value).name;
      const auto found = by_name.find(name);
      if (found == by_name.end()) return Internal("the program has no state '{}'", name);
      const auto& [tensor, id] = found->second;
      if (local_.Holds(state.value) ? local_.values[state.value]->box != tensor.box : id >= 0) {
        return Internal("state '{}' lies elsewhere in entry point '{}'", name, program_.entries.front().name);
      }
      out_.tensor_of[state.value] = id;
    }
    return absl::OkStatus();
  }

  // Behind the states, in their order: of all entry points in the same places, as they are.
  void AddRoundedStates() {
    const Graph& all = program_.state_graph();
    const std::vector<bool> kept = KeptRounded(program_);
    TensorId tensor = 0;  // those of the states are the first ones, in this order
    for (size_t s = 0; s < kept.size(); ++s) {
      const Value& value = all.value(all.states()[s].value);
      const std::optional<Box> box = LocalBox(value.layout, value.type.shape, all.mesh(value.layout), rank_);
      if (!box || box->empty()) continue;
      const TensorId state = tensor++;
      if (!kept[s]) continue;
      const int64_t bytes = box->elements() * SizeOf(DType::kBF16);
      rounded_[state] = out_.AddTensor({bytes, MemoryKind::kState, value.name + "@bf16", -1, 0});
      out_.rounded.push_back({static_cast<int>(s), rounded_[state]});
    }
    for (const State& state : graph_.states()) {
      const auto rounded = rounded_.find(out_.tensor_of[state.value]);
      if (rounded != rounded_.end() && state.update != kNoValue) rounded_by_[state.update] = rounded->second;
    }
  }

  void AddBegin() {
    LocalLaunch& begin = out_.launches.emplace_back();
    begin.name = "step begin";
    begin.work = LocalHost{true, {}};
  }

  absl::Status LowerNode(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op->is_state()) {
      if (local_.Holds(node.outputs[0]) && out_.tensor_of[node.outputs[0]] < 0) {
        return Internal("{} '{}' is no state of the graph", node.op->name, graph_.name(id));
      }
      return absl::OkStatus();
    }
    if (node.op->role == Role::kInput) {
      const TensorId tensor = NewOutput(node.outputs[0], MemoryKind::kInput);
      if (tensor != kNoTensor) std::get<LocalHost>(out_.launches.front().work).tensors.push_back(tensor);
      return absl::OkStatus();
    }
    if (node.op->move) return moves_.Lower(id);
    return node.op->view ? LowerView(id) : LowerCompute(id);
  }

  absl::Status LowerView(NodeId id) {
    const Node& node = graph_.node(id);
    const ValueId input = node.inputs[0];
    const ValueId output = node.outputs[0];
    if (!local_.Holds(output)) return absl::OkStatus();
    if (!local_.Holds(input) || local_.values[input]->bytes() != local_.values[output]->bytes()) {
      return Internal("view '{}': the rank holds other bytes of it than of '{}'", graph_.name(id),
                      graph_.value(input).name);
    }
    out_.tensor_of[output] = out_.tensor_of[input];
    return absl::OkStatus();
  }

  absl::Status LowerCompute(NodeId id) {
    const Node& node = graph_.node(id);
    if (!Runs(local_, node) || IsThereRounded(node)) return absl::OkStatus();
    LocalKernel kernel;
    ASSIGN_OR_RETURN(kernel.node, MakeLocalNode(graph_, local_, id));
    LocalLaunch launch;
    launch.name = graph_.name(id);
    launch.node = id;
    launch.phase = node.phase;
    kernel.inputs.reserve(node.inputs.size());
    kernel.outputs.reserve(node.outputs.size() + 1);
    for (ValueId input : node.inputs) {
      kernel.inputs.push_back({input == kNoValue ? kNoTensor : out_.tensor_of[input], 0, input});
    }
    for (ValueId output : node.outputs) {
      kernel.outputs.push_back({NewOutput(output, MemoryKind::kActivation), 0, output});
    }
    AddRounded(node, kernel);
    ASSIGN_OR_RETURN(kernel.choice, kernels_.Choose(kernel.node));
    kernel.workspace = out_.AddWorkspace(kernel.choice, launch.name);
    AddInPlace(node, launch);
    launch.work = std::move(kernel);
    out_.launches.push_back(std::move(launch));
    return absl::OkStatus();
  }

  // A cast of a state that is kept rounded.
  bool IsThereRounded(const Node& node) {
    if (rounded_.empty() || !RoundsToBf16(graph_, node)) return false;
    const auto rounded = rounded_.find(out_.tensor_of[node.inputs[0]]);
    if (rounded == rounded_.end()) return false;
    out_.tensor_of[node.outputs[0]] = rounded->second;
    return true;
  }

  // The new state once more, rounded.
  void AddRounded(const Node& node, LocalKernel& kernel) {
    if (node.op->rounds < 0) return;
    const ValueId made = node.outputs[static_cast<size_t>(node.op->rounds)];
    const auto state = rounded_by_.find(made);
    if (state == rounded_by_.end()) return;
    LocalTensor rounded = kernel.node.outputs[static_cast<size_t>(node.op->rounds)];
    rounded.dtype = DType::kBF16;
    const std::string name = graph_.value(made).name + "@bf16";
    const TensorId tensor = out_.AddTensor({rounded.bytes(), MemoryKind::kActivation, name, -1, 0});
    kernel.node.outputs.push_back(std::move(rounded));
    kernel.outputs.push_back({tensor, 0, made});
    out_.updates.push_back({state->second, tensor});
  }

  // An input may give its place to an output if every operand that reads it is read element by element with it.
  void AddInPlace(const Node& node, LocalLaunch& launch) const {
    const auto tensor = [&](ValueId value) { return value == kNoValue ? -1 : out_.tensor_of[value]; };
    for (auto [input, output] : node.op->in_place) {
      const int inputs = static_cast<int>(node.inputs.size());
      if (input >= inputs || output >= static_cast<int>(node.outputs.size())) continue;
      const TensorId from = tensor(node.inputs[input]);
      const TensorId to = tensor(node.outputs[output]);
      if (from < 0 || to < 0 || out_.tensors[from].bytes != out_.tensors[to].bytes) continue;
      bool all_paired = true;
      for (int i = 0; i < inputs; ++i) {
        if (tensor(node.inputs[i]) != from) continue;
        const auto& pairs = node.op->in_place;
        all_paired = all_paired && std::find(pairs.begin(), pairs.end(), std::pair{i, output}) != pairs.end();
      }
      if (all_paired) launch.in_place.push_back({from, to});
    }
  }

  absl::Status AddUpdates() {
    for (const State& state : graph_.states()) {
      if (state.update == kNoValue) continue;
      const std::string& name = graph_.value(state.value).name;
      const TensorId to = out_.tensor_of[state.value];
      TensorId from = out_.tensor_of[state.update];
      if (to >= 0 ? from < 0 || out_.tensors[from].bytes != out_.tensors[to].bytes : local_.Holds(state.update)) {
        return Internal("state '{}' and its update '{}' lie differently", name, graph_.value(state.update).name);
      }
      if (to < 0 || from == to) continue;
      // An update that is another state, or an input, as it was before the step: saved before anyone overwrites it.
      if (out_.tensors[from].kind != MemoryKind::kActivation) from = AppendSave(name, from);
      out_.updates.push_back({to, from});
    }
    return absl::OkStatus();
  }

  TensorId AppendSave(const std::string& name, TensorId from) {
    const int64_t bytes = out_.tensors[from].bytes;
    const TensorId saved = out_.AddTensor({bytes, MemoryKind::kActivation, name + "/save", -1, 0});
    LocalLaunch& launch = out_.launches.emplace_back();
    launch.name = name + "/save";
    launch.phase = Phase::kUpdate;
    const Box flat = WholeBox({bytes});
    launch.work = LocalCopies{kNoTensor, {{CopyOf(flat, flat, flat, DType::kU8), from, saved}}};
    return saved;
  }

  void AddResults() {
    for (const ValueId result : ReadByHost(graph_)) {
      TensorId tensor = out_.tensor_of[result];
      if (tensor < 0) continue;
      // A state is reported as it was read in this step, and may be overwritten in it.
      const MemoryKind kind = out_.tensors[tensor].kind;
      const bool state = kind == MemoryKind::kParameter || kind == MemoryKind::kState;
      if (state) tensor = AppendSave(graph_.value(result).name, tensor);
      out_.results.push_back({result, tensor});
    }
  }

  TensorId NewOutput(ValueId value, MemoryKind kind) {
    if (!local_.Holds(value)) return -1;
    const TensorId tensor = out_.AddTensor({local_.values[value]->bytes(), kind, graph_.value(value).name, -1, 0});
    out_.tensor_of[value] = tensor;
    return tensor;
  }

  const Program& program_;
  const Graph& graph_;
  int rank_;
  const LocalGraph& local_;
  const KernelCatalogue& kernels_;
  const bool round_states_;
  std::unordered_map<TensorId, TensorId> rounded_;    // of the states that are kept rounded
  std::unordered_map<ValueId, TensorId> rounded_by_;  // by what becomes such a state: its rounded one
  LocalProgram out_;
  MoveLowering moves_;
};

}  // namespace

absl::StatusOr<LocalProgram> LowerGraph(const Program& program, const Graph& entry, int rank, const LocalGraph& local,
                                        const KernelCatalogue& kernels, const LoweringOptions& options) {
  return GraphLowering(program, entry, rank, local, kernels, options).Run();
}

}  // namespace partita

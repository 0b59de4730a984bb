#include "graph/plan/bind_schedule.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/ir/entry_point.h"
#include "graph/ir/op_definition.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

// What a rank holds of a value that an At keeps elsewhere.
Box NoBox(const Shape& shape) { return {Shape(shape.size(), 0), Shape(shape.size(), 0)}; }

class ScheduleBinder {
 public:
  ScheduleBinder(const Program& program, const Graph& entry, LocalGraph& local, LocalProgram& lowered,
                 const StoragePlan& storage, const MemoryPlan& memory, Schedule& schedule)
      : program_(program),
        graph_(entry),
        local_(local),
        lowered_(lowered),
        storage_(storage),
        memory_(memory),
        schedule_(schedule),
        maker_(lowered.tensors.size(), -1) {}

  void Run() {
    BindLaunches();
    BindStates();
    BindInputs();
    BindResults();
    BindValues();
    schedule_.lifetimes.reserve(storage_.storages.size());
    for (size_t s = 0; s < storage_.storages.size(); ++s) {
      const Storage& storage = storage_.storages[s];
      const bool state = storage.kind == MemoryKind::kParameter || storage.kind == MemoryKind::kState;
      schedule_.lifetimes.push_back({storage.name,
                                     {memory_.offsets[s], storage.bytes},
                                     storage.first,
                                     storage.last,
                                     state,
                                     storage.kind == MemoryKind::kWorkspace});
    }
    for (PlannedTensor& tensor : lowered_.tensors) schedule_.tensors.push_back({std::move(tensor.name), tensor.bytes});
    for (const StateUpdate& update : lowered_.updates) schedule_.carried.push_back({update.state, update.update});
    schedule_.memory = memory_.use;
  }

 private:
  int64_t OffsetOf(TensorId tensor) const {
    if (tensor < 0) return -1;
    return memory_.offsets[storage_.storage_of[tensor]] + storage_.offset_in[tensor];
  }

  void BindLaunches() {
    schedule_.launches.reserve(lowered_.launches.size());
    for (LocalLaunch& local : lowered_.launches) {
      Launch& launch = schedule_.launches.emplace_back();
      const std::vector<Access> completed = CompletedBy(local);
      launch.name = std::move(local.name);
      launch.node = local.node;
      launch.phase = local.phase;
      launch.contents = std::visit([](const auto& work) { return ContentsOf(work); }, local.work);
      std::visit([&](auto& work) { launch.work = Bound(work); }, local.work);
      launch.accesses = AccessesOf(launch);
      launch.accesses.insert(launch.accesses.end(), completed.begin(), completed.end());
    }
  }

  int64_t OffsetOf(const Operand& operand) const {
    return operand.tensor == kNoTensor ? -1 : OffsetOf(operand.tensor) + operand.offset;
  }

  std::vector<int64_t> OffsetsOf(const std::vector<Operand>& operands) const {
    std::vector<int64_t> offsets;
    offsets.reserve(operands.size());
    for (const Operand& operand : operands) offsets.push_back(OffsetOf(operand));
    return offsets;
  }

  static Content ContentOf(const Operand& operand) { return {operand.tensor, operand.offset}; }

  static std::vector<Content> ContentsOf(const LocalKernel& local) {
    std::vector<Content> contents;
    contents.reserve(local.inputs.size() + local.outputs.size() + 1);
    for (const Operand& input : local.inputs) contents.push_back(ContentOf(input));
    for (const Operand& output : local.outputs) contents.push_back(ContentOf(output));
    contents.push_back({local.workspace, 0});
    return contents;
  }

  static std::vector<Content> ContentsOf(const LocalCopies& local) {
    std::vector<Content> contents = {{local.zeroed, 0}};
    contents.reserve(2 * local.copies.size() + 1);
    for (const LocalCopy& copy : local.copies) {
      const Content from = {copy.from, copy.boxes.from};
      contents.push_back(from);
      contents.push_back(copy.keeps ? from : Content{copy.to, copy.boxes.to});
    }
    return contents;
  }

  static std::vector<Content> ContentsOf(const LocalCollective& local) {
    return {{local.input, std::max<int64_t>(local.call.input, 0)},
            {local.output, std::max<int64_t>(local.call.output, 0)}};
  }

  static std::vector<Content> ContentsOf(const LocalHost&) { return {}; }

  // They take what they can of the local work.
  KernelLaunch Bound(LocalKernel& local) const {
    return {std::move(local.node), std::move(local.choice), OffsetsOf(local.inputs), OffsetsOf(local.outputs),
            OffsetOf(local.workspace)};
  }

  CopyLaunch Bound(LocalCopies& local) const {
    CopyLaunch launch;
    if (local.zeroed != kNoTensor) launch.zero = WholeOf(local.zeroed);
    launch.copies.reserve(local.copies.size());
    for (LocalCopy& copy : local.copies) {
      BoxCopy& bound = launch.copies.emplace_back(std::move(copy.boxes));
      bound.from += OffsetOf(copy.from);
      bound.to += OffsetOf(copy.to);
    }
    return launch;
  }

  CollectiveLaunch Bound(LocalCollective& local) const {
    CollectiveLaunch launch = std::move(local.call);
    if (local.input != kNoTensor) launch.input += OffsetOf(local.input);
    if (local.output != kNoTensor) launch.output += OffsetOf(local.output);
    return launch;
  }

  HostLaunch Bound(const LocalHost& local) const { return {local.begin}; }

  ByteRange WholeOf(TensorId tensor) const { return {OffsetOf(tensor), lowered_.tensors[tensor].bytes}; }

  // Accesses beside those of its work. The host's touch whole tensors. A tensor that several launches write is complete
  // when the last of them has ended: each of them is ordered behind those before it as if it wrote the whole tensor.
  // Not so of a tensor written in columns, which no observer copies (ViewColumns).
  std::vector<Access> CompletedBy(const LocalLaunch& launch) {
    std::vector<Access> completed;
    const int self = static_cast<int>(schedule_.launches.size());
    const bool host = std::holds_alternative<LocalHost>(launch.work);
    VisitTensors(launch, [&](TensorId tensor, bool write) {
      if (host) return completed.push_back({WholeOf(tensor), write, {}, tensor, OffsetOf(tensor)});
      if (!write || WritesColumns(launch, tensor)) return;
      const int before = std::exchange(maker_[tensor], self);
      if (before >= 0 && before != self) completed.push_back({WholeOf(tensor), true});
    });
    return completed;
  }

  static bool WritesColumns(const LocalLaunch& launch, TensorId tensor) {
    const auto* const kernel = std::get_if<LocalKernel>(&launch.work);
    if (kernel == nullptr || kernel->node.within.empty()) return false;
    for (size_t o = 0; o < kernel->outputs.size(); ++o) {
      if (kernel->outputs[o].tensor == tensor && kernel->node.HasColumns(kernel->inputs.size() + o)) return true;
    }
    return false;
  }

  LocalTensor Tensor(ValueId value) const {
    const TensorType& type = graph_.type(value);
    return local_.values[value] ? *local_.values[value] : LocalTensor{type.dtype, type.shape, NoBox(type.shape)};
  }

  void BindStates() {
    TensorId tensor = 0;  // LowerGraph makes the states' tensors first, in this order
    const Graph& all = program_.state_graph();
    for (const State& state : all.states()) {
      const Value& value = all.value(state.value);
      std::optional<Box> box = LocalBox(value.layout, value.type.shape, all.mesh(value.layout), schedule_.rank);
      const bool holds = box && !box->empty();
      Placement placement{value.name, {value.type.dtype, value.type.shape, box.value_or(NoBox(value.type.shape))}, -1};
      if (holds) {
        placement.content = tensor++;
        placement.offset = OffsetOf(placement.content);
      }
      schedule_.states.push_back(std::move(placement));
    }
    for (const LocalRounded& rounded : lowered_.rounded) {
      Placement placement = schedule_.states[static_cast<size_t>(rounded.state)];
      placement.name = lowered_.tensors[rounded.tensor].name;
      placement.tensor.dtype = DType::kBF16;
      placement.content = rounded.tensor;
      placement.offset = OffsetOf(rounded.tensor);
      schedule_.rounded.push_back({rounded.state, std::move(placement)});
    }
  }

  void BindInputs() {
    for (const Node& node : graph_.nodes()) {
      if (node.op->role != Role::kInput) continue;
      const ValueId value = node.outputs[0];
      const TensorId tensor = lowered_.tensor_of[value];
      schedule_.inputs.push_back({graph_.value(value).name, Tensor(value), OffsetOf(tensor), tensor});
    }
  }

  void BindResults() {
    std::unordered_map<ValueId, TensorId> reported;
    for (const Result& result : lowered_.results) reported[result.value] = result.tensor;
    for (const ValueId value : ReadByHost(graph_)) {
      const auto found = reported.find(value);
      const TensorId tensor = found == reported.end() ? -1 : found->second;
      schedule_.results.push_back({graph_.value(value).name, Tensor(value), OffsetOf(tensor), tensor});
    }
  }

  // The last to be called: it takes the local tensors.
  void BindValues() {
    schedule_.values.reserve(graph_.values().size());
    for (ValueId value = 0; value < static_cast<ValueId>(graph_.values().size()); ++value) {
      const TensorId tensor = lowered_.tensor_of[value];
      const int last_write = tensor < 0 ? -1 : storage_.last_write[tensor];
      LocalTensor placed = local_.values[value] ? *std::move(local_.values[value]) : Tensor(value);
      schedule_.values.push_back({std::move(placed), OffsetOf(tensor), last_write});
    }
  }

  const Program& program_;
  const Graph& graph_;
  LocalGraph& local_;
  LocalProgram& lowered_;
  const StoragePlan& storage_;
  const MemoryPlan& memory_;
  Schedule& schedule_;
  std::vector<int> maker_;  // by tensor: the last launch that writes it, of those bound so far
};

}  // namespace

Schedule BindSchedule(const Program& program, const Graph& entry, int rank, LocalGraph local, LocalProgram lowered,
                      const StoragePlan& storage, const MemoryPlan& memory) {
  Schedule schedule;
  schedule.rank = rank;
  ScheduleBinder(program, entry, local, lowered, storage, memory, schedule).Run();
  return schedule;
}

}  // namespace partita

#include "tests/gradients/op_program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "graph/derive/adjoint.h"
#include "graph/derive/layout_builder.h"
#include "graph/make_program.h"
#include "ops/registry.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Appends an op's gradient nodes as the adjoint pass does.
class BackwardBuilder : public GradientBuilder {
 public:
  explicit BackwardBuilder(LayoutBuilder& builder) : builder_(builder) {}

  const Graph& graph() const override { return builder_.graph(); }

  absl::StatusOr<std::vector<ValueId>> Add(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                                           const std::string& base) override {
    return AddLike(kNoValue, op, std::move(inputs), std::move(attributes), base);
  }

  absl::StatusOr<std::vector<ValueId>> AddLike(ValueId like, const std::string& op, std::vector<ValueId> inputs,
                                               Attributes attributes, const std::string& base) override {
    NodeRequest request;
    request.like = like;
    request.op = op;
    request.inputs = std::move(inputs);
    request.attributes = std::move(attributes);
    request.phase = Phase::kBackward;
    request.keep_lead = false;
    const OpDefinition* const definition = builder_.registry().Find(op);
    CHECK(definition != nullptr);
    for (int o = 0; o < definition->outputs; ++o) request.names.push_back(fmt::format("{}@d{}", base, ++named_));
    return builder_.Add(request);
  }

 private:
  LayoutBuilder& builder_;
  int named_ = 0;
};

// A value of this type: an input of the graph, which a scalar becomes by a reshape.
absl::StatusOr<ValueId> AddInput(LayoutBuilder& builder, const std::string& name, const TensorType& type,
                                 const Layout& layout, Phase phase) {
  const Shape shape = type.shape.empty() ? Shape{1} : type.shape;
  const Attributes attributes{{"dtype", std::string(Name(type.dtype))}, {"shape", shape}};
  ASSIGN_OR_RETURN(const ValueId input,
                   builder.AddSource(builder.registry().Get(Role::kInput), attributes, name, layout, phase));
  if (!type.shape.empty()) return input;
  NodeRequest request;
  request.op = "reshape";
  request.inputs = {input};
  request.attributes = {{"shape", IntList()}};
  request.names = {name + "@scalar"};
  request.phase = phase;
  ASSIGN_OR_RETURN(const std::vector<ValueId> scalar, builder.Add(request));
  return scalar[0];
}

template <typename T>
std::vector<char> BytesAs(const std::vector<double>& values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

std::vector<char> BytesOf(const std::vector<double>& values, DType dtype) {
  CHECK(dtype == DType::kF64 || dtype == DType::kI32 || dtype == DType::kU8);
  if (dtype == DType::kU8) return BytesAs<uint8_t>(values);
  return dtype == DType::kF64 ? BytesAs<double>(values) : BytesAs<int32_t>(values);
}

// Numbers that add up to `whole`: what the coordinates on the axes of a P hold.
Tensors Summands(const std::vector<double>& whole, int count) {
  std::mt19937_64 generator(count);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Tensors summands(count, std::vector<double>(whole.size()));
  for (size_t i = 0; i < whole.size(); ++i) {
    double rest = whole[i];
    for (int c = 1; c < count; ++c) rest -= summands[c][i] = uniform(generator);
    summands[0][i] = rest;
  }
  return summands;
}

}  // namespace

absl::StatusOr<std::unique_ptr<OpProgram>> OpProgram::Start(const OpCase& op_case, const OpPlacement& placement) {
  std::unique_ptr<OpProgram> made(new OpProgram);
  Program program;
  RETURN_IF_ERROR(made->Build(op_case, placement, program));
  SessionOptions options;
  options.seed = 1;
  options.threads_per_rank = 1;
  options.tests.observe = true;
  options.tests.poison = true;
  options.tests.reference_kernels = true;
  ASSIGN_OR_RETURN(made->session_, Session::Start(std::move(program), options));
  return made;
}

absl::Status OpProgram::Build(const OpCase& op_case, const OpPlacement& placement, Program& program) {
  Graph graph(placement.mesh);
  LayoutBuilder builder(graph, Ops());
  const Layout replicated = Replicated(placement.mesh);
  NodeRequest request;
  for (size_t i = 0; i < op_case.inputs.size(); ++i) {
    inputs_.push_back(op_case.inputs[i] ? fmt::format("input{}", i) : "");
    request.inputs.push_back(kNoValue);
    if (!op_case.inputs[i]) continue;
    const Layout& layout = placement.inputs.empty() ? replicated : placement.inputs[i];
    ASSIGN_OR_RETURN(request.inputs.back(),
                     AddInput(builder, inputs_[i], op_case.inputs[i]->type, layout, Phase::kForward));
  }
  request.op = op_case.op;
  request.attributes = op_case.attributes;
  request.config = {0, placement.configs};
  const int outputs = Ops().Find(op_case.op)->outputs;
  for (int o = 0; o < outputs; ++o) request.names.push_back(fmt::format("output{}", o));
  ASSIGN_OR_RETURN(const std::vector<ValueId> made, builder.Add(request));
  op_node_ = graph.value(made[0]).producer;
  RETURN_IF_ERROR(AppendGradient(builder, op_case));
  for (ValueId output : made) {
    outputs_.push_back(graph.value(builder.MoveTo(output, replicated, Phase::kForward)).name);
  }
  program.meshes = {placement.mesh};
  program.entries.push_back(MakeEntryPoint(kTrainEntry, graph));
  CollectGroups(program.graph(kTrainEntry), program);
  return absl::OkStatus();
}

absl::Status OpProgram::AppendGradient(LayoutBuilder& builder, const OpCase& op_case) {
  const Node node = builder.graph().node(op_node_);  // by value: the graph grows
  std::vector<bool> wanted;
  bool any = false;
  for (const std::optional<CaseInput>& input : op_case.inputs) {
    wanted.push_back(input && input->differentiable && node.op->gradient);
    any = any || wanted.back();
  }
  gradients_.resize(wanted.size());
  if (!any) return absl::OkStatus();
  std::vector<ValueId> cotangents;
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const Value output = builder.graph().value(node.outputs[o]);
    cotangents_.push_back(fmt::format("cotangent{}", o));
    ASSIGN_OR_RETURN(const ValueId cotangent,
                     AddInput(builder, cotangents_[o], output.type, DualLayout(output.layout), Phase::kBackward));
    cotangents.push_back(cotangent);
  }
  BackwardBuilder backward(builder);
  ASSIGN_OR_RETURN(const std::vector<ValueId> gradients, node.op->gradient(backward, node, cotangents, wanted));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    if (gradients[i] == kNoValue) return Internal("{} has no gradient for input {}", op_case.name, i);
    const ValueId whole = builder.MoveTo(gradients[i], Replicated(builder.graph().mesh()), Phase::kBackward);
    gradients_[i] = builder.graph().value(whole).name;
  }
  return absl::OkStatus();
}

absl::Status OpProgram::Stage(const std::string& name, const std::vector<double>& whole) {
  const Mesh& mesh = graph().mesh();
  const Value& value = graph().value(graph().Find(name));
  int count = 1;  // of different summands
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    if (value.layout[a].partial()) count *= mesh.axes[a].size;
  }
  const Tensors summands = Summands(whole, count);
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<int> coordinates = mesh.Coordinates(rank);
    int summand = 0;
    for (size_t a = 0; a < mesh.axes.size(); ++a) {
      if (value.layout[a].partial()) summand = summand * mesh.axes[a].size + coordinates[a];
    }
    ASSIGN_OR_RETURN(const std::vector<HeldTensor> parts, session_->InputPlacements(kTrainEntry, name, rank));
    const HeldTensor& part = parts[0];
    if (part.data != nullptr) CopyToPart(BytesOf(summands[summand], value.type.dtype).data(), part);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> OpProgram::Whole(const std::string& name, OpResult& result) const {
  ASSIGN_OR_RETURN(WholeValue whole, session_->Observed(name));
  result.replicas_equal = result.replicas_equal && whole.replicas_equal;
  return std::move(whole.elements);
}

absl::StatusOr<OpResult> OpProgram::Run(const Tensors& inputs, const Tensors& cotangents) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].empty()) RETURN_IF_ERROR(Stage(inputs_[i], inputs[i]));
  }
  for (size_t o = 0; o < cotangents_.size(); ++o) RETURN_IF_ERROR(Stage(cotangents_[o], cotangents[o]));
  session_->ResetCounters();
  RETURN_IF_ERROR(session_->Train().status());
  OpResult result;
  const std::vector<GroupTraffic> counted = session_->Traffic();
  const std::vector<MoveBytes> predicted = session_->PredictedBytes(kTrainEntry);
  for (size_t g = 0; g < counted.size(); ++g) {
    result.moved_more.push_back(
        {counted[g].bytes.payload - predicted[g].payload, counted[g].bytes.wire - predicted[g].wire});
  }
  for (const std::string& name : outputs_) {
    ASSIGN_OR_RETURN(std::vector<double> whole, Whole(name, result));
    result.outputs.push_back(std::move(whole));
  }
  for (const std::string& name : gradients_) {
    result.gradients.emplace_back();
    if (name.empty()) continue;
    ASSIGN_OR_RETURN(result.gradients.back(), Whole(name, result));
  }
  if (graph().mesh().size() == 1) return result;
  for (const Value& value : graph().values()) RETURN_IF_ERROR(Whole(value.name, result).status());
  return result;
}

Tensors InputsOf(const OpCase& op_case, uint64_t seed) {
  Tensors values;
  for (size_t i = 0; i < op_case.inputs.size(); ++i) {
    values.push_back(op_case.inputs[i] ? CaseValues(*op_case.inputs[i], seed + i) : std::vector<double>());
  }
  return values;
}

Tensors CotangentsOf(const OpCase& op_case, uint64_t seed) {
  Tensors values;
  for (const TensorType& output : ViewOf(op_case).outputs) {
    values.push_back(CaseValues(CaseInput{output}, seed + 100 + values.size()));
  }
  for (const size_t output : op_case.kept) std::ranges::fill(values[output], 0.0);
  return values;
}

}  // namespace partita

// The comparison of a plan with the single rank finds what is wrong and where it begins.
#include "runtime/api/verify_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/read/graph_assembler.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "tests/runtime/api/session_fixture.h"
#include "tests/runtime/api/wrong_gradient.h"

namespace partita {
namespace {

using Kind = TensorDifference::Kind;

std::unique_ptr<PlanVerifier> Start(Program serial, Program plan, const VerifyPlanOptions& options) {
  auto verifier = PlanVerifier::Start(std::move(serial), std::move(plan), options);
  EXPECT_TRUE(verifier.ok()) << verifier.status();
  return *std::move(verifier);
}

VerifyPlanOptions Options(bool same_beginning) {
  VerifyPlanOptions options;
  options.session = SmallOptions();
  options.same_beginning = same_beginning;
  return options;
}

std::unique_ptr<PlanVerifier> Verifier(const std::string& strategy, bool same_beginning) {
  const Case one{"mlp", strategy, true};
  const Model model = *MakeSmallModel(one, 1e-2);
  return Start(*SerialProgram(model, {.verify_passes = true}), *PlanOf(one, model, {.verify_passes = true}),
               Options(same_beginning));
}

const TensorDifference& Find(const StepComparison& comparison, Kind kind, const std::string& name) {
  const auto found = std::ranges::find_if(
      comparison.tensors, [&](const TensorDifference& tensor) { return tensor.kind == kind && tensor.name == name; });
  EXPECT_NE(found, comparison.tensors.end()) << name;
  return *found;
}

template <typename T>
void SetElement(HostTensor& tensor, int64_t index, T value) {
  std::memcpy(tensor.bytes.data() + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

NodeDescription Source(const std::string& name, const std::string& op, const Shape& shape, Attributes attributes) {
  attributes.Set("shape", shape);
  return {name, op, {}, std::move(attributes)};
}

// Only a bias is trained, and a batch norm behind it takes its gradient away.
Model ModelWithoutGradient() {
  const Attributes zeros{{"initializer", "constant"}, {"scale", 0.0}}, ones{{"initializer", "constant"}};
  Model model;
  model.graph = BuildGraph({Source("images", "input", {6, 12, 12, 1}, {}),
                            Source("labels", "input", {6}, {{"dtype", "i32"}}),
                            Source("b", "parameter", {1}, zeros),
                            Source("gamma", "state", {1}, ones),
                            Source("beta", "state", {1}, zeros),
                            Source("mean", "state", {1}, zeros),
                            Source("variance", "state", {1}, ones),
                            Source("v", "state", {144, 10}, {{"initializer", "he_normal"}}),
                            {"bias", "bias", {"images", "b"}, {}},
                            {"norm", "batch_norm", {"bias", "gamma", "beta", "mean", "variance"}, {}},
                            {"flat", "reshape", {"norm"}, {{"shape", Shape{6, 144}}}},
                            {"logits", "matmul", {"flat", "v"}, {}},
                            {"loss", "softmax_cross_entropy", {"logits", "labels"}, {}}},
                           "loss", {}, Ops())
                    .value();
  model.learning_rate.base = 0.1;
  return model;
}

void Stage(PlanVerifier& verifier, int step) {
  const StepInputs batch = MakeBatch(2, step, DType::kF32);
  ASSERT_TRUE(verifier.StageInput("images", batch.images).ok());
  ASSERT_TRUE(verifier.StageInput("labels", batch.labels).ok());
}

TEST(VerifyPlan, AllOfARightPlanAgrees) {
  const auto verifier = Verifier("mixed", true);
  for (int step = 0; step < 3; ++step) {
    Stage(*verifier, step);
    const auto comparison = verifier->Step();
    ASSERT_TRUE(comparison.ok()) << comparison.status();
    ASSERT_EQ(comparison->First(), nullptr) << ToString(*comparison->First());
    // Nothing is left out: every forward value by name, a gradient and an update for each parameter.
    int forward = 0, gradients = 0, updates = 0;
    for (const TensorDifference& tensor : comparison->tensors) {
      forward += tensor.kind == Kind::kForward;
      gradients += tensor.kind == Kind::kGradient;
      updates += tensor.kind == Kind::kUpdate;
    }
    EXPECT_GT(forward, 15);
    EXPECT_EQ(gradients, 8);  // three weights, two gammas and betas, one bias
    EXPECT_EQ(updates, static_cast<int>(verifier->plan().StateNames().size()));
  }
}

// In each parameter, and in what its update does.
TEST(VerifyPlan, AGradientThatIsWrongBySixPercentIsFound) {
  const Case one{"mlp", "2x1", true};
  const Model model = *MakeSmallModel(one, 1e-2);
  const Program serial = *SerialProgram(model, {}), plan = *PlanOf(one, model, {});
  int parameters = 0;
  for (const Node& node : model.graph.nodes()) {
    if (node.op->name != "parameter") continue;
    const std::string& name = model.graph.value(node.outputs[0]).name;
    const auto verifier = Start(serial, WithWrongGradient(plan, name, 1.06), Options(true));
    Stage(*verifier, 0);
    const auto comparison = verifier->Step();
    ASSERT_TRUE(comparison.ok()) << comparison.status();
    EXPECT_FALSE(Find(*comparison, Kind::kGradient, name).agrees()) << name;
    EXPECT_FALSE(Find(*comparison, Kind::kUpdate, name).agrees()) << name;
    for (const TensorDifference& tensor : comparison->tensors) {
      EXPECT_TRUE(tensor.agrees() || tensor.name.starts_with(name)) << ToString(tensor);
    }
    ++parameters;
  }
  EXPECT_EQ(parameters, 8);
}

TEST(VerifyPlan, TheNoiseOfAGradientThatIsZeroIsNone) {
  const Model model = ModelWithoutGradient();
  for (const int ranks : {2, 3, 6}) {
    for (const DType dtype : {DType::kF64, DType::kF32}) {
      Strategy strategy;
      strategy.mesh.axes = {{"data", ranks}};
      strategy.ops.push_back({"*", {{"data", {"samples", 0, {}}}}, {}});
      VerifyPlanOptions options = Options(true);
      if (dtype == DType::kF64) options.tolerance = 1e-10, options.floor = 1e-3;
      const auto verifier = Start(*MakeProgram(model, Strategy{}, Ops(), {.floating = dtype}),
                                  *MakeProgram(model, strategy, Ops(), {.floating = dtype}), options);
      for (int step = 0; step < 3; ++step) {
        const StepInputs batch = MakeBatch(2, step, dtype, 6);
        ASSERT_TRUE(verifier->StageInput("images", batch.images).ok());
        ASSERT_TRUE(verifier->StageInput("labels", batch.labels).ok());
        const auto comparison = verifier->Step();
        ASSERT_TRUE(comparison.ok()) << comparison.status();
        EXPECT_EQ(comparison->First(), nullptr) << ranks << " " << ToString(*comparison->First());
      }
    }
  }
}

// The label of one sample becomes what the class of it is; nothing is learned.
TEST(VerifyPlan, TheClassOfOneSampleIsFound) {
  const Case one{"mlp", "2x1", false};
  const Model model = *MakeSmallModel(one, 0);
  const auto verifier = Start(*SerialProgram(model, {}), *PlanOf(one, model, {}), Options(true));
  Stage(*verifier, 0);
  ASSERT_TRUE(verifier->Step().ok());
  StepInputs batch = MakeBatch(2, 0, DType::kF32);
  const int64_t samples = batch.labels.shape[0];
  const Graph& graph = verifier->serial().graph(kTrainEntry);
  const std::string logits = graph.value(graph.node(graph.value(graph.Find("loss")).producer).inputs[0]).name;
  const auto before = verifier->serial().Observed(logits);
  ASSERT_TRUE(before.ok());
  const auto row = before->elements.begin();
  const auto found = static_cast<int32_t>(std::max_element(row, row + before->shape[1]) - row);
  SetElement(batch.labels, 0, (found + 1) % 10);
  ASSERT_TRUE(verifier->StageInput("images", batch.images).ok());
  ASSERT_TRUE(verifier->serial().StageInput(kTrainEntry, "labels", batch.labels).ok());
  SetElement(batch.labels, 0, found);
  ASSERT_TRUE(verifier->plan().StageInput(kTrainEntry, "labels", batch.labels).ok());
  const auto comparison = verifier->Step();
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const TensorDifference& accuracy = Find(*comparison, Kind::kForward, "accuracy");
  EXPECT_NEAR(accuracy.difference, 1.0 / static_cast<double>(samples), 1e-6);
  EXPECT_FALSE(accuracy.agrees());
}

// Two classes have the same logits, and are ahead of all others.
TEST(VerifyPlan, TiesOfClassesAreNoDifference) {
  const auto verifier = Verifier("2x1", false);
  const std::string weights_name = "classifier/matmul/weights", bias_name = "classifier/bias/values";
  HostTensor weights = *verifier->serial().ReadState(weights_name), bias = *verifier->serial().ReadState(bias_name);
  for (int64_t row = 0; row < weights.shape[0]; ++row) {
    std::memcpy(weights.bytes.data() + 4 * (row * 10 + 7), weights.bytes.data() + 4 * (row * 10 + 3), 4);
  }
  for (int64_t c = 0; c < 10; ++c) SetElement(bias, c, c == 3 || c == 7 ? 0.0f : -100.0f);
  for (Session* session : {&verifier->serial(), &verifier->plan()}) {
    ASSERT_TRUE(session->WriteState(weights_name, weights).ok());
    ASSERT_TRUE(session->WriteState(bias_name, bias).ok());
    SetElement(bias, 7, 1e-5f);  // of the plan
  }
  StepInputs batch = MakeBatch(2, 0, DType::kF32);
  for (int64_t i = 0; i < batch.labels.shape[0]; ++i) SetElement(batch.labels, i, int32_t{3});
  ASSERT_TRUE(verifier->StageInput("images", batch.images).ok());
  ASSERT_TRUE(verifier->StageInput("labels", batch.labels).ok());
  const auto comparison = verifier->Step();
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  const TensorDifference& accuracy = Find(*comparison, Kind::kForward, "accuracy");
  EXPECT_GT(accuracy.difference, 0.5);
  EXPECT_TRUE(accuracy.agrees()) << ToString(accuracy);
}

// Ties among labels of sequences, some of which are ignored, so that the graph computes what the accuracy divides by.
TEST(VerifyPlan, TiesOfPlacesThatCountAreNoDifference) {
  GraphBuilder b(Ops());
  const ValueId x = b.Input("x", DType::kF32, {4, 2, 3}), labels = b.Input("labels", DType::kI32, {4, 2});
  const ValueId logits = b.Add("logits", "matmul", {x, b.Parameter("w", {3, 4}, "constant", 0)});
  const Attributes ignoring = {{"ignore_index", int64_t{-100}}};
  Model model;
  model.graph = b.Build(b.Add("loss", "softmax_cross_entropy", {logits, labels}, ignoring),
                        {b.Add("accuracy", "accuracy", {logits, labels}, ignoring)})
                    .value();
  Strategy strategy;
  strategy.mesh = {{{"data", 2}}};
  strategy.ops.push_back({"*", {{"data", AxisConfig{"samples", 0, {}}}}, {}});
  const auto verifier =
      Start(*MakeProgram(model, {}, Ops(), {}), *MakeProgram(model, strategy, Ops(), {}), Options(false));
  HostTensor w{DType::kF32, {3, 4}, std::vector<char>(12 * sizeof(float))}, ones = w, of_places = w;
  ones.shape = {4, 2, 3};
  ones.bytes.resize(24 * sizeof(float));
  of_places = {DType::kI32, {4, 2}, std::vector<char>(8 * sizeof(int32_t))};
  for (int64_t i = 0; i < 24; ++i) SetElement(ones, i, 1.0f);
  for (int64_t i = 0; i < 12; ++i) SetElement(w, i, i % 4 < 2 ? 1.0f : -1.0f);
  for (const int64_t i : {1, 4, 5}) SetElement(of_places, i, int32_t{-100});
  ASSERT_TRUE(verifier->serial().WriteState("w", w).ok());
  SetElement(w, 1, 1 + 1e-6f);  // the second class of the plan
  ASSERT_TRUE(verifier->plan().WriteState("w", w).ok());
  ASSERT_TRUE(verifier->StageInput("x", ones).ok());
  ASSERT_TRUE(verifier->StageInput("labels", of_places).ok());
  const auto comparison = verifier->Step();
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  for (const char* const name : {"accuracy", "accuracy@mean"}) {
    const TensorDifference& tensor = Find(*comparison, Kind::kForward, name);
    EXPECT_EQ(tensor.difference, tensor.name == "accuracy" ? 5 : 1) << name;
    EXPECT_TRUE(tensor.agrees()) << ToString(tensor);
  }
  EXPECT_TRUE(Find(*comparison, Kind::kResult, "accuracy").agrees());
}

// A plan with another weight differs first where the weight is read, not somewhere behind it.
TEST(VerifyPlan, TheFirstNodeThatDiffersIsNamed) {
  const auto verifier = Verifier("2x2", false);
  const std::string name = "dense2/matmul/weights";
  HostTensor weights = *verifier->plan().ReadState(name);
  float first = 0;
  std::memcpy(&first, weights.bytes.data(), sizeof(first));
  first += 0.5f;
  std::memcpy(weights.bytes.data(), &first, sizeof(first));
  ASSERT_TRUE(verifier->plan().WriteState(name, weights).ok());
  Stage(*verifier, 0);
  const auto comparison = verifier->Step();
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  ASSERT_NE(comparison->First(), nullptr);
  EXPECT_EQ(comparison->First()->name, name);
  EXPECT_NEAR(comparison->First()->difference, 0.5, 1e-6);
  int behind = 0;
  for (const TensorDifference& tensor : comparison->tensors) {
    behind += !tensor.agrees();
    EXPECT_TRUE(tensor.agrees() || tensor.name.find("dense1/relu") == std::string::npos) << ToString(tensor);
  }
  EXPECT_GT(behind, 3);
}

// Ranks that should hold the same bits but do not are a difference, however small.
TEST(VerifyPlan, ReplicasThatDifferAreFound) {
  const auto verifier = Verifier("2x1", false);
  const Session& plan = verifier->plan();
  const HeldTensor part = plan.ObservedPart(plan.graph(kTrainEntry).Find("classifier/matmul/weights"), 0);
  ASSERT_NE(part.data, nullptr);
  std::vector<char> one(static_cast<size_t>(part.tensor.bytes())), other = one;
  other.back() ^= 1;
  const Layout replicated(1, AxisLayout::Replicate());
  const Mesh mesh{{{"data", 2}}};
  const TensorType type{part.tensor.dtype, part.tensor.global};
  std::vector<HeldTensor> parts{{part.tensor, one.data()}, {part.tensor, one.data()}};
  EXPECT_TRUE(GatherValue(type, replicated, mesh, parts).replicas_equal);
  parts[1].data = other.data();
  EXPECT_FALSE(GatherValue(type, replicated, mesh, parts).replicas_equal);
}

}  // namespace
}  // namespace partita

// verify refuses every fault that is planted here: in what a step reports, in each optimizer's update, and in kernels
// that both runs share, which only the reference sees. What is right raises no alarm.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/ir/op_definition.h"
#include "graph/ir/rewriter.h"
#include "graph/read/graph_assembler.h"
#include "ops/registry.h"
#include "runtime/api/verify_plan.h"
#include "runtime/exec/kernel.h"
#include "tests/runtime/api/session_fixture.h"
#include "tests/runtime/api/wrong_gradient.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using Kind = TensorDifference::Kind;
using Pair = TensorDifference::Pair;
using AfterKernel = std::function<void(const LocalNode&, const KernelArguments&)>;

absl::StatusOr<StepComparison> StepOf(PlanVerifier& verifier, int step, DType floating = DType::kF32) {
  const StepInputs batch = MakeBatch(2, step, floating);
  if (const absl::Status staged = verifier.StageInput("images", batch.images); !staged.ok()) return staged;
  if (const absl::Status staged = verifier.StageInput("labels", batch.labels); !staged.ok()) return staged;
  return verifier.Step();
}

// The first difference of some steps; empty: all agree.
std::string FirstOf(PlanVerifier& verifier, int steps, DType floating = DType::kF32) {
  for (int step = 0; step < steps; ++step) {
    const absl::StatusOr<StepComparison> comparison = StepOf(verifier, step, floating);
    if (!comparison.ok()) return comparison.status().ToString();
    if (comparison->First() != nullptr) return fmt::format("step {}: {}", step, ToString(*comparison->First()));
  }
  return "";
}

// --- What a step reports.

// The program reports twice the loss, or twice a metric, and trains as before.
Program WithResultTwice(Program program, size_t result) {
  EntryPoint& entry = *std::ranges::find(program.entries, kTrainEntry, &EntryPoint::name);
  const EntryPoint before = entry;
  Rewriter rewriter(before.graph);
  for (NodeId id = 0; id < static_cast<NodeId>(before.graph.nodes().size()); ++id) rewriter.Copy(id);
  const ValueId reported = rewriter.At(before.results[result].value);
  const OpDefinition* const scale = Ops().Find("scale");
  const Value twice{"planted", before.graph.type(before.results[result].value),
                    before.graph.layout(before.results[result].value), -1};
  const NodeId planted = rewriter.graph().AddNode(
      {scale, *CompleteAttributes(*scale, {{"factor", 2.0}}), {reported}, {}, Phase::kUpdate}, {twice});
  const ValueId wrong = rewriter.graph().node(planted).outputs[0];
  Graph changed = rewriter.Finish();
  for (ValueId* value : {&changed.loss, changed.metrics.data()}) {
    if (*value == reported) *value = wrong;
  }
  entry = MakeEntryPoint(kTrainEntry, std::move(changed));
  return program;
}

TEST(VerifyFaults, AResultThatOnlyTheReportHasWrongIsFound) {
  const Case one{"mlp", "2x1", true};
  const Model model = *MakeSmallModel(one, 1e-2);
  const Program serial = *SerialProgram(model, {}), plan = *PlanOf(one, model, {});
  ASSERT_EQ(plan.Find(kTrainEntry)->results.size(), 2u);  // loss and accuracy
  for (size_t result = 0; result < 2; ++result) {
    VerifyPlanOptions options;
    options.session = SmallOptions();
    ASSERT_OK_AND_ASSIGN(const auto verifier, PlanVerifier::Start(serial, WithResultTwice(plan, result), options));
    bool found = false;
    for (int step = 0; step < 5 && !found; ++step) {
      ASSERT_OK_AND_ASSIGN(const StepComparison comparison, StepOf(*verifier, step));
      ASSERT_EQ(comparison.results.size(), 2u);
      const ReportedResult& reported = comparison.results[result];
      EXPECT_NEAR(reported.plan, 2 * reported.serial, 1e-3 * std::abs(reported.serial));
      if (reported.serial == 0) continue;  // an accuracy of 0
      ASSERT_NE(comparison.First(), nullptr);
      EXPECT_EQ(comparison.First()->kind, Kind::kResult);
      EXPECT_EQ(comparison.First()->pair, Pair::kPlanSerial);
      for (const TensorDifference& tensor : comparison.tensors) {
        EXPECT_TRUE(tensor.agrees() || &tensor == comparison.First()) << ToString(tensor);
      }
      found = true;
    }
    EXPECT_TRUE(found);
  }
}

// Behind the last use of the loss something writes into its bytes: what was copied at its launch is right.
TEST(VerifyFaults, AResultThatIsOverwrittenBehindItsLaunchIsFound) {
  const Case one{"mlp", "1x1", true};
  const Model model = *MakeSmallModel(one, 1e-2);
  VerifyPlanOptions options;
  options.session = SmallOptions();
  auto loss = std::make_shared<float*>(nullptr);
  options.session.tests.after_kernel = [loss](const LocalNode& node, const KernelArguments& arguments) {
    if (node.name == "loss") *loss = static_cast<float*>(arguments.outputs[0]);
    if (node.op->name == "sgd_momentum" && *loss != nullptr) **loss = 15.66F;
  };
  ASSERT_OK_AND_ASSIGN(const auto verifier,
                       PlanVerifier::Start(*SerialProgram(model, {}), *PlanOf(one, model, {}), options));
  ASSERT_OK_AND_ASSIGN(const StepComparison comparison, StepOf(*verifier, 0));
  ASSERT_NE(comparison.First(), nullptr);
  EXPECT_EQ(comparison.First()->kind, Kind::kResult);
  EXPECT_TRUE(comparison.First()->pair == Pair::kSerialOwnLaunch) << ToString(*comparison.First());
  EXPECT_TRUE(std::ranges::any_of(comparison.tensors, [](const TensorDifference& tensor) {
    return tensor.pair == Pair::kPlanOwnLaunch && !tensor.agrees();
  }));
}

// --- Kernels that both runs share.

// Both runs are the serial one, with and without the reference.
std::unique_ptr<PlanVerifier> SharedVerifier(const Case& one, const ProgramOptions& program, const AfterKernel& after,
                                             bool reference) {
  const Model model = *MakeSmallModel(one, 1e-2);
  VerifyPlanOptions options;
  options.session = SmallOptions();
  options.session.tests.after_kernel = after;
  if (program.mix_precision) options.tolerance = options.floor = 1e-1, options.reference_tolerance = 2e-2;
  if (program.floating == DType::kF64) options.tolerance = options.reference_tolerance = 1e-10, options.floor = 1e-3;
  std::optional<Program> in_f64;
  if (reference) in_f64 = *SerialProgram(model, {.floating = DType::kF64, .fuse = false});
  auto verifier = PlanVerifier::Start(*SerialProgram(model, program), *SerialProgram(model, program), options, in_f64);
  EXPECT_TRUE(verifier.ok()) << verifier.status();
  return *std::move(verifier);
}

TEST(VerifyFaults, TheReferenceRaisesNoAlarm) {
  for (const char* model : {"mlp", "lenet5", "mini-inception"}) {
    for (const bool regularized : {false, true}) {
      for (const ProgramOptions& program :
           {ProgramOptions{}, ProgramOptions{.mix_precision = true}, ProgramOptions{.floating = DType::kF64}}) {
        const auto verifier = SharedVerifier({model, "1x1", regularized}, program, nullptr, true);
        EXPECT_EQ(FirstOf(*verifier, 3, program.floating), "") << model << regularized << program.mix_precision;
      }
    }
  }
}

// Nearly every forward value that a node computes, and each gradient.
TEST(VerifyFaults, TheReferenceSeesForwardValuesAndGradients) {
  const auto verifier = SharedVerifier({"mini-inception", "1x1", true}, {}, nullptr, true);
  ASSERT_OK_AND_ASSIGN(const StepComparison comparison, StepOf(*verifier, 0));
  const Graph& graph = verifier->serial().graph(kTrainEntry);
  size_t forward = 0, gradients = 0, computed = 0;
  for (const TensorDifference& tensor : comparison.tensors) {
    if (tensor.pair == Pair::kPlanSerial && tensor.kind == Kind::kForward) {
      computed += graph.node(graph.value(graph.Find(tensor.name)).producer).inputs.empty() ? 0 : 1;
    }
    if (tensor.pair == Pair::kSerialReference) ++(tensor.kind == Kind::kGradient ? gradients : forward);
  }
  EXPECT_EQ(gradients, verifier->gradients().size());
  EXPECT_GT(static_cast<double>(forward), 0.9 * static_cast<double>(computed)) << computed;
}

float* FirstOutput(const KernelArguments& arguments) { return static_cast<float*>(arguments.outputs[0]); }

struct Planted {
  const char* what;
  std::function<void(float* elements, int64_t count)> spoil;
};

// As a library computes that was told to use bf16, a kernel that is wrong at the end of a shape, and a thread that
// never ran.
const Planted kPlanted[] = {
    {"bf16",
     [](float* elements, int64_t count) {
       for (int64_t i = 0; i < count; ++i) {
         uint32_t bits = 0;
         std::memcpy(&bits, elements + i, sizeof(bits));
         bits &= 0xFFFF0000;
         std::memcpy(elements + i, &bits, sizeof(bits));
       }
     }},
    {"last element", [](float* elements, int64_t count) { elements[count - 1] += 1; }},
    {"second half", [](float* elements, int64_t count) { std::fill(elements + count / 2, elements + count, 0.0F); }},
};

// In the forward pass, in a gradient, and in an update.
TEST(VerifyFaults, OnlyTheReferenceSeesAFaultThatBothRunsShare) {
  const Case one{"lenet5", "1x1", false};
  for (const std::string op : {"conv2d_epilogue", "matmul_epilogue", "conv2d_weight_grad", "max_pool"}) {
    for (const Planted& planted : kPlanted) {
      int spoiled = 0;
      const AfterKernel after = [&](const LocalNode& node, const KernelArguments& arguments) {
        if (node.op->name != op || node.outputs[0].dtype != DType::kF32) return;
        planted.spoil(FirstOutput(arguments), node.outputs[0].elements());
        ++spoiled;
      };
      EXPECT_EQ(FirstOf(*SharedVerifier(one, {}, after, false), 1), "") << op << " " << planted.what;
      const auto verifier = SharedVerifier(one, {}, after, true);
      ASSERT_OK_AND_ASSIGN(const StepComparison comparison, StepOf(*verifier, 0));
      EXPECT_GT(spoiled, 0) << op;
      ASSERT_NE(comparison.First(), nullptr) << op << " " << planted.what;
      EXPECT_EQ(comparison.First()->pair, Pair::kSerialReference);
    }
  }
}

// --- Kinks.

// 1 + 1e-8 - 1 is 1e-8 where it is summed in f64 and 0 where ranks round their parts: relu passes a gradient on in one
// run alone. Both are right, which only the reference can tell.
std::string FirstAtKink(bool reference, double factor) {
  const auto source = [](const std::string& name, const std::string& op, const Shape& shape, Attributes attributes) {
    attributes.Set("shape", shape);
    return NodeDescription{name, op, {}, std::move(attributes)};
  };
  const Attributes random{{"initializer", "he_normal"}};
  Model model;
  model.graph = BuildGraph({source("x", "input", {2, 3}, {}),
                            source("labels", "input", {2}, {{"dtype", "i32"}}),
                            source("w", "parameter", {3, 2}, random),
                            source("v", "parameter", {2, 4}, random),
                            {"h", "matmul", {"x", "w"}, {}},
                            {"r", "relu", {"h"}, {}},
                            {"logits", "matmul", {"r", "v"}, {}},
                            {"loss", "softmax_cross_entropy", {"logits", "labels"}, {}}},
                           "loss", {}, Ops())
                    .value();
  Strategy strategy;
  strategy.mesh.axes = {{"model", 2}};
  strategy.ops.push_back({"h", {{"model", {"input_channels", 0, {}}}}, {}});
  VerifyPlanOptions options;
  options.session = SmallOptions();
  options.session.tests.reference_kernels = true;
  Program plan = *MakeProgram(model, strategy, Ops(), {});
  if (factor != 1) plan = WithWrongGradient(std::move(plan), "w", factor);
  std::optional<Program> in_f64;
  if (reference) in_f64 = *MakeProgram(model, Strategy{}, Ops(), {.floating = DType::kF64, .fuse = false});
  const auto verifier =
      *PlanVerifier::Start(*MakeProgram(model, Strategy{}, Ops(), {}), std::move(plan), options, in_f64);
  const auto tensor = [](const auto& elements, DType dtype, const Shape& shape) {
    HostTensor made{dtype, shape, std::vector<char>(elements.size() * 4)};
    std::memcpy(made.bytes.data(), elements.data(), made.bytes.size());
    return made;
  };
  const std::vector<float> ones(6, 1), w = {1, 1, 1e-8F, 1, -1, 1};  // [3,2]
  EXPECT_TRUE(verifier->serial().WriteState("w", tensor(w, DType::kF32, {3, 2})).ok());
  EXPECT_TRUE(verifier->StageInput("x", tensor(ones, DType::kF32, {2, 3})).ok());
  EXPECT_TRUE(verifier->StageInput("labels", tensor(std::vector<int32_t>{0, 1}, DType::kI32, {2})).ok());
  const absl::StatusOr<StepComparison> comparison = verifier->Step();
  if (!comparison.ok()) return comparison.status().ToString();
  return comparison->First() == nullptr ? "" : ToString(*comparison->First());
}

TEST(VerifyFaults, TheOtherSideOfAKinkIsNoFault) {
  const std::string without = FirstAtKink(false, 1);
  EXPECT_NE(without.find("gradient of 'w': differs"), std::string::npos) << without;
  EXPECT_EQ(FirstAtKink(true, 1), "");
  const std::string wrong = FirstAtKink(true, 1.06);
  EXPECT_NE(wrong.find("gradient of 'w': differs"), std::string::npos) << wrong;
}

// --- Updates.

// One dense layer with weights and a bias, and a bias in front of a batch norm, whose true gradient is 0.
Model SmallModel(const Optimizer& optimizer, double rate) {
  const auto source = [](const std::string& name, const std::string& op, const Shape& shape, Attributes attributes) {
    attributes.Set("shape", shape);
    return NodeDescription{name, op, {}, std::move(attributes)};
  };
  const Attributes zeros{{"initializer", "constant"}, {"scale", 0.0}}, ones{{"initializer", "constant"}};
  Model model;
  model.graph = BuildGraph({source("images", "input", {6, 12, 12, 1}, {}),
                            source("labels", "input", {6}, {{"dtype", "i32"}}),
                            source("b", "parameter", {1}, zeros),
                            source("gamma", "parameter", {1}, ones),
                            source("beta", "parameter", {1}, zeros),
                            source("mean", "state", {1}, zeros),
                            source("variance", "state", {1}, ones),
                            source("v", "parameter", {144, 10}, {{"initializer", "he_normal"}}),
                            {"bias", "bias", {"images", "b"}, {}},
                            {"norm", "batch_norm", {"bias", "gamma", "beta", "mean", "variance"}, {}},
                            {"flat", "reshape", {"norm"}, {{"shape", Shape{6, 144}}}},
                            {"logits", "matmul", {"flat", "v"}, {}},
                            {"loss", "softmax_cross_entropy", {"logits", "labels"}, {}}},
                           "loss", {}, Ops())
                    .value();
  model.optimizer = optimizer;
  model.learning_rate.base = rate;
  return model;
}

Strategy Data(int ranks) {
  Strategy strategy;
  strategy.mesh.axes = {{"data", ranks}};
  strategy.ops.push_back({"*", {{"data", {"samples", 0, {}}}}, {}});
  return strategy;
}

// The first difference of two steps of a plan beside the serial run, each with its own model.
std::string FirstOf(const Model& serial, const Program& plan, uint64_t seed, DType floating = DType::kF32,
                    const AfterKernel& after = nullptr) {
  VerifyPlanOptions options;
  options.session = SmallOptions();
  options.session.seed = seed;
  options.session.tests.after_kernel = after;
  if (floating == DType::kF64) options.tolerance = 1e-10, options.floor = 1e-3;
  const auto verifier =
      PlanVerifier::Start(*MakeProgram(serial, Strategy{}, Ops(), {.floating = floating}), plan, options);
  if (!verifier.ok()) return verifier.status().ToString();
  for (int step = 0; step < 3; ++step) {
    const StepInputs batch = MakeBatch(seed, step, floating, 6);
    EXPECT_TRUE((*verifier)->StageInput("images", batch.images).ok());
    EXPECT_TRUE((*verifier)->StageInput("labels", batch.labels).ok());
    const auto comparison = (*verifier)->Step();
    if (!comparison.ok()) return comparison.status().ToString();
    if (comparison->First() != nullptr) return fmt::format("step {}: {}", step, ToString(*comparison->First()));
  }
  return "";
}

// Every optimizer of the registry; each number is one that an update of f32 shows.
std::vector<Optimizer> AllOptimizers() {
  std::vector<Optimizer> all;
  for (const OptimizerDefinition& definition : Ops().optimizers()) {
    Optimizer optimizer = *CompleteOptimizer({definition.name, {}}, Ops().optimizers());
    for (const AttributeDefinition& attribute : definition.attributes) {
      if (std::holds_alternative<bool>(*optimizer.attributes.Find(attribute.name))) continue;
      const double value = attribute.name == "weight_decay"                      ? 0.1
                           : attribute.name.find("epsilon") != std::string::npos ? 1e-2
                           : attribute.name == "initial_accumulator"             ? 0.1
                                                                                 : 0.8;
      optimizer.attributes.Set(attribute.name, value);
    }
    all.push_back(optimizer);
  }
  return all;
}

TEST(VerifyFaults, NoOptimizerRaisesAnAlarmByTheNoiseOfAGradientThatIsZero) {
  for (const OptimizerDefinition& definition : Ops().optimizers()) {
    for (const bool clipped : {false, true}) {
      for (const bool averaged : {false, true}) {
        Optimizer optimizer{definition.name, {}};
        if (clipped) optimizer.clip_norm = 0.1;
        if (averaged) optimizer.average = MovingAverage{0.99};
        const Model model = SmallModel(optimizer, 0.01);
        for (const int ranks : {2, 3}) {
          for (const DType floating : {DType::kF32, DType::kF64}) {
            for (uint64_t seed = 1; seed <= 2; ++seed) {
              EXPECT_EQ(FirstOf(model, *MakeProgram(model, Data(ranks), Ops(), {.floating = floating}), seed, floating),
                        "")
                  << definition.name << " clipped " << clipped << " averaged " << averaged << " ranks " << ranks;
            }
          }
        }
      }
    }
  }
}

// Each number of each optimizer, the rate, the clipping and the average, wrong by little in the plan alone.
TEST(VerifyFaults, AWrongNumberOfAnyOptimizerIsFound) {
  for (Optimizer optimizer : AllOptimizers()) {
    optimizer.clip_norm = 0.5;
    optimizer.average = MovingAverage{0.9};
    const Model model = SmallModel(optimizer, 0.05);
    const auto wrong = [&](const std::string& what, const std::function<void(Model&)>& spoil) {
      Model spoiled = model;
      spoil(spoiled);
      const std::string first = FirstOf(model, *MakeProgram(spoiled, Data(2), Ops(), {}), 1);
      EXPECT_NE(first.find("update of"), std::string::npos) << optimizer.name << " " << what << ": " << first;
    };
    EXPECT_EQ(FirstOf(model, *MakeProgram(model, Data(2), Ops(), {}), 1), "") << optimizer.name;
    wrong("rate", [](Model& spoiled) { spoiled.learning_rate.base *= 1.01; });
    wrong("clipping", [](Model& spoiled) { spoiled.optimizer.clip_norm *= 1.01; });
    wrong("no clipping", [](Model& spoiled) { spoiled.optimizer.clip_norm = 0; });
    wrong("average", [](Model& spoiled) { spoiled.optimizer.average->decay = 0.91; });
    for (const AttributeDefinition& attribute : FindOptimizer(optimizer.name, Ops().optimizers())->attributes) {
      if (attribute.name == "initial_accumulator") continue;  // of states that verify makes the same
      if (attribute.name == "centered") continue;             // it has another slot
      wrong(attribute.name, [&](Model& spoiled) {
        Attributes& attributes = spoiled.optimizer.attributes;
        if (const bool* const flag = std::get_if<bool>(attributes.Find(attribute.name))) {
          attributes.Set(attribute.name, !*flag);
        } else {
          attributes.Set(attribute.name, attributes.Float(attribute.name) * 1.05);
        }
      });
    }
  }
}

// The program with updates that take every step for the millionth: without the correction of their means.
Program WithoutBiasCorrection(Program program, int& changed_nodes) {
  EntryPoint& entry = *std::ranges::find(program.entries, kTrainEntry, &EntryPoint::name);
  const Graph from = entry.graph;
  Rewriter rewriter(from);
  for (NodeId id = 0; id < static_cast<NodeId>(from.nodes().size()); ++id) {
    Node node = from.node(id);
    const auto iteration = std::ranges::find(node.op->inputs, "iteration", &InputDefinition::name);
    if (node.phase != Phase::kUpdate || iteration == node.op->inputs.end() || !node.op->name.starts_with("adam")) {
      rewriter.Copy(id);
      continue;
    }
    for (ValueId& input : node.inputs) input = rewriter.At(input);
    ValueId& step = node.inputs[static_cast<size_t>(iteration - node.op->inputs.begin())];
    const OpDefinition* const constant = Ops().Find("constant");
    const Attributes million{{"dtype", std::string("i32")}, {"shape", Shape{}}, {"value", 1e6}};
    const Value late{rewriter.graph().UniqueName("planted"), rewriter.graph().type(step), rewriter.graph().layout(step),
                     -1};
    const NodeId added =
        rewriter.graph().AddNode({constant, *CompleteAttributes(*constant, million), {}, {}, Phase::kUpdate}, {late});
    step = rewriter.graph().node(added).outputs[0];
    rewriter.Replace(id, std::move(node));
    ++changed_nodes;
  }
  entry = MakeEntryPoint(kTrainEntry, rewriter.Finish());
  return program;
}

TEST(VerifyFaults, AnUpdateWithoutBiasCorrectionIsFound) {
  for (const char* optimizer : {"adam", "adamw"}) {
    const Model model = SmallModel({optimizer, {}}, 0.01);
    int changed = 0;
    const Program plan = WithoutBiasCorrection(*MakeProgram(model, Data(2), Ops(), {}), changed);
    EXPECT_GT(changed, 0);
    const std::string first = FirstOf(model, plan, 1);
    EXPECT_NE(first.find("update of"), std::string::npos) << optimizer << ": " << first;
  }
}

// An element that a kernel of the update leaves out, in both runs.
TEST(VerifyFaults, AnUpdateThatBothRunsHaveWrongIsFound) {
  const Model model = SmallModel({"adam", {}}, 0.01);
  const AfterKernel after = [](const LocalNode& node, const KernelArguments& arguments) {
    const int64_t count = node.outputs[0].elements();
    if (node.op->name == "adam" && count > 100) static_cast<float*>(arguments.outputs[0])[count - 1] += 1e-3F;
  };
  const std::string first = FirstOf(model, *MakeProgram(model, Data(1), Ops(), {}), 1, DType::kF32, after);
  EXPECT_NE(first.find("update of 'v'"), std::string::npos) << first;
}

// The norm of a parameter is off by 0.5 % in both runs, as if some squares were counted twice; that of what its update
// divides by is right.
TEST(VerifyFaults, ANormThatBothRunsHaveWrongIsFound) {
  for (const auto& [optimizer, rate] : {std::pair{"lamb", 0.1}, std::pair{"lars", 10.0}}) {
    const Model model = SmallModel({optimizer, {}}, rate);
    const AfterKernel after = [](const LocalNode& node, const KernelArguments& arguments) {
      const bool of_gradient = node.name.find("@d") != std::string::npos;
      if (node.op->role == Role::kSumOfSquares && !of_gradient) *static_cast<float*>(arguments.outputs[0]) *= 1.01F;
    };
    const Program plan = *MakeProgram(model, Data(2), Ops(), {});
    EXPECT_EQ(FirstOf(model, plan, 1), "") << optimizer;
    const std::string first = FirstOf(model, plan, 1, DType::kF32, after);
    EXPECT_NE(first.find("update of"), std::string::npos) << optimizer << ": " << first;
  }
}

}  // namespace
}  // namespace partita

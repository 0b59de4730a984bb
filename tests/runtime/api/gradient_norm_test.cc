// The norm of all gradients that a step reports: on every split that of one rank, and what the update shows without it.
// Under SGD of rate 1 a step subtracts the gradients from the parameters.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <span>

#include "graph/proto_io/proto_io.h"
#include "ops/registry.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

constexpr double kClose = 1e-10;  // of f64

struct Setting {
  std::string model, strategy;
  bool sharded = false;
};

std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  return out << setting.model << " " << setting.strategy << " sharded " << setting.sharded;
}

Model PlainModel(const Setting& setting) {
  Model model = *MakeSmallModel({setting.model, setting.strategy, true}, 1);
  model.optimizer = {"sgd", {{"momentum", 0.0}}};
  return model;
}

std::unique_ptr<Session> Start(const Model& model, const Strategy& strategy, GradientNorm norm,
                               DType floating = DType::kF64) {
  const auto program =
      MakeProgram(model, strategy, Ops(), {.floating = floating, .gradient_norm = norm, .verify_passes = true});
  EXPECT_TRUE(program.ok()) << program.status();
  auto session = Session::Start(*program, SmallOptions());
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

std::unique_ptr<Session> Start(const Model& model, const Setting& setting, GradientNorm norm,
                               DType floating = DType::kF64) {
  Strategy strategy = *MakeStrategy({setting.model, setting.strategy, true}, model);
  if (setting.sharded) ShardUpdates(model, strategy);
  return Start(model, strategy, norm, floating);
}

std::map<std::string, HostTensor> ParametersOf(const Session& session) {
  std::map<std::string, HostTensor> parameters;
  for (const std::string& name : session.StateNames()) {
    if (session.IsParameter(name)) parameters[name] = *session.ReadState(name);
  }
  return parameters;
}

std::vector<double> NumbersOf(const HostTensor& tensor) {
  std::vector<double> numbers(tensor.bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
  return numbers;
}

// What a step reports, and the norm of the change that it made.
struct Norms {
  std::optional<double> reported;
  double changed = 0;
};

Norms Step(Session& session, const Setting& setting, int step = 0) {
  const auto before = ParametersOf(session);
  StageTraining(session, MakeBatch(1, step, DType::kF64, BatchOf({setting.model, setting.strategy, true})));
  const auto result = session.Train();
  EXPECT_TRUE(result.ok()) << result.status();
  double squares = 0;
  for (const auto& [name, tensor] : ParametersOf(session)) {
    const std::vector<double> old = NumbersOf(before.at(name)), updated = NumbersOf(tensor);
    for (size_t i = 0; i < old.size(); ++i) squares += (updated[i] - old[i]) * (updated[i] - old[i]);
  }
  return {result->gradient_norm, std::sqrt(squares)};
}

void ExpectClose(double actual, double expected) { EXPECT_NEAR(actual / expected, 1, kClose) << actual; }

class SplitNorms : public testing::TestWithParam<Setting> {};

TEST_P(SplitNorms, AreThatOfOneRankAndOfTheChange) {
  const Model model = PlainModel(GetParam());
  const auto split = Start(model, GetParam(), GradientNorm::kReported);
  const auto serial = Start(model, Strategy{}, GradientNorm::kReported);
  for (int step = 0; step < 2; ++step) {
    const Norms norms = Step(*split, GetParam(), step), alone = Step(*serial, GetParam(), step);
    ASSERT_TRUE(norms.reported && alone.reported);
    ExpectClose(*norms.reported, norms.changed);
    ExpectClose(*norms.reported, *alone.reported);
  }
  const std::vector<MoveBytes> predicted = split->PredictedBytes(kTrainEntry);
  for (size_t group = 0; group < predicted.size(); ++group) {
    EXPECT_EQ(split->Traffic()[group].bytes.wire, 2 * predicted[group].wire);
  }
}

TEST_P(SplitNorms, ReportingChangesNoBit) {
  const Model model = PlainModel(GetParam());
  const auto quiet = Start(model, GetParam(), GradientNorm::kOmitted, DType::kF32);
  const auto reporting = Start(model, GetParam(), GradientNorm::kReported, DType::kF32);
  for (Session* const session : {quiet.get(), reporting.get()}) {
    StageTraining(*session, MakeBatch(1, 0, DType::kF32, BatchOf({GetParam().model, GetParam().strategy, true})));
    const auto result = session->Train();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->gradient_norm.has_value(), session == reporting.get());
    EXPECT_EQ(result->metrics.size(), 1u);
  }
  for (const std::string& name : quiet->StateNames()) {
    EXPECT_EQ(quiet->ReadState(name)->bytes, reporting->ReadState(name)->bytes) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Splits, SplitNorms,
                         testing::Values(Setting{"lenet5", "1x1"}, Setting{"lenet5", "2x1"}, Setting{"lenet5", "3x1"},
                                         Setting{"lenet5", "1x2"}, Setting{"lenet5", "2x2"}, Setting{"mlp", "micro"},
                                         Setting{"mlp", "micro_data", true}, Setting{"lenet5", "2x1", true},
                                         Setting{"mlp", "3x1", true}, Setting{"mlp", "placement"},
                                         Setting{"lenet5", "1f1b"}, Setting{"lenet5", "h2w2"},
                                         Setting{"mlp", "islands"}));

// 4 x 3 points in two classes: numbers of PyTorch 2, clip_grad_norm_ behind cross_entropy in f64.
TEST(GradientNorm, IsPyTorchs) {
  const auto model = ParseModel(
      "schema_version: 1\n"
      "nodes { name: \"x\" op: \"input\" attributes { name: \"shape\" integers { values: [4, 3] } } }\n"
      "nodes { name: \"y\" op: \"input\" attributes { name: \"dtype\" text: \"i32\" }"
      " attributes { name: \"shape\" integers { values: [4] } } }\n"
      "nodes { name: \"w\" op: \"parameter\" attributes { name: \"shape\" integers { values: [3, 2] } }"
      " attributes { name: \"initializer\" text: \"he_normal\" } }\n"
      "nodes { name: \"b\" op: \"parameter\" attributes { name: \"shape\" integers { values: [2] } }"
      " attributes { name: \"initializer\" text: \"constant\" } attributes { name: \"scale\" number: 0 } }\n"
      "nodes { name: \"product\" op: \"matmul\" inputs: \"x\" inputs: \"w\" }\n"
      "nodes { name: \"logits\" op: \"bias\" inputs: \"product\" inputs: \"b\" }\n"
      "nodes { name: \"loss\" op: \"softmax_cross_entropy\" inputs: \"logits\" inputs: \"y\" }\n"
      "loss: \"loss\"\noptimizer {}\nlearning_rate { schedule: \"constant\" base: 0.1 }\n",
      ProtoFormat::kText, "g", Ops());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto session = Start(*model, Strategy{}, GradientNorm::kReported);
  const auto tensor = [](DType dtype, const Shape& shape, const auto& values) {
    HostTensor made{dtype, shape, std::vector<char>(values.size() * sizeof(values[0]))};
    std::memcpy(made.bytes.data(), values.data(), made.bytes.size());
    return made;
  };
  const std::vector<double> x = {0.5, -1, 2, 1.5, 0.25, -0.75, -2, 1, 0.5, 0, 3, -1};
  const std::vector<double> w = {0.1, -0.2, 0.3, 0.4, -0.5, 0.6}, b = {0.05, -0.05};
  const std::vector<int32_t> y = {1, 0, 0, 1};
  ASSERT_TRUE(session->WriteState("w", tensor(DType::kF64, {3, 2}, w)).ok());
  ASSERT_TRUE(session->WriteState("b", tensor(DType::kF64, {2}, b)).ok());
  ASSERT_TRUE(session->StageInput(kTrainEntry, "x", tensor(DType::kF64, {4, 3}, x)).ok());
  ASSERT_TRUE(session->StageInput(kTrainEntry, "y", tensor(DType::kI32, {4}, y)).ok());
  const auto result = session->Train();
  ASSERT_TRUE(result.ok()) << result.status();
  ExpectClose(result->loss, 0.7606946100842179);
  ExpectClose(*result->gradient_norm, 0.6610554926109814);
}

// The norm before clipping; the change is clipped.
TEST(GradientNorm, OfClippedGradientsIsFree) {
  const Setting setting{"lenet5", "2x1"};
  Model model = PlainModel(setting);
  const auto plain = Start(model, setting, GradientNorm::kReported);
  const Norms expected = Step(*plain, setting);
  model.optimizer.clip_norm = 1e-3;
  const auto omitted = Start(model, setting, GradientNorm::kOmitted);
  EXPECT_FALSE(Step(*omitted, setting).reported);
  for (const GradientNorm norm : {GradientNorm::kIfClipped, GradientNorm::kReported}) {
    const auto clipped = Start(model, setting, norm);
    const Norms norms = Step(*clipped, setting);
    ExpectClose(*norms.reported, *expected.reported);
    ExpectClose(norms.changed, 1e-3);
    EXPECT_EQ(clipped->graph(kTrainEntry).nodes().size(), omitted->graph(kTrainEntry).nodes().size());
  }
}

TEST(GradientNorm, IsNotReportedWhereItWouldCost) {
  const Setting setting{"lenet5", "2x1"};
  EXPECT_FALSE(Step(*Start(PlainModel(setting), setting, GradientNorm::kIfClipped), setting).reported);
}

// Groups that are clipped alone, or not at all, and one whose gradients are scaled.
TEST(GradientNorm, OfGroupsIsThatOfAllParameters) {
  const Setting setting{"lenet5", "3x1", true};
  Model model = PlainModel(setting);
  const Norms expected = Step(*Start(model, setting, GradientNorm::kReported), setting);
  model.optimizer.groups = {{"classifier/*", 1, {}, 1e-3}};
  EXPECT_FALSE(Step(*Start(model, setting, GradientNorm::kIfClipped), setting).reported);
  ExpectClose(*Step(*Start(model, setting, GradientNorm::kReported), setting).reported, *expected.reported);
  model.optimizer.clip_norm = 1;
  ExpectClose(*Step(*Start(model, setting, GradientNorm::kIfClipped), setting).reported, *expected.reported);
  model.optimizer = {"sgd", {{"momentum", 0.0}}};
  model.optimizer.groups = {{"classifier/*", 1, {{"gradient_scale", 3.0}}}};
  const Norms scaled = Step(*Start(model, setting, GradientNorm::kReported), setting);
  ExpectClose(*scaled.reported, scaled.changed);
  EXPECT_GT(*scaled.reported, 1.01 * *expected.reported);
}

}  // namespace
}  // namespace partita

// A step is applied or it is not (docs/design.md 5.24): by every optimizer and under every kind of split, a gradient or
// a loss that is not finite leaves every state as it was, to the bit, and the steps behind it train as if it had not
// been.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "graph/ir/rewriter.h"
#include "graph/make_program.h"
#include "ops/registry.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "tests/equivalence/cases.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

using testing::HasSubstr;

constexpr char kPlanted[] = "planted@";  // and the gradient's parameter: an input

struct Trial {
  Case one;
  bool sharded = false;  // the update
  Optimizer optimizer;
};

std::ostream& operator<<(std::ostream& out, const Trial& trial) {
  return out << trial.one << (trial.sharded ? " sharded " : " ") << trial.optimizer.name
             << trial.optimizer.attributes.entries().size();
}

// What is given for it is added to the gradient before the update and the norm read it.
void Plant(const Graph& from, ValueId gradient, const std::string& parameter, Rewriter& rewriter) {
  const Value value = from.value(gradient);
  const OpDefinition &input = Ops().Get(Role::kInput), &add = Ops().Get(Role::kAdd);
  const Attributes attributes =
      *CompleteAttributes(input, {{"shape", value.type.shape}, {"dtype", std::string(Name(value.type.dtype))}});
  Graph& graph = rewriter.graph();
  const NodeId given = graph.AddNode({&input, attributes, {}, {}, Phase::kBackward},
                                     {{kPlanted + parameter, value.type, value.layout, -1}});
  const NodeId sum = graph.AddNode(
      {&add, *CompleteAttributes(add, {}), {rewriter.At(gradient), graph.node(given).outputs[0]}, {}, Phase::kBackward},
      {{kPlanted + parameter + "@sum", value.type, value.layout, -1}});
  rewriter.Map(gradient, graph.node(sum).outputs[0]);
}

Graph WithPlanted(const Graph& from) {
  std::map<ValueId, std::string> parameters;  // by gradient
  for (const State& state : from.states()) {
    if (state.gradient != kNoValue) parameters.emplace(state.gradient, from.value(state.value).name);
  }
  Rewriter rewriter(from);
  for (NodeId id = 0; id < static_cast<NodeId>(from.nodes().size()); ++id) {
    rewriter.Copy(id);
    for (const ValueId output : from.node(id).outputs) {
      const auto parameter = parameters.find(output);
      if (parameter != parameters.end()) Plant(from, output, parameter->second, rewriter);
    }
  }
  return rewriter.Finish();
}

absl::StatusOr<std::unique_ptr<Session>> Start(const Trial& trial, double clip_norm) {
  ASSIGN_OR_RETURN(Model model, MakeSmallModel(trial.one, 1e-2));
  model.optimizer = trial.optimizer;
  model.optimizer.clip_norm = clip_norm;
  ASSIGN_OR_RETURN(Strategy strategy, MakeStrategy(trial.one, model));
  if (trial.sharded) ShardUpdates(model, strategy);
  ProgramOptions options;
  options.verify_passes = true;
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, strategy, Ops(), options));
  EntryPoint& train = program.entries.front();
  train = MakeEntryPoint(kTrainEntry, WithPlanted(train.graph), ResultNamesOf(model.graph));
  SessionOptions session;
  session.seed = 11;
  session.threads_per_rank = 1;
  return Session::Start(std::move(program), session);
}

// An element of a planted input, all others of which are 0.
struct Bad {
  std::string field;
  size_t element = 0;
  float value = 0;
};

std::vector<std::string> PlantedFields(const Session& session) {
  std::vector<std::string> fields;
  for (const EntryInput& input : session.program().Find(kTrainEntry)->inputs) {
    if (input.field.starts_with(kPlanted)) fields.push_back(input.field);
  }
  return fields;
}

size_t ElementsOf(const Session& session, const std::string& field) {
  const EntryPoint& train = *session.program().Find(kTrainEntry);
  return static_cast<size_t>(Elements(train.graph.type(train.FindInput(field)->values[0]).shape));
}

void Stage(Session& session, const Case& one, int step, const Bad& bad = {}) {
  const StepInputs batch = MakeBatch(1, step, DType::kF32, BatchOf(one));
  ASSERT_OK(session.StageInput(kTrainEntry, "images", batch.images));
  ASSERT_OK(session.StageInput(kTrainEntry, "labels", batch.labels));
  const EntryPoint& train = *session.program().Find(kTrainEntry);
  for (const std::string& field : PlantedFields(session)) {
    std::vector<float> values(ElementsOf(session, field), 0);
    if (field == bad.field) values[bad.element] = bad.value;
    const Shape& shape = train.graph.type(train.FindInput(field)->values[0]).shape;
    ASSERT_OK(session.StageInput(kTrainEntry, field, ConstTensor{DType::kF32, shape, values.data()}));
  }
}

std::map<std::string, std::vector<char>> AllStates(const Session& session) {
  std::map<std::string, std::vector<char>> states;
  for (const std::string& name : session.StateNames()) states[name] = session.ReadState(name)->bytes;
  return states;
}

void ExpectSame(const Session& found, const std::map<std::string, std::vector<char>>& expected) {
  for (const auto& [name, bytes] : AllStates(found)) EXPECT_TRUE(bytes == expected.at(name)) << name;
}

// A step of both, which do it alike.
void ExpectSameStep(Session& a, Session& b, const Case& one, int step) {
  Stage(a, one, step);
  Stage(b, one, step);
  ASSERT_OK_AND_ASSIGN(const StepResult of_a, a.Train());
  ASSERT_OK_AND_ASSIGN(const StepResult of_b, b.Train());
  EXPECT_EQ(of_a.loss, of_b.loss) << step;
  ExpectSame(a, AllStates(b));
}

class EveryStep : public testing::TestWithParam<Trial> {};

TEST_P(EveryStep, WithAGradientThatIsNotFiniteIsNotApplied) {
  const Trial& trial = GetParam();
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float values[] = {std::numeric_limits<float>::quiet_NaN(), kInf, -kInf};
  ASSERT_OK_AND_ASSIGN(const auto tried, Start(trial, 1.0));
  ASSERT_OK_AND_ASSIGN(const auto spared, Start(trial, 1.0));
  ExpectSameStep(*tried, *spared, trial.one, 0);
  const auto before = AllStates(*tried);
  const std::vector<std::string> fields = PlantedFields(*tried);
  ASSERT_GT(fields.size(), 2u);
  for (size_t f = 0; f < fields.size(); ++f) {
    SCOPED_TRACE(fields[f]);
    const Bad bad{fields[f], f % 2 == 0 ? 0 : ElementsOf(*tried, fields[f]) - 1, values[f % 3]};
    Stage(*tried, trial.one, 1, bad);
    const absl::Status status = tried->Train().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("but the norm of the gradients is not finite"));
    ExpectSame(*tried, before);
    if (f > 0 && f + 1 < fields.size()) continue;
    Stage(*tried, trial.one, 1, bad);
    const absl::Status found = tried->Diagnose();
    EXPECT_EQ(found.code(), absl::StatusCode::kOutOfRange) << found;
    EXPECT_THAT(std::string(found.message()), HasSubstr(std::string(status.message()) + "; the first value that"));
    EXPECT_THAT(std::string(found.message()), HasSubstr("is '" + fields[f])) << "the one that was planted";
    ExpectSame(*tried, before);
  }
  for (const int step : {1, 2}) ExpectSameStep(*tried, *spared, trial.one, step);
  EXPECT_TRUE(tried->Diagnose().ok()) << "the last step was applied";
}

// Also without clipping. What comes before the loss, as the statistics of a batch, is finite here: it would be taken.
TEST_P(EveryStep, WithALossThatIsNotFiniteIsNotApplied) {
  const Trial& trial = GetParam();
  for (const double clip_norm : {0.0, 1.0}) {
    ASSERT_OK_AND_ASSIGN(const auto tried, Start(trial, clip_norm));
    ASSERT_OK_AND_ASSIGN(const auto spared, Start(trial, clip_norm));
    ExpectSameStep(*tried, *spared, trial.one, 0);
    std::string last;  // the bias, or the weights, behind which comes the loss
    for (const std::string& name : tried->StateNames()) last = tried->IsParameter(name) ? name : last;
    ASSERT_OK_AND_ASSIGN(const HostTensor good, tried->ReadState(last));
    HostTensor bad = good;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bad.bytes.data(), &nan, sizeof(nan));
    ASSERT_OK(tried->WriteState(last, bad));
    const auto before = AllStates(*tried);
    Stage(*tried, trial.one, 1);
    const absl::Status status = tried->Train().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("the loss is"));
    ExpectSame(*tried, before);
    ASSERT_OK(tried->WriteState(last, good));
    for (const int step : {1, 2}) ExpectSameStep(*tried, *spared, trial.one, step);
  }
}

// Nothing above is empty: a step that is applied changes states of every kind.
TEST(AStepThatIsApplied, ChangesEveryState) {
  const Trial trial{{"lenet5", "2x1", true}, false, {"adam", {}, 0}};
  ASSERT_OK_AND_ASSIGN(const auto session, Start(trial, 1.0));
  const auto before = AllStates(*session);
  Stage(*session, trial.one, 0);
  ASSERT_OK(session->Train().status());
  std::set<std::string> kinds;
  for (const auto& [name, bytes] : AllStates(*session)) {
    if (bytes != before.at(name)) kinds.insert(name.substr(name.find_last_of("/@") + 1));
  }
  for (const char* kind : {"weights", "mean", "mean_square", "running_mean", "running_variance", "iteration"}) {
    EXPECT_TRUE(kinds.contains(kind)) << kind;
  }
}

std::vector<Trial> Trials() {
  const Optimizer sgd{"sgd", {}, 0}, adam{"adam", {}, 0}, rmsprop{"rmsprop", {}, 0};
  const Optimizer adamw{"adamw", {}, 0}, adagrad{"adagrad", {}, 0}, centered{"rmsprop_torch", {{"centered", true}}, 0};
  const Optimizer lamb{"lamb", {}, 0}, lars{"lars", {}, 0};
  Optimizer grouped{"sgd", {{"momentum", 0.9}}, 0};
  grouped.groups = {{"classifier/*", 0.5, {{"weight_decay", 0.01}}, 0.25}, {"*/weights", 2}};
  grouped.average = MovingAverage{0.9, "*", true};
  const Optimizer momentum{"sgd", {{"momentum", 0.9}, {"nesterov", true}}, 0};
  return {{{"lenet5", "1x1", true}, false, sgd},      {{"lenet5", "1x1", true}, false, adam},
          {{"lenet5", "2x1", true}, false, momentum}, {{"lenet5", "2x1", true}, true, rmsprop},
          {{"lenet5", "2x2", true}, true, sgd},       {{"lenet5", "mixed", true}, false, adam},
          {{"mlp", "placement", true}, false, adam},  {{"mlp", "1x2", true}, false, rmsprop},
          {{"mlp", "2x2", true}, true, adam},         {{"lenet5", "h2c2", true}, false, momentum},
          {{"mlp", "islands", false}, false, adam},   {{"mlp", "micro_data", true}, true, momentum},
          {{"lenet5", "1f1b", true}, false, rmsprop}, {{"mlp", "2x2", true}, true, adamw},
          {{"lenet5", "3x1", true}, true, grouped},   {{"mlp", "1f1b", true}, false, grouped},
          {{"mlp", "2x1", true}, true, adagrad},      {{"lenet5", "1x2", true}, false, centered},
          {{"mlp", "2x2", true}, true, lamb},         {{"lenet5", "2x1", true}, false, lars}};
}

INSTANTIATE_TEST_SUITE_P(Splits, EveryStep, testing::ValuesIn(Trials()), [](const testing::TestParamInfo<Trial>& info) {
  const Trial& trial = info.param;
  return trial.one.Name() + (trial.sharded ? "_sharded_" : "_") + trial.optimizer.name;
});

}  // namespace
}  // namespace partita

// In mixed precision on one launch for all updates, which reads bf16 gradients and writes bf16 weights: the same bits
// as with casts, whatever becomes of the states between the steps.
#include <algorithm>
#include <cstring>
#include <limits>

#include "graph/ir/op_definition.h"
#include "ops/registry.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

struct Setting {
  std::string model, strategy;
  std::string optimizer = "sgd";
  bool sharded = false;
  double clip_norm = 0;
};

std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  return out << setting.model << " " << setting.strategy << " " << setting.optimizer << " sharded " << setting.sharded
             << " clip " << setting.clip_norm;
}

std::unique_ptr<Session> Start(const Setting& setting, bool grouped, bool observe = false) {
  const Case one{setting.model, setting.strategy, true};
  Model model = *MakeSmallModel(one, 1e-2);
  model.optimizer.clip_norm = setting.clip_norm;
  if (setting.optimizer != "sgd") model.optimizer = {setting.optimizer, {}, setting.clip_norm};
  Strategy strategy = *MakeStrategy(one, model);
  if (setting.sharded) ShardUpdates(model, strategy);
  auto program = MakeProgram(model, strategy, Ops(), {.mix_precision = true, .verify_passes = true});
  EXPECT_TRUE(program.ok()) << program.status();
  SessionOptions options = SmallOptions();
  options.group_updates = grouped;
  options.tests.observe = observe;
  if (grouped) options.tests.delay_seed = 5;
  auto session = Session::Start(*std::move(program), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

class Pair {
 public:
  explicit Pair(const Setting& setting)
      : samples_(BatchOf({setting.model, setting.strategy, true})),
        casts_(Start(setting, false)),
        grouped_(Start(setting, true)) {}

  void Train(int step) {
    const StepInputs batch = MakeBatch(1, step, DType::kF32, samples_);
    for (Session* session : {casts_.get(), grouped_.get()}) StageTraining(*session, batch);
    EXPECT_EQ(casts_->Train()->loss, grouped_->Train()->loss) << "step " << step;
  }

  void Evaluate(int step) {
    const StepInputs batch = MakeBatch(2, step, DType::kF32, samples_);
    for (Session* session : {casts_.get(), grouped_.get()}) StageEvaluation(*session, batch);
    EXPECT_EQ(casts_->Evaluate()->loss, grouped_->Evaluate()->loss) << "behind step " << step;
  }

  // A step that is not applied: the parameter behind which comes the loss holds a NaN.
  void TrainOnNaN() {
    std::string last;
    for (const std::string& name : casts_->StateNames()) last = casts_->IsParameter(name) ? name : last;
    const HostTensor good = *casts_->ReadState(last);
    HostTensor bad = good;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bad.bytes.data(), &nan, sizeof nan);
    for (Session* session : {casts_.get(), grouped_.get()}) {
      EXPECT_TRUE(session->WriteState(last, bad).ok());
      StageTraining(*session, MakeBatch(1, 0, DType::kF32, samples_));
      EXPECT_EQ(session->Train().status().code(), absl::StatusCode::kOutOfRange);
      EXPECT_TRUE(session->WriteState(last, good).ok());
    }
  }

  // What a checkpoint does.
  void DoubleParameters() {
    for (const std::string& name : casts_->StateNames()) {
      if (!casts_->IsParameter(name)) continue;
      HostTensor state = *casts_->ReadState(name);
      auto* const values = reinterpret_cast<float*>(state.bytes.data());
      std::for_each(values, values + state.bytes.size() / sizeof(float), [](float& value) { value *= 2; });
      for (Session* session : {casts_.get(), grouped_.get()}) EXPECT_TRUE(session->WriteState(name, state).ok());
    }
  }

  void ExpectSameStates() const {
    for (const std::string& name : casts_->StateNames()) {
      EXPECT_EQ(casts_->ReadState(name)->bytes, grouped_->ReadState(name)->bytes) << name;
      EXPECT_TRUE(*grouped_->ReplicasEqual(name)) << name;
    }
  }

 private:
  const int64_t samples_;
  const std::unique_ptr<Session> casts_, grouped_;
};

class MixedUpdates : public testing::TestWithParam<Setting> {};

TEST_P(MixedUpdates, HaveTheBitsOfCasts) {
  Pair pair(GetParam());
  pair.Evaluate(0);
  for (const int step : {0, 1}) pair.Train(step);
  pair.Evaluate(1);
  pair.TrainOnNaN();
  pair.Evaluate(2);
  pair.Train(2);
  pair.DoubleParameters();
  pair.Evaluate(3);
  pair.Train(3);
  pair.ExpectSameStates();
}

INSTANTIATE_TEST_SUITE_P(Splits, MixedUpdates,
                         testing::Values(Setting{"lenet5", "1x1"}, Setting{"lenet5", "1x1", "adam"},
                                         Setting{"mlp", "1x1", "rmsprop"}, Setting{"lenet5", "1x1", "sgd", false, 0.5},
                                         Setting{"lenet5", "2x2", "adam"}, Setting{"lenet5", "3x1", "rmsprop"},
                                         Setting{"mlp", "2x1", "adam", true}, Setting{"mini-inception", "placement"},
                                         Setting{"lenet5", "1f1b"}, Setting{"lenet5", "h2w2"}));

std::vector<std::string> Casts(const Schedule& schedule) {
  std::vector<std::string> names;
  for (const Launch& launch : schedule.launches) {
    const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
    if (kernel != nullptr && kernel->node.op->role == Role::kCast) names.push_back(launch.name);
  }
  return names;
}

// What is left are the images, and the logits on their ways to the loss and back.
TEST(MixedUpdates, LeaveNoCastOfAWeightOrItsGradient) {
  const Setting setting{"mini-inception", "1x1"};
  const auto casts = Start(setting, false), grouped = Start(setting, true);
  EXPECT_EQ(Casts(casts->schedule(kTrainEntry, 0)).size(), 3u + 2 * 16);
  EXPECT_EQ(Casts(grouped->schedule(kTrainEntry, 0)),
            (std::vector<std::string>{"images@bf16", "classifier/bias@f32", "classifier/bias@d"}));
  EXPECT_EQ(Casts(grouped->schedule(kEvaluateEntry, 0)),
            (std::vector<std::string>{"images@bf16", "classifier/bias@f32"}));
}

// They are no states of the program: nobody saves or counts them with the parameters, but the plan's memory has them.
TEST(MixedUpdates, RoundedStatesAreMemoryOfStates) {
  const Setting setting{"mini-inception", "1x1"};
  const auto casts = Start(setting, false), grouped = Start(setting, true);
  EXPECT_EQ(casts->StateNames(), grouped->StateNames());
  const Schedule& schedule = grouped->schedule(kTrainEntry, 0);
  EXPECT_TRUE(casts->schedule(kTrainEntry, 0).rounded.empty());
  ASSERT_EQ(schedule.rounded.size(), 16u);
  int64_t bytes = 0;
  for (const RoundedState& rounded : schedule.rounded) {
    const Placement& state = schedule.states[static_cast<size_t>(rounded.state)];
    EXPECT_EQ(rounded.placement.name, state.name + "@bf16");
    EXPECT_EQ(2 * rounded.placement.tensor.bytes(), state.tensor.bytes());
    bytes += rounded.placement.tensor.bytes();
  }
  const MemoryUse &with = schedule.memory, &without = casts->schedule(kTrainEntry, 0).memory;
  EXPECT_EQ(with.parameters, without.parameters);
  EXPECT_GE(with.states, without.states + bytes);
  EXPECT_LE(with.states, without.states + bytes + 64 * 16);
}

// A gradient that only the update reads is made where somebody looks at values.
TEST(MixedUpdates, ObserversSeeAllGradients) {
  const Setting setting{"mlp", "1x1"};
  const auto casts = Start(setting, false, true), grouped = Start(setting, true, true);
  const StepInputs batch = MakeBatch(1, 0, DType::kF32, BatchOf({"mlp", "1x1", true}));
  for (Session* session : {casts.get(), grouped.get()}) {
    StageTraining(*session, batch);
    ASSERT_TRUE(session->Train().ok());
  }
  const Graph& graph = casts->graph(kTrainEntry);
  int compared = 0;
  for (const State& state : graph.states()) {
    if (state.gradient == kNoValue) continue;
    const std::string& name = graph.value(state.gradient).name;
    EXPECT_EQ(casts->Observed(name)->elements, grouped->Observed(name)->elements) << name;
    ++compared;
  }
  EXPECT_GE(compared, 4);
}

}  // namespace
}  // namespace partita

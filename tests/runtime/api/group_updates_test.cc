// The whole optimizer as one launch, and all running statistics, change no bit: every kind of split, momentum and
// clipping, sharded slots with uneven and empty shares, buckets of every size.
#include "graph/lower/group_updates.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/ir/op_definition.h"
#include "ops/registry.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

struct Setting {
  std::string model, strategy;
  bool sharded = false;
  int64_t bucket_bytes = -1;
  double clip_norm = 0.5;
  double momentum = 0.9;
  std::string optimizer = "sgd";  // others as they are without a word
};

std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  return out << setting.model << " " << setting.strategy << " sharded " << setting.sharded << " buckets "
             << setting.bucket_bytes << " clip " << setting.clip_norm << " " << setting.optimizer << " momentum "
             << setting.momentum;
}

Program ProgramOf(const Setting& setting) {
  const Case one{setting.model, setting.strategy, true};
  Model model = *MakeSmallModel(one, 1e-2);
  model.optimizer.clip_norm = setting.clip_norm;
  model.optimizer.attributes = {
      {"momentum", setting.momentum}, {"weight_decay", 0.01}, {"nesterov", setting.momentum > 0}};
  if (setting.optimizer != "sgd") model.optimizer = {setting.optimizer, {}, setting.clip_norm};
  Strategy strategy = *MakeStrategy(one, model);
  if (setting.sharded) ShardUpdates(model, strategy);
  ProgramOptions options;
  options.bucket_bytes = setting.bucket_bytes;
  options.verify_passes = true;
  auto program = MakeProgram(model, strategy, Ops(), options);
  EXPECT_TRUE(program.ok()) << program.status();
  return *std::move(program);
}

std::unique_ptr<Session> Start(const Setting& setting, bool grouped, std::optional<uint64_t> delay_seed = {}) {
  SessionOptions options = SmallOptions();
  options.group_updates = grouped;
  options.tests.delay_seed = delay_seed;
  auto session = Session::Start(ProgramOf(setting), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

bool IsUpdate(const Launch& launch) {
  const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
  return kernel != nullptr && !kernel->node.op->together.empty();
}

bool IsScalarOfStep(const Launch& launch) {
  const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
  if (kernel == nullptr) return false;
  const Role role = kernel->node.op->role;
  return role == Role::kAllFinite || role == Role::kLearningRate || role == Role::kIncrement;
}

bool IsConstant(const Launch& launch) {
  const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
  return kernel != nullptr && kernel->node.op->role == Role::kConstant;
}

int CountScalarLaunches(const Session& session) {
  const auto& launches = session.schedule(kTrainEntry, 0).launches;
  return static_cast<int>(std::count_if(launches.begin(), launches.end(), IsScalarOfStep));
}

int CountClips(const Session& session) {
  const auto& launches = session.schedule(kTrainEntry, 0).launches;
  return static_cast<int>(std::ranges::count_if(launches, [](const Launch& launch) {
    const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
    return kernel != nullptr && kernel->node.op->role == Role::kClipScale;
  }));
}

// Of one rank: launches that update, and what they update.
std::pair<int, int> CountUpdates(const Session& session, int rank) {
  int launches = 0, members = 0;
  for (const Launch& launch : session.schedule(kTrainEntry, rank).launches) {
    if (!IsUpdate(launch)) continue;
    ++launches;
    members += std::get<KernelLaunch>(launch.work).node.members;
  }
  return {launches, members};
}

// The launch that wrote what lies at `place` when launch `reader` reads it; -1: it was there before the step.
int WriterOf(const Schedule& schedule, int64_t place, int reader) {
  for (int l = reader; l-- > 0;) {
    for (const Access& access : schedule.launches[l].accesses) {
      const auto [offset, bytes] = access.range;
      if (access.write && offset <= place && place < offset + bytes) return l;
    }
  }
  return -1;
}

// Of one rank: how many rates, clips and gates its updates read. A value that came to it in two ways counts twice, also
// where the second lies in the place of the first.
int CountShared(const Session& session, int rank) {
  const Schedule& schedule = session.schedule(kTrainEntry, rank);
  std::set<std::vector<int64_t>> shared;
  for (int l = 0; l < static_cast<int>(schedule.launches.size()); ++l) {
    if (!IsUpdate(schedule.launches[l])) continue;
    const auto& kernel = std::get<KernelLaunch>(schedule.launches[l].work);
    std::vector<int64_t> values;
    for (const int input : kernel.node.op->together) {
      const int64_t place = kernel.inputs[static_cast<size_t>(input)];
      values.insert(values.end(), {place, WriterOf(schedule, place, l)});
    }
    shared.insert(values);
  }
  return static_cast<int>(shared.size());
}

bool IsSumOfSquares(const Launch& launch) {
  const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
  return kernel != nullptr && kernel->node.op->role == Role::kSumOfSquares;
}

// Sums of squares are one launch for all that lie alike.
constexpr int kMostSums = 4;

// Of one rank: launches that add up squares, and how many tensors they square.
std::pair<int, int> CountSums(const Session& session, int rank) {
  int launches = 0, tensors = 0;
  for (const Launch& launch : session.schedule(kTrainEntry, rank).launches) {
    if (!IsSumOfSquares(launch)) continue;
    ++launches;
    tensors += static_cast<int>(std::get<KernelLaunch>(launch.work).node.inputs.size());
  }
  return {launches, tensors};
}

// Of one rank: launches that read nothing but sums of squares, in the order of the launches.
int CountAddsOfSquares(const Session& session, int rank) {
  const Schedule& schedule = session.schedule(kTrainEntry, rank);
  int adds = 0;
  for (int l = 0; l < static_cast<int>(schedule.launches.size()); ++l) {
    const auto* const kernel = std::get_if<KernelLaunch>(&schedule.launches[l].work);
    if (kernel == nullptr || kernel->node.op->role != Role::kAdd) continue;
    adds += std::ranges::all_of(kernel->inputs, [&](int64_t place) {
      const int writer = WriterOf(schedule, place, l);
      return writer >= 0 && IsSumOfSquares(schedule.launches[writer]);
    });
  }
  return adds;
}

// Squares, the sum of those that lie alike, and the clip's factor: fewer launches where they are grouped.
bool IsOfNorm(const Launch& launch) {
  const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
  if (kernel == nullptr) return false;
  const Role role = kernel->node.op->role;
  return role == Role::kSumOfSquares || role == Role::kClipScale ||
         (role == Role::kAdd && launch.name.starts_with("@norm@squares@alike"));
}

class GroupedUpdates : public testing::TestWithParam<Setting> {};

TEST_P(GroupedUpdates, AreOneLaunchWithTheSameBits) {
  const auto alone = Start(GetParam(), false), grouped = Start(GetParam(), true, 5);
  for (int rank = 0; rank < alone->ranks(); ++rank) {
    const auto [launches, members] = CountUpdates(*alone, rank);
    EXPECT_EQ(launches, members);
    const std::pair<int, int> expected{CountShared(*alone, rank), members};
    EXPECT_LE(expected.first, 3);
    EXPECT_EQ(CountUpdates(*grouped, rank), expected) << "rank " << rank;
    const auto [sums, squares] = CountSums(*alone, rank);
    EXPECT_EQ(sums, squares);
    EXPECT_EQ(sums > 0, GetParam().clip_norm > 0 && launches > 0);
    const auto [joint_sums, joint_squares] = CountSums(*grouped, rank);
    EXPECT_EQ(joint_squares, squares) << "rank " << rank;
    EXPECT_LE(joint_sums, kMostSums) << "rank " << rank;
    EXPECT_EQ(CountAddsOfSquares(*grouped, rank), 0) << "rank " << rank;
  }
  // Where the model is laid out in parts, others may know the loss and say whether the step is applied.
  const bool in_parts = GetParam().strategy == "placement" || GetParam().strategy == "1f1b";
  const int scalars = CountScalarLaunches(*alone);
  EXPECT_TRUE(scalars == 3 || (in_parts && scalars > 0)) << scalars;
  EXPECT_EQ(CountScalarLaunches(*grouped), scalars == 3 ? 1 : scalars);
  if (scalars == 3) {
    EXPECT_EQ(CountClips(*alone), GetParam().clip_norm > 0 ? 1 : 0);
    EXPECT_EQ(CountClips(*grouped), 0) << "the clip's factor is one of the scalars";
  }
  const int64_t samples = BatchOf({GetParam().model, GetParam().strategy, true});
  for (int step = 0; step < 3; ++step) {
    const StepInputs batch = MakeBatch(1, step, DType::kF32, samples);
    StageTraining(*alone, batch);
    StageTraining(*grouped, batch);
    EXPECT_EQ(alone->Train()->loss, grouped->Train()->loss);
  }
  for (const std::string& name : alone->StateNames()) {
    EXPECT_EQ(alone->ReadState(name)->bytes, grouped->ReadState(name)->bytes) << name;
    EXPECT_TRUE(*grouped->ReplicasEqual(name)) << name;
  }
  for (size_t group = 0; group < alone->program().groups.size(); ++group) {
    EXPECT_EQ(alone->Traffic()[group].bytes.wire, grouped->Traffic()[group].bytes.wire);
  }
}

INSTANTIATE_TEST_SUITE_P(Splits, GroupedUpdates,
                         testing::Values(Setting{"lenet5", "1x1"}, Setting{"lenet5", "2x1"},
                                         Setting{"lenet5", "2x2", false, 0}, Setting{"lenet5", "mixed"},
                                         Setting{"lenet5", "1x4", false, -1, 0, 0}, Setting{"lenet5", "2x1", true},
                                         Setting{"lenet5", "3x1", true, 4096}, Setting{"mlp", "4x1", true, 0, 0, 0.9},
                                         Setting{"mlp", "2x2", true, -1, 0.5, 0}, Setting{"mlp", "placement"},
                                         Setting{"mini-inception", "placement", false, 1 << 20},
                                         Setting{"lenet5", "1f1b"}, Setting{"mlp", "micro_data", true},
                                         Setting{"lenet5", "mixed", false, -1, 0.5, 0, "adam"},
                                         Setting{"lenet5", "3x1", true, 4096, 0, 0, "adam"},
                                         Setting{"mlp", "placement", false, -1, 0.5, 0, "rmsprop"},
                                         Setting{"mlp", "3x1", true, -1, 0.5, 0, "adamw"},
                                         Setting{"mlp", "2x2", false, -1, 0, 0, "adagrad"},
                                         Setting{"mlp", "4x1", true, 0, 0.5, 0, "rmsprop_torch"}));

// Layers of several sizes, each with a count of its own.
TEST(GroupedUpdates, RunningStatisticsAreOneLaunch) {
  const auto session = Start({"mini-inception", "1x1"}, true);
  std::map<std::string, std::vector<int>> members;
  for (const Launch& launch : session->schedule(kTrainEntry, 0).launches) {
    if (!IsUpdate(launch)) continue;
    const LocalNode& node = std::get<KernelLaunch>(launch.work).node;
    members[node.op->name].push_back(node.members);
    const bool differ = node.op->name == "batch_norm_running";  // in their counts
    EXPECT_EQ(node.member_attributes.size(), differ ? static_cast<size_t>(node.members) : 0u);
    if (differ) {
      EXPECT_NE(node.member_attributes.front(), node.member_attributes.back());
    }
  }
  const std::map<std::string, std::vector<int>> expected = {{"batch_norm_running", {15}}, {"sgd_momentum", {47}}};
  EXPECT_EQ(members, expected);
}

// Groups differ in attributes, rate and clip scale: all parameters are one launch, and all averages another one.
TEST(GroupedUpdates, OfParameterGroupsAreOneLaunch) {
  Model model = *MakeSmallModel({"lenet5", "2x1", true}, 1e-2);
  model.optimizer.groups = {{"classifier/*", 0.5, {{"weight_decay", 0.0}}, 0.25}, {"*/weights", 2}};
  model.optimizer.average = MovingAverage{0.9};
  const auto start = [&](bool grouped) {
    SessionOptions options = SmallOptions();
    options.group_updates = grouped;
    const Strategy strategy = *MakeStrategy({"lenet5", "2x1", true}, model);
    return *Session::Start(*MakeProgram(model, strategy, Ops(), {.verify_passes = true}), options);
  };
  const std::unique_ptr<Session> alone = start(false), grouped = start(true);
  std::map<std::string, int> launches;
  for (const Launch& launch : grouped->schedule(kTrainEntry, 0).launches) {
    if (!IsUpdate(launch)) continue;
    const LocalNode& node = std::get<KernelLaunch>(launch.work).node;
    ++launches[node.op->name];
    const bool differ = node.op->name != "moving_average";
    EXPECT_EQ(node.member_attributes.size(), differ ? static_cast<size_t>(node.members) : 0u) << node.op->name;
  }
  EXPECT_EQ(launches,
            (std::map<std::string, int>{{"batch_norm_running", 1}, {"moving_average", 1}, {"sgd_momentum", 1}}));
  for (int step = 0; step < 3; ++step) {
    const StepInputs batch = MakeBatch(1, step, DType::kF32, kBatch);
    StageTraining(*alone, batch);
    StageTraining(*grouped, batch);
    EXPECT_EQ(alone->Train()->loss, grouped->Train()->loss);
  }
  for (const std::string& name : alone->StateNames()) {
    EXPECT_EQ(alone->ReadState(name)->bytes, grouped->ReadState(name)->bytes) << name;
  }
}

// A rule with norms: the ranks add up all norms in one collective, between a launch for each phase.
TEST(GroupedUpdates, OfTwoPhasesAreTwoLaunchesAroundOneCollective) {
  const Setting setting{"lenet5", "3x1", true, -1, 0, 0, "lamb"};
  const auto alone = Start(setting, false), grouped = Start(setting, true, 5);
  std::map<std::string, std::vector<int>> members;
  int collectives = 0;
  for (const Launch& launch : grouped->schedule(kTrainEntry, 0).launches) {
    if (IsUpdate(launch)) {
      const LocalNode& node = std::get<KernelLaunch>(launch.work).node;
      if (node.op->name.starts_with("lamb")) members[node.op->name].push_back(node.members);
    }
    const bool collective = std::holds_alternative<CollectiveLaunch>(launch.work);
    if (collective && members.contains("lamb_direction") && !members.contains("lamb")) ++collectives;
  }
  const std::vector<int> all = {static_cast<int>(std::ranges::count_if(
      grouped->StateNames(), [](const std::string& name) { return name.ends_with("@mean"); }))};
  EXPECT_EQ(members, (std::map<std::string, std::vector<int>>{{"lamb_direction", all}, {"lamb", all}}));
  EXPECT_EQ(collectives, 1);
  for (int step = 0; step < 3; ++step) {
    const StepInputs batch = MakeBatch(1, step, DType::kF32, kBatch);
    StageTraining(*alone, batch);
    StageTraining(*grouped, batch);
    EXPECT_EQ(alone->Train()->loss, grouped->Train()->loss);
  }
  for (const std::string& name : alone->StateNames()) {
    EXPECT_EQ(alone->ReadState(name)->bytes, grouped->ReadState(name)->bytes) << name;
    EXPECT_TRUE(*grouped->ReplicasEqual(name)) << name;
  }
}

// A gradient bucket is reduced while the backward pass goes on: nothing of that waits for the joint launch.
TEST(GroupedUpdates, KeepCollectivesWhereTheyWere) {
  const Setting setting{"lenet5", "2x1", true, 4096};
  const auto alone = Start(setting, false), grouped = Start(setting, true);
  const auto order = [](const Session& session) {
    std::vector<std::string> names;
    for (const Launch& launch : session.schedule(kTrainEntry, 0).launches) {
      const bool moves = IsUpdate(launch) || IsScalarOfStep(launch) || IsConstant(launch);
      if (!moves && !IsOfNorm(launch)) names.push_back(launch.name);
    }
    return names;
  };
  EXPECT_EQ(order(*alone), order(*grouped));
  EXPECT_EQ(CountUpdates(*grouped, 0).first, CountShared(*grouped, 0));
  const auto& launches = grouped->schedule(kTrainEntry, 0).launches;
  const auto update = std::find_if(launches.begin(), launches.end(), IsUpdate);
  ASSERT_NE(update, launches.end());
  int before = 0, behind = 0;
  for (auto launch = launches.begin(); launch != launches.end(); ++launch) {
    if (!std::holds_alternative<CollectiveLaunch>(launch->work)) continue;
    ++(launch < update ? before : behind);
    if (launch < update) {
      EXPECT_EQ(launch->name.find("@new"), std::string::npos) << launch->name;
    }
  }
  EXPECT_GT(before, 2);
  EXPECT_GT(behind, 2);
}

}  // namespace
}  // namespace partita

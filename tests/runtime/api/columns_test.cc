// Slices and concats that others read and write where they lie (graph/lower/view_columns.h): the bits of launches that
// copy, on any number of streams, and no such launch is left.
#include <algorithm>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

struct Setting {
  const char* strategy;
  int compute_streams;
  bool mixed = false;
};

std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  return out << setting.strategy << " " << setting.compute_streams << " streams" << (setting.mixed ? " bf16" : "");
}

// Observers want copies.
std::unique_ptr<Session> Start(const Setting& setting, bool observe) {
  const Case one{"mini-inception", setting.strategy, true};
  const Model model = *MakeSmallModel(one, 1e-2);
  auto program = PlanOf(one, model, {.mix_precision = setting.mixed});
  EXPECT_TRUE(program.ok()) << program.status();
  SessionOptions options = SmallOptions();
  options.tests.observe = observe;
  options.compute_streams = observe ? 1 : setting.compute_streams;
  if (!observe) options.tests.delay_seed = 3;
  auto session = Session::Start(*std::move(program), options);
  EXPECT_TRUE(session.ok()) << session.status();
  return *std::move(session);
}

// Of columns.
int64_t CountCopies(const Session& session) {
  const auto width = [](const LocalTensor& tensor) { return tensor.shape().size() > 1 ? tensor.shape().back() : 1; };
  const auto copies = [&](const Launch& launch) {
    const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
    if (kernel == nullptr) return false;
    const LocalNode& node = kernel->node;
    const bool copy = node.op->role == Role::kConcat || node.op->role == Role::kSlice;
    return copy && width(*node.inputs[0]) != width(node.outputs[0]);
  };
  int64_t count = 0;
  for (const Schedule& schedule : session.schedules(kTrainEntry)) {
    count += std::ranges::count_if(schedule.launches, copies);
  }
  return count;
}

class Columns : public testing::TestWithParam<Setting> {};

TEST_P(Columns, HaveTheBitsOfCopies) {
  const Setting& setting = GetParam();
  const auto copied = Start(setting, true), viewed = Start(setting, false);
  EXPECT_GT(CountCopies(*copied), 0);
  const bool takes_columns = HostKernelNames("batch_norm_normalize").size() > 1;  // not the reference
  EXPECT_EQ(CountCopies(*viewed), takes_columns ? 0 : CountCopies(*copied));
  const int64_t samples = BatchOf({"mini-inception", setting.strategy, true});
  for (int step = 0; step < 3; ++step) {
    for (Session* const session : {copied.get(), viewed.get()}) {
      StageTraining(*session, MakeBatch(1, step, DType::kF32, samples));
    }
    EXPECT_EQ(copied->Train()->loss, viewed->Train()->loss) << "step " << step;
  }
  for (const std::string& name : copied->StateNames()) {
    EXPECT_EQ(copied->ReadState(name)->bytes, viewed->ReadState(name)->bytes) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Host, Columns,
                         testing::Values(Setting{"1x1", 1}, Setting{"1x1", 3}, Setting{"1x1", 2, true},
                                         Setting{"2x1", 2}, Setting{"h2", 2}));

}  // namespace
}  // namespace partita

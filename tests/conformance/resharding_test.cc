// The resharding cases of algorithms.md 6.1 by every communicator and in every mode: each rank ends with its box,
// counted bytes are those predicted, and a tile leaves the mesh that held it no more than once where the mode promises
// that.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "graph/make_program.h"
#include "graph/make_schedule.h"
#include "graph/passes/choose_exchanges.h"
#include "graph/verify_collectives.h"
#include "graph/verify_schedule.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "runtime/exec/executor.h"
#include "tests/conformance/comm_fixture.h"
#include "tests/graph/resharding_cases.h"

namespace partita {
namespace {

// Moves and copies need no kernel.
class NoKernels : public KernelLibrary {
 public:
  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override {
    return Internal("'{}' needs a kernel", node.name);
  }
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice&,
                                                 KernelArguments) const override {
    return Internal("'{}' needs a kernel", node.name);
  }
};

// One exchange among all ranks.
Program ProgramOf(const Resharding& c, ExchangeMode mode) {
  Program program;
  program.meshes = {c.mesh};
  Graph graph(c.mesh);
  const TensorType type{DType::kF32, c.shape};
  const OpDefinition& input = *Ops().Find("input");
  const OpDefinition& move = *Ops().Find("repartition");
  const Attributes described = *CompleteAttributes(input, {{"dtype", std::string("f32")}, {"shape", c.shape}});
  graph.AddNode({&input, described, {}, {}, Phase::kForward}, {{"x", type, c.from, -1}});
  graph.AddNode({&move, *CompleteAttributes(move, {{"axes", std::string("stage,a,b")}}), {0}, {}, Phase::kForward},
                {{"y", type, c.to, -1}});
  program.train = ChooseExchanges(std::move(graph), {0, 1}, mode);
  program.evaluate = Graph(c.mesh);
  CollectGroups(program.train, program);
  return program;
}

// A rank at work.
struct Worker {
  std::unique_ptr<Arena> arena;
  std::vector<std::unique_ptr<Stream>> streams;
  std::unique_ptr<Executor> executor;
};

// Calls visit(index in the box, index in the tensor).
template <typename Visit>
void ForEachElement(const Shape& shape, const Box& box, const Visit& visit) {
  for (int64_t i = 0; i < box.elements(); ++i) {
    int64_t rest = i, global = 0, stride = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      global += (box.offset[d] + rest % box.size[d]) * stride;
      rest /= box.size[d];
      stride *= shape[d];
    }
    visit(i, global);
  }
}

using Parameters = std::tuple<const CommBackend*, ExchangeMode, size_t>;

class ReshardingTest : public testing::TestWithParam<Parameters> {
 protected:
  ReshardingTest()
      : case_(ReshardingCases()[std::get<2>(GetParam())]),
        mode_(std::get<1>(GetParam())),
        program_(ProgramOf(case_, mode_)),
        schedules_(*MakeSchedules(program_, program_.train, kernels_)),
        ranks_(std::get<0>(GetParam())->CreateRanks(case_.mesh.size(), 0)) {}

  float* At(int rank, int64_t offset) {
    return reinterpret_cast<float*>(static_cast<char*>(workers_[rank].arena->data()) + offset);
  }

  void Bind(int rank) {
    Worker& worker = workers_.emplace_back();
    Device& device = ranks_->device(rank);
    const Schedule& schedule = schedules_[rank];
    worker.arena = *device.Allocate(std::max<int64_t>(64, schedule.memory.total));
    ExecutorBinding binding;
    for (int s = 0; s < schedule.streams; ++s) {
      worker.streams.push_back(*device.CreateStream(fmt::format("{}.{}", rank, s)));
      binding.streams.push_back(worker.streams.back().get());
    }
    binding.device = &device;
    binding.arena = worker.arena->data();
    binding.kernels = &kernels_;
    binding.communicators = {&ranks_->communicator(rank)};
    ExecutorOptions options;
    options.observe = {1};
    auto executor = Executor::Create(schedule, std::move(binding), options);
    ASSERT_OK(executor.status());
    worker.executor = *std::move(executor);
    const Placement& x = schedule.inputs[0];
    if (x.offset < 0) return;
    ForEachElement(case_.shape, x.tensor.box,
                   [&](int64_t i, int64_t global) { At(rank, x.offset)[i] = static_cast<float>(global + 1); });
  }

  void ExpectBox(int rank) {
    const LocalTensor& y = schedules_[rank].values[1].tensor;
    const auto* const held = static_cast<const float*>(workers_[rank].executor->Observed(1));
    ASSERT_EQ(held == nullptr, y.box.empty());
    if (held == nullptr) return;
    ForEachElement(case_.shape, y.box, [&](int64_t i, int64_t global) {
      ASSERT_EQ(held[i], static_cast<float>(global + 1)) << "rank " << rank << ", element " << i;
    });
  }

  // A rank of the mesh that the value comes from.
  bool IsSource(int rank) const { return case_.mesh.Coordinates(rank)[0] == 0; }

  // Bytes of the tensor that the target mesh wants at all.
  int64_t LowerBound() const {
    std::vector<bool> wanted(Elements(case_.shape), false);
    for (int rank = 0; rank < case_.mesh.size(); ++rank) {
      const std::optional<Box> box = LocalBox(case_.to, case_.shape, case_.mesh, rank);
      if (box) ForEachElement(case_.shape, *box, [&](int64_t, int64_t global) { wanted[global] = true; });
    }
    return 4 * std::count(wanted.begin(), wanted.end(), true);
  }

  const Resharding case_;
  const ExchangeMode mode_;
  const NoKernels kernels_;
  const Program program_;
  const std::vector<Schedule> schedules_;
  const std::unique_ptr<CommRanks> ranks_;
  std::vector<Worker> workers_;
};

TEST_P(ReshardingTest, ArrivesWithTheBytesThatWerePredicted) {
  EXPECT_OK(VerifyCollectives(program_, schedules_));
  for (const Schedule& schedule : schedules_) EXPECT_OK(VerifySchedule(schedule));
  for (int rank = 0; rank < case_.mesh.size(); ++rank) {
    Bind(rank);
    if (HasFatalFailure()) return;
  }
  for (Worker& worker : workers_) EXPECT_OK(worker.executor->Start());
  for (Worker& worker : workers_) EXPECT_OK(worker.executor->Wait());
  MoveBytes counted;
  int64_t left_source = 0;
  for (int rank = 0; rank < case_.mesh.size(); ++rank) {
    ExpectBox(rank);
    const CommBytes bytes = ranks_->communicator(rank).bytes();
    counted += {bytes.payload, bytes.wire};
    if (IsSource(rank)) left_source += bytes.wire;
  }
  EXPECT_EQ(counted, PredictBytes(program_, program_.train)[0]);
  if (mode_ == ExchangeMode::kDirect) {
    EXPECT_EQ(left_source, counted.wire) << "nobody else sends";
  } else {
    EXPECT_EQ(left_source, LowerBound()) << "the other mesh passes on what it has";
  }
}

// Those whose ranks are driven each by itself.
std::vector<const CommBackend*> Backends() {
  std::vector<const CommBackend*> backends = CommBackends();
  std::erase_if(backends, [](const CommBackend* backend) { return backend->walked_together(); });
  return backends;
}

std::string NameOf(const testing::TestParamInfo<Parameters>& info) {
  const auto& [backend, mode, index] = info.param;
  return fmt::format("{}_{}_{}", backend->name(), Name(mode), index);
}

INSTANTIATE_TEST_SUITE_P(Cases, ReshardingTest,
                         testing::Combine(testing::ValuesIn(Backends()),
                                          testing::Values(ExchangeMode::kDirect, ExchangeMode::kScatter,
                                                          ExchangeMode::kBroadcast),
                                          testing::Range<size_t>(0, ReshardingCases().size())),
                         NameOf);

}  // namespace
}  // namespace partita

// Of a real schedule: a wait that is taken away is refused by VerifySchedule, and the seeded delays show a wrong
// result. So both checks are known to be able to fail.
#include <cstring>

#include "graph/make_schedule.h"
#include "graph/prove/verify_schedule.h"
#include "ops/host/host_kernels.h"
#include "runtime/comm/local/local_communicator.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

// One rank of mini-inception with two compute streams: its branches run side by side.
struct OneRank {
  OneRank() : program(SmallProgram("mini-inception", "1x1")), kernels(MakeHostKernels({})) {
    ScheduleOptions options;
    options.compute_streams = 2;
    train = *MakeSchedule(program, program.graph(kTrainEntry), 0, *kernels, options);
    evaluate = *MakeSchedule(program, program.graph(kEvaluateEntry), 0, *kernels, options);
  }

  // All states after three steps.
  std::vector<char> Bits(const Schedule& schedule, std::optional<uint64_t> delay_seed) const {
    const auto world = *LocalWorld::Create(1);
    RankParts parts;
    parts.schedules = {&schedule, &evaluate};
    parts.program = &program;
    parts.kernels = kernels.get();
    parts.world = world.get();
    SessionOptions options = SmallOptions();
    options.tests.delay_seed = delay_seed;
    auto rank = *RankRuntime::Create(std::move(parts), options);
    RankRuntime* const runtime = rank.get();
    EXPECT_TRUE(RankRuntime::Capture(std::span(&runtime, 1), options).ok());
    for (int step = 0; step < 3; ++step) {
      const StepInputs batch = MakeBatch(4, step, DType::kF32);
      for (const Placement& input : schedule.inputs) {
        CopyToPart((input.name == "images" ? batch.images : batch.labels).bytes.data(), rank->PartOf(input));
      }
      EXPECT_TRUE(rank->executor(0).Start().ok());
      EXPECT_TRUE(rank->executor(0).Wait().ok());
    }
    std::vector<char> bits;
    for (const Placement& state : schedule.states) {
      const HeldTensor part = rank->PartOf(state);
      const char* const data = static_cast<const char*>(part.data);
      if (data != nullptr) bits.insert(bits.end(), data, data + part.tensor.bytes());
    }
    return bits;
  }

  const Program program;
  const std::unique_ptr<KernelLibrary> kernels;
  Schedule train, evaluate;
};

// Not under the thread sanitizer, which would stop at the race that this test is about.
#ifndef __SANITIZE_THREAD__
TEST(MissingWait, IsRefusedAndSomeSeedShowsAWrongResult) {
  const OneRank rank;
  ASSERT_TRUE(VerifySchedule(rank.train).ok());
  const std::vector<char> right = rank.Bits(rank.train, std::nullopt);
  for (uint64_t seed = 0; seed < 4; ++seed) ASSERT_EQ(rank.Bits(rank.train, seed), right) << "seed " << seed;
  int tried = 0;
  bool wrong = false;
  for (size_t l = 0; l < rank.train.launches.size() && !wrong; ++l) {
    const Launch& launch = rank.train.launches[l];
    for (size_t w = 0; w < launch.waits.size() && !wrong; ++w) {
      const int waited = rank.train.launches[launch.waits[w]].stream;
      if (launch.stream == rank.train.host_stream() || waited == rank.train.host_stream()) continue;
      Schedule broken = rank.train;
      broken.launches[l].waits.erase(broken.launches[l].waits.begin() + static_cast<int64_t>(w));
      EXPECT_FALSE(VerifySchedule(broken).ok()) << launch.name;
      for (uint64_t seed = 0; seed < 4 && !wrong; ++seed) wrong = rank.Bits(broken, seed) != right;
      ++tried;
    }
  }
  EXPECT_GT(tried, 0);
  EXPECT_TRUE(wrong) << "no seed shows any of " << tried << " missing waits";
}
#endif

}  // namespace
}  // namespace partita

// What is planned is what runs: the schedules of a backend that only plans are those of a session, whether ranks are
// threads or processes.
#include "runtime/api/backend/backend.h"

#include <fmt/ranges.h>

#include <map>
#include <set>
#include <thread>

#include "graph/ir/op_definition.h"
#include "runtime/admission/socket.h"
#include "runtime/api/job/process_job.h"
#include "runtime/base/status.h"
#include "runtime/device/host/cores.h"
#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

struct Setting {
  std::string model, strategy;
  SessionOptions options;
};

std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  return out << setting.model << " " << setting.strategy << " streams " << setting.options.compute_streams;
}

// Everything that a rank would do, and where.
std::string Text(const Schedule& schedule) {
  const MemoryUse& memory = schedule.memory;
  std::string text =
      fmt::format("rank {} streams {} parameters {} states {} inputs {} activations {} workspace {} total {}\n",
                  schedule.rank, schedule.streams, memory.parameters, memory.states, memory.inputs, memory.activations,
                  memory.workspace, memory.total);
  for (const Launch& launch : schedule.launches) {
    text += fmt::format("{} kind {} stream {} waits {}", launch.name, launch.work.index(), launch.stream,
                        fmt::join(launch.waits, ","));
    if (const auto* const kernel = std::get_if<KernelLaunch>(&launch.work)) {
      text += fmt::format(" {} of {} workspace {}", kernel->choice.kernel, kernel->node.members,
                          kernel->choice.workspace_bytes);
    }
    for (const Access& access : launch.accesses) {
      text += fmt::format(" {}{}+{}", access.write ? "w" : "r", access.range.offset, access.range.bytes);
    }
    text += "\n";
  }
  return text;
}

// Schedules by entry point and rank.
using Texts = std::map<std::pair<std::string, int>, std::string>;

// Of all entry points and ranks.
Texts Planned(const Setting& setting, Spread spread) {
  const Program program = SmallProgram(setting.model, setting.strategy);
  const auto backend = Backend::OpenToPlan(program.ranks(), spread, setting.options);
  EXPECT_TRUE(backend.ok()) << backend.status();
  Texts texts;
  for (const EntryPoint& entry : program.entries) {
    const auto schedules = (*backend)->MakeSchedules(program, entry.graph);
    EXPECT_TRUE(schedules.ok()) << schedules.status();
    for (const Schedule& schedule : *schedules) texts[{entry.name, schedule.rank}] = Text(schedule);
  }
  return texts;
}

// Of the ranks of this process.
absl::StatusOr<Texts> Ran(const Setting& setting, std::shared_ptr<Job> job) {
  SessionOptions options = setting.options;
  options.job = std::move(job);
  ASSIGN_OR_RETURN(const auto session, Session::Start(SmallProgram(setting.model, setting.strategy), options));
  Texts texts;
  for (const EntryPoint& entry : session->program().entries) {
    for (const int rank : session->local_ranks()) {
      texts[{entry.name, rank}] = Text(session->schedule(entry.name, rank));
    }
  }
  return texts;
}

// Processes, played by threads.
std::vector<absl::StatusOr<Texts>> RanApart(const Setting& setting) {
  const int ranks = SmallProgram(setting.model, setting.strategy).ranks();
  Endpoint rendezvous{"127.0.0.1"};
  const Socket reserved = *ReservePort(rendezvous);
  const auto run = [&](int rank) -> absl::StatusOr<Texts> {
    ProcessJobOptions place;
    place.rank = rank;
    place.ranks = ranks;
    place.port = rendezvous.port;
    place.token = "backend";
    ASSIGN_OR_RETURN(std::shared_ptr<Job> job, ProcessJob::Start(place));
    return Ran(setting, std::move(job));
  };
  std::vector<absl::StatusOr<Texts>> texts(ranks, absl::UnknownError("did not run"));
  std::vector<std::thread> processes;
  for (int rank = 0; rank < ranks; ++rank) processes.emplace_back([&, rank] { texts[rank] = run(rank); });
  for (std::thread& process : processes) process.join();
  return texts;
}

SessionOptions EveryOption() {
  SessionOptions options = SmallOptions();
  options.compute_streams = 2;
  options.group_updates = true;
  options.overlap_halo = OverlapHalo::kOn;
  options.tests.guard_bytes = 64;
  options.tests.reuse_memory = false;
  options.tests.reference_kernels = true;
  return options;
}

class Plans : public testing::TestWithParam<Setting> {};

TEST_P(Plans, AreWhatThreadsDo) {
  const auto ran = Ran(GetParam(), nullptr);
  ASSERT_TRUE(ran.ok()) << ran.status();
  EXPECT_EQ(Planned(GetParam(), Spread::kThreads), *ran);
}

TEST_P(Plans, AreWhatProcessesDo) {
  Texts ran_apart;
  for (const auto& ran : RanApart(GetParam())) {
    ASSERT_TRUE(ran.ok()) << ran.status();
    ran_apart.insert(ran->begin(), ran->end());
  }
  EXPECT_EQ(Planned(GetParam(), Spread::kProcesses), ran_apart);
}

INSTANTIATE_TEST_SUITE_P(Splits, Plans,
                         testing::Values(Setting{"mlp", "2x2", SmallOptions()},
                                         Setting{"mlp", "placement", EveryOption()},
                                         Setting{"lenet5", "mixed", SmallOptions()},
                                         Setting{"lenet5", "h2w2", SmallOptions()},
                                         Setting{"lenet5", "h2w2", EveryOption()}));

// Processes pack what travels from one to the other.
TEST(Backend, SpreadDecidesHowBoxesAreExchanged) {
  const Setting rows{"lenet5", "h2w2", SmallOptions()};
  EXPECT_NE(Planned(rows, Spread::kThreads), Planned(rows, Spread::kProcesses));
  for (const Spread spread : {Spread::kThreads, Spread::kProcesses}) {
    const auto backend = Backend::OpenToPlan(4, spread, SmallOptions());
    ASSERT_TRUE(backend.ok()) << backend.status();
    EXPECT_EQ((*backend)->schedule_options().exchange_boxes, spread == Spread::kThreads);
    EXPECT_TRUE((*backend)->local_ranks().empty());
    EXPECT_EQ((*backend)->gpu(), nullptr);
  }
}

TEST(Backend, SharesTheCoresAmongTheRanks) {
  SessionOptions options;
  const int cores = UsableCores();
  EXPECT_EQ((*Backend::OpenToPlan(1, Spread::kThreads, options))->threads_per_rank(), cores);
  EXPECT_EQ((*Backend::OpenToPlan(4096, Spread::kProcesses, options))->threads_per_rank(), 1);
  options.threads_per_rank = 3;
  EXPECT_EQ((*Backend::OpenToPlan(2, Spread::kThreads, options))->threads_per_rank(), 3);
}

TEST(Backend, TheHostHasOneComputeStreamUnlessMoreAreAskedFor) {
  SessionOptions options = SmallOptions();
  EXPECT_EQ((*Backend::OpenToPlan(1, Spread::kThreads, options))->schedule_options().compute_streams, 1);
  options.compute_streams = 3;
  EXPECT_EQ((*Backend::OpenToPlan(1, Spread::kThreads, options))->schedule_options().compute_streams, 3);
}

// Never for the host instead: where there is no GPU one is described, where this program has no CUDA it says so.
TEST(Backend, PlansForAGpuThatNeedNotBeHere) {
  SessionOptions options = SmallOptions();
  options.device.gpu = 0;
  options.speed = MachineSpeed{.hiding_flops = 7};
  const auto backend = Backend::OpenToPlan(2, Spread::kThreads, options);
  if (!backend.ok()) {
    EXPECT_EQ(backend.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_NE(backend.status().message().find("built without CUDA"), std::string::npos) << backend.status();
    return;
  }
  EXPECT_NE((*backend)->device_name(), "host");
  EXPECT_EQ((*backend)->gpu() == nullptr, !(*backend)->gpu_missing().ok());
  EXPECT_TRUE((*backend)->schedule_options().group_updates);
  EXPECT_EQ((*backend)->schedule_options().compute_streams, 4);
  EXPECT_EQ((*backend)->schedule_options().speed->hiding_flops, 7);
  const Program program = SmallProgram("lenet5", "2x1");
  const auto schedules = (*backend)->MakeSchedules(program, program.graph(kTrainEntry));
  ASSERT_TRUE(schedules.ok()) << schedules.status();
  const std::set<std::string> families = {"cudnn", "cublaslt", "own", "reference"};
  for (const Launch& launch : schedules->front().launches) {
    const auto* const kernel = std::get_if<KernelLaunch>(&launch.work);
    if (kernel == nullptr) continue;
    const std::string& name = kernel->choice.kernel;
    EXPECT_EQ(families.count(name.substr(0, name.find('_'))), 1u) << name;
    const bool estimated = name.starts_with("cublaslt") && (*backend)->gpu() == nullptr;
    EXPECT_EQ(kernel->choice.remark.empty(), !estimated && !name.starts_with("reference")) << name;
  }
  EXPECT_EQ(Backend::OpenToPlan(17, Spread::kThreads, options).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Backend::OpenToPlan(17, Spread::kProcesses, options).ok());
}

}  // namespace
}  // namespace partita

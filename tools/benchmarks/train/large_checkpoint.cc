#include "tools/benchmarks/train/large_checkpoint.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ops/registry.h"
#include "partitioner/data_model_strategy.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "runtime/train/sharded/load_checkpoint.h"
#include "runtime/train/sharded/write_checkpoint.h"
#include "tools/benchmarks/process_memory.h"
#include "tools/benchmarks/train/training_loop.h"
#include "tools/models/models.h"

namespace partita {
namespace {

namespace fs = std::filesystem;

constexpr char kShard[] = "rank-00000.safetensors";

// Of each parameter Adam keeps two slots beside it.
constexpr int64_t kBytesOfParameter = 3 * sizeof(float);

constexpr double kAllowed = 1.5;  // of the states

absl::StatusOr<Model> ModelOfWidth(double width) {
  ASSIGN_OR_RETURN(Model model, MakeModel("resnet-50", {.batch = 2, .image_size = 32, .width = width}, Ops()));
  model.optimizer = Optimizer();
  model.optimizer.name = "adam";
  return model;
}

// Parameters grow by the square of the width, or a little less.
absl::StatusOr<Model> ModelOf(int64_t state_bytes) {
  for (double width = 0.1;; width *= 1.001) {
    ASSIGN_OR_RETURN(Model model, ModelOfWidth(width));
    const int64_t bytes = kBytesOfParameter * ParameterCount(model.graph);
    if (bytes >= state_bytes) return model;
    width *= std::sqrt(static_cast<double>(state_bytes) / static_cast<double>(bytes));
  }
}

absl::StatusOr<std::unique_ptr<TrainingLoop>> Open(const LargeCheckpointOptions& options) {
  ASSIGN_OR_RETURN(Model model, ModelOf(options.state_bytes));
  ASSIGN_OR_RETURN(const Strategy strategy, DataModelStrategy(model.graph, 1, 1));
  SessionOptions session;
  session.threads_per_rank = options.threads;
  return TrainingLoop::Create(std::move(model), strategy, {}, session);
}

// What a process of its own found, sent through a pipe: what one has given back its allocator may keep, and another one
// begins with nothing.
struct Found {
  struct Phase {
    double seconds = 0;
    int64_t peak_bytes = 0;
  };
  int64_t state_bytes = 0, planned_bytes = 0;
  Phase phases[2];
  int code = 0;  // of an error, with its message
  char message[500] = {};
};

absl::StatusOr<Found::Phase> Take(const std::function<absl::Status()>& run) {
  ForgetPeak();
  const auto start = std::chrono::steady_clock::now();
  RETURN_IF_ERROR(run());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return Found::Phase{seconds, MemoryOf(::getpid()).most};
}

// So that what is saved is not what a session begins with, it trains one step.
absl::Status TrainAndSave(const LargeCheckpointOptions& options, const std::string& folder, Found& found) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainingLoop> loop, Open(options));
  found.planned_bytes = loop->session().PlannedMemory(0).total;
  ASSIGN_OR_RETURN(const OwnStates states, OwnStates::Collect(loop->session(), folder));
  found.state_bytes = states.bytes();
  ASSIGN_OR_RETURN(found.phases[0], Take([&] { return loop->Run(1).status(); }));
  const auto save = [&] { return WriteCheckpoint(loop->session(), {.step = 1}, folder, SystemDisk()); };
  ASSIGN_OR_RETURN(found.phases[1], Take(save));
  return absl::OkStatus();
}

absl::Status LoadAndSave(const LargeCheckpointOptions& options, const std::string& saved, const std::string& again,
                         Found& found) {
  ASSIGN_OR_RETURN(const std::unique_ptr<TrainingLoop> loop, Open(options));
  const auto load = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const SavedCheckpoint checkpoint, SavedCheckpoint::Open(StepFolder(saved, 1)));
    RETURN_IF_ERROR(CheckStates(checkpoint, loop->session().program()));
    return LoadCheckpoint(checkpoint, loop->session());
  };
  ASSIGN_OR_RETURN(found.phases[0], Take(load));
  return WriteCheckpoint(loop->session(), {.step = 1}, again, SystemDisk());
}

// `run` in a child, made while this process has a single thread.
absl::StatusOr<Found> InChild(const std::function<absl::Status(Found&)>& run) {
  int ends[2];
  if (::pipe(ends) != 0) return ResourceExhausted("no pipe to another process");
  const pid_t child = ::fork();
  if (child == 0) {
    Found found;
    const absl::Status status = run(found);
    found.code = static_cast<int>(status.code());
    fmt::format_to_n(found.message, sizeof(found.message) - 1, "{}", std::string(status.message()));
    ::_exit(::write(ends[1], &found, sizeof(found)) == sizeof(found) ? 0 : 1);
  }
  ::close(ends[1]);
  Found found;
  const bool told = child > 0 && ::read(ends[0], &found, sizeof(found)) == sizeof(found);
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  if (!told) return ResourceExhausted("the process that was to save or load has ended; the system may have ended it");
  if (found.code != 0) return absl::Status(static_cast<absl::StatusCode>(found.code), found.message);
  return found;
}

bool SameBytes(const std::string& a, const std::string& b) {
  std::ifstream first(a, std::ios::binary), second(b, std::ios::binary);
  std::vector<char> of_first(1 << 20), of_second(of_first.size());
  while (first && second) {
    first.read(of_first.data(), static_cast<std::streamsize>(of_first.size()));
    second.read(of_second.data(), static_cast<std::streamsize>(of_second.size()));
    if (first.gcount() != second.gcount() || of_first != of_second) return false;
  }
  return first.eof() && second.eof();
}

absl::Status Measure(const LargeCheckpointOptions& options, const std::string& folder, LargeCheckpoint& measured) {
  const std::string saved = folder + "/saved", again = folder + "/again";
  for (const std::string& made : {saved, again}) RETURN_IF_ERROR(SystemDisk().MakeFolder(made));
  ASSIGN_OR_RETURN(const Found first, InChild([&](Found& found) { return TrainAndSave(options, saved, found); }));
  ASSIGN_OR_RETURN(const Found second,
                   InChild([&](Found& found) { return LoadAndSave(options, saved, again, found); }));
  measured.state_bytes = first.state_bytes;
  measured.planned_bytes = first.planned_bytes;
  measured.phases = {{"train", first.phases[0].seconds, first.phases[0].peak_bytes},
                     {"save", first.phases[1].seconds, first.phases[1].peak_bytes},
                     {"load", second.phases[0].seconds, second.phases[0].peak_bytes}};
  measured.same = SameBytes(StepFolder(saved, 1) + "/" + kShard, StepFolder(again, 1) + "/" + kShard);
  return absl::OkStatus();
}

}  // namespace

bool LargeCheckpoint::fits() const {
  return std::ranges::all_of(phases, [&](const Phase& phase) {
    return static_cast<double>(phase.peak_bytes) <= kAllowed * static_cast<double>(state_bytes);
  });
}

absl::StatusOr<LargeCheckpoint> MeasureLargeCheckpoint(const LargeCheckpointOptions& options) {
  std::string folder = options.folder + "/large.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return InvalidArgument("{}: cannot be made", folder);
  LargeCheckpoint measured;
  const absl::Status status = Measure(options, folder, measured);
  std::error_code error;
  fs::remove_all(folder, error);
  RETURN_IF_ERROR(status);
  return measured;
}

std::string ToText(const LargeCheckpoint& measured) {
  const auto gib = [](int64_t bytes) { return static_cast<double>(bytes) / (int64_t{1} << 30); };
  std::string text = fmt::format("states {:.3f} GiB, planned for the step {:.3f} GiB\n", gib(measured.state_bytes),
                                 gib(measured.planned_bytes));
  text += fmt::format("{:<6} {:>8} {:>9} {:>13}\n", "what", "seconds", "peak GiB", "beside states");
  for (const LargeCheckpoint::Phase& phase : measured.phases) {
    text += fmt::format("{:<6} {:>8.1f} {:>9.3f} {:>13.3f}\n", phase.what, phase.seconds, gib(phase.peak_bytes),
                        static_cast<double>(phase.peak_bytes) / static_cast<double>(measured.state_bytes));
  }
  return text + fmt::format("what was loaded is {} what was saved; {} {} times the states was taken\n",
                            measured.same ? "to the bit" : "NOT", measured.fits() ? "no more than" : "MORE THAN",
                            kAllowed);
}

std::string ToJson(const LargeCheckpoint& measured) {
  nlohmann::json json = {{"state_bytes", measured.state_bytes},
                         {"planned_bytes", measured.planned_bytes},
                         {"same", measured.same},
                         {"fits", measured.fits()},
                         {"phases", nlohmann::json::array()}};
  for (const LargeCheckpoint::Phase& phase : measured.phases) {
    json["phases"].push_back({{"what", phase.what}, {"seconds", phase.seconds}, {"peak_bytes", phase.peak_bytes}});
  }
  return json.dump(2) + "\n";
}

}  // namespace partita

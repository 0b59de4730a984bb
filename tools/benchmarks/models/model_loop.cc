#include "tools/benchmarks/models/model_loop.h"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "run/host/version.h"
#include "run/plan/planned_process.h"
#include "runtime/api/communication_meter.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/train/training_loop.h"
#include "tools/commands/oracle/graded_training.h"

namespace partita {
namespace {

constexpr std::string_view kWarm = "warm ";

class ModelLoop {
 public:
  static absl::StatusOr<ModelLoop> Create(const ModelCase& measured, const std::optional<Machine>& machine) {
    ASSIGN_OR_RETURN(Model model, MakeMeasuredModel(measured.sizes));
    // Random samples teach nothing: at its own rate VGG-16 ends with an infinite loss.
    model.learning_rate = {.base = 0, .steps = 1};
    ASSIGN_OR_RETURN(const Strategy strategy, StrategyOf(measured, model.graph));
    ModelLoop loop;
    const int ranks = strategy.mesh.size();
    const ProgramOptions options = ProgramOptionsOf(measured, model.graph, ranks);
    ASSIGN_OR_RETURN(loop.training_,
                     TrainingLoop::Create(std::move(model), strategy, options, SessionOptionsOf(measured, ranks)));
    loop.model_ = measured.sizes.name;
    if (machine) {
      ASSIGN_OR_RETURN(loop.graded_, GradedTraining::Begin(loop.training_->session(), *machine));
    }
    return loop;
  }

  absl::StatusOr<std::string> Answer(const std::string& line) {
    if (line == "facts") return Facts();
    const bool warm = line.starts_with(kWarm);
    const std::string number = warm ? line.substr(kWarm.size()) : line;
    const int64_t steps = std::strtoll(number.c_str(), nullptr, 10);
    if (steps < 1) return InvalidArgument("'{}' is no number of steps", line);
    return warm ? Warm(steps) : Count(steps);
  }

 private:
  absl::StatusOr<std::string> Warm(int64_t steps) {
    std::optional<CommunicationMeter> meter;
    ASSIGN_OR_RETURN(const double seconds, Run(steps, meter, [] {}));
    return fmt::format("{}", seconds);
  }

  absl::StatusOr<std::string> Count(int64_t steps) {
    ASSIGN_OR_RETURN(const double seconds, Run(steps, meter_, [this] {
                       if (graded_) graded_->AddStep();
                     }));
    seconds_ += seconds;
    steps_ += steps;
    return fmt::format("{}", seconds);
  }

  // Seconds. A rank that is alone has no communication.
  absl::StatusOr<double> Run(int64_t steps, std::optional<CommunicationMeter>& meter,
                             const std::function<void()>& on_step) {
    Session& session = training_->session();
    if (session.ranks() > 1 && !meter) meter.emplace(session);
    ASSIGN_OR_RETURN(const TrainingResult result, training_->Run(steps, [&] {
      if (meter) meter->AddStep();
      on_step();
    }));
    return result.seconds;
  }

  absl::StatusOr<std::string> Facts() const {
    const Session& session = training_->session();
    int64_t planned = 0, used = 0;
    for (int rank = 0; rank < session.ranks(); ++rank) {
      planned += session.PlannedMemory(rank).total;
      used += session.UsedMemory(rank);
    }
    double busy = 0, exposed = 0;
    const std::vector<RankCommunication> communication = meter_ ? meter_->Local() : std::vector<RankCommunication>();
    for (const RankCommunication& rank : communication) {
      busy += rank.busy / static_cast<double>(communication.size());
      exposed += rank.exposed / static_cast<double>(communication.size());
    }
    std::string graded;
    if (graded_) {
      ASSIGN_OR_RETURN(const GradedRun run, graded_->Run(model_, steps_));
      if (!run.terms.empty()) graded = ToLine(run);
    }
    const std::string gpu = session.gpu_name();
    const nlohmann::json facts = {{"device", gpu.empty() ? "host" : gpu},
                                  {"mesh", session.program().meshes[0].ToString()},
                                  {"ranks", session.ranks()},
                                  {"threads_per_rank", session.threads_per_rank()},
                                  {"planned_bytes", planned},
                                  {"used_bytes", used},
                                  {"planned_process_bytes", PlannedProcessBytes()},
                                  {"step_seconds", steps_ > 0 ? seconds_ / static_cast<double>(steps_) : 0},
                                  {"communication_seconds", busy},
                                  {"exposed_seconds", exposed},
                                  {"graded", graded}};
    return facts.dump();
  }

  int64_t PlannedProcessBytes() const {
    const Session& session = training_->session();
    if (!session.gpu_name().empty()) return 0;
    int64_t arenas = 0, launches = 0;
    for (const int rank : session.local_ranks()) {
      arenas += session.PlannedMemory(rank).total;
      launches += static_cast<int64_t>(session.schedule(kTrainEntry, rank).launches.size());
    }
    return training_->ready_bytes() + PlanProcess(session.program(), session.local_ranks(), launches, arenas).total();
  }

  std::string model_;
  std::unique_ptr<TrainingLoop> training_;
  std::optional<CommunicationMeter> meter_;  // of the steps that count
  std::optional<GradedTraining> graded_;     // likewise
  double seconds_ = 0;                       // that they took
  int64_t steps_ = 0;
};

}  // namespace

std::vector<std::string> LoopFlags(const ModelCase& measured) {
  std::vector<std::string> flags = {"--model=" + measured.sizes.name, fmt::format("--batch={}", measured.sizes.batch),
                                    "--precision=" + measured.precision,
                                    std::string("--device=") + (measured.gpu ? "cuda" : "host"),
                                    fmt::format("--threads={}", measured.threads)};
  if (measured.sizes.image_size > 0) flags.push_back(fmt::format("--image-size={}", measured.sizes.image_size));
  for (const std::string& size : GivenSizes(measured.sizes)) flags.push_back("--" + size);
  if (measured.split.strategy.empty()) {
    flags.push_back(fmt::format("--dp={}", measured.split.data));
    flags.push_back(fmt::format("--mp={}", measured.split.model));
  } else {
    flags.push_back("--strategy=" + measured.split.strategy);
  }
  return flags;
}

absl::Status RunModelLoop(const ModelCase& measured, const std::optional<Machine>& machine, std::istream& in,
                          std::ostream& out) {
  out << "partita " << kToolVersion << std::endl;
  ASSIGN_OR_RETURN(ModelLoop loop, ModelLoop::Create(measured, machine));
  out << "ready" << std::endl;
  for (std::string line; std::getline(in, line);) {
    ASSIGN_OR_RETURN(const std::string answer, loop.Answer(line));
    out << answer << std::endl;
  }
  return absl::OkStatus();
}

absl::StatusOr<LoopFacts> ParseLoopFacts(const std::string& json) {
  const nlohmann::json facts = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!facts.is_object()) return Internal("the session answered '{}'; facts are needed", json);
  LoopFacts result;
  result.device = facts.value("device", "");
  result.mesh = facts.value("mesh", "");
  result.ranks = facts.value("ranks", int64_t{1});
  result.threads_per_rank = facts.value("threads_per_rank", int64_t{1});
  result.planned_bytes = facts.value("planned_bytes", int64_t{0});
  result.used_bytes = facts.value("used_bytes", int64_t{0});
  result.planned_process_bytes = facts.value("planned_process_bytes", int64_t{0});
  result.step_seconds = facts.value("step_seconds", 0.0);
  result.communication_seconds = facts.value("communication_seconds", 0.0);
  result.exposed_seconds = facts.value("exposed_seconds", 0.0);
  ASSIGN_OR_RETURN(const std::vector<GradedRun> graded,
                   ParseHistory(facts.value("graded", ""), "the session's answer"));
  if (!graded.empty()) result.graded = graded.front();
  return result;
}

}  // namespace partita

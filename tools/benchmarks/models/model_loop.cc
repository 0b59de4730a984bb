#include "tools/benchmarks/models/model_loop.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "runtime/api/communication_meter.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/train/training_loop.h"
#include "tools/program/version/version.h"

namespace partita {
namespace {

constexpr std::string_view kRecord = "record ";

class ModelLoop {
 public:
  static absl::StatusOr<ModelLoop> Create(const ModelCase& measured) {
    ASSIGN_OR_RETURN(Model model, MakeMeasuredModel(measured.sizes));
    ASSIGN_OR_RETURN(const Strategy strategy, StrategyOf(measured, model.graph));
    ModelLoop loop;
    ASSIGN_OR_RETURN(loop.training_, TrainingLoop::Create(std::move(model), strategy, ProgramOptionsOf(measured),
                                                          SessionOptionsOf(measured, strategy.mesh.size())));
    return loop;
  }

  absl::StatusOr<std::string> Answer(const std::string& line) {
    if (line == "facts") return Facts();
    const bool record = line.starts_with(kRecord);
    const std::string number = record ? line.substr(kRecord.size()) : line;
    const int64_t steps = std::strtoll(number.c_str(), nullptr, 10);
    if (steps < 1) return InvalidArgument("'{}' is no number of steps", line);
    return record ? Record(steps) : Run(steps);
  }

 private:
  absl::StatusOr<std::string> Run(int64_t steps) {
    ASSIGN_OR_RETURN(const TrainingResult result, training_->Run(steps));
    return fmt::format("{}", result.seconds);
  }

  // Nothing is recorded of steps that count.
  absl::StatusOr<std::string> Record(int64_t steps) {
    Session& session = training_->session();
    CommunicationMeter meter(session);
    ASSIGN_OR_RETURN(const TrainingResult result, training_->Run(steps, [&meter] { meter.AddStep(); }));
    session.RecordTimeline(false);
    communication_ = meter.Local();
    return fmt::format("{}", result.seconds);
  }

  std::string Facts() const {
    const Session& session = training_->session();
    int64_t planned = 0, used = 0;
    for (int rank = 0; rank < session.ranks(); ++rank) {
      planned += session.PlannedMemory(rank).total;
      used += session.UsedMemory(rank);
    }
    double busy = 0, exposed = 0;
    for (const RankCommunication& rank : communication_) {
      busy += rank.busy / static_cast<double>(communication_.size());
      exposed += rank.exposed / static_cast<double>(communication_.size());
    }
    const std::string gpu = session.gpu_name();
    const nlohmann::json facts = {{"device", gpu.empty() ? "host" : gpu},
                                  {"mesh", session.program().meshes[0].ToString()},
                                  {"ranks", session.ranks()},
                                  {"threads_per_rank", session.threads_per_rank()},
                                  {"planned_bytes", planned},
                                  {"used_bytes", used},
                                  {"communication_seconds", busy},
                                  {"exposed_seconds", exposed}};
    return facts.dump();
  }

  std::unique_ptr<TrainingLoop> training_;
  std::vector<RankCommunication> communication_;
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

absl::Status RunModelLoop(const ModelCase& measured, std::istream& in, std::ostream& out) {
  out << "partita " << kToolVersion << std::endl;
  ASSIGN_OR_RETURN(ModelLoop loop, ModelLoop::Create(measured));
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
  result.communication_seconds = facts.value("communication_seconds", 0.0);
  result.exposed_seconds = facts.value("exposed_seconds", 0.0);
  return result;
}

}  // namespace partita

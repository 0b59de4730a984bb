#include "tools/benchmarks/models/agreement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "graph/proto_io/proto_io.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/timed_process.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr int64_t kMostSamples = 4;  // batches are made small: one step of each is enough
constexpr double kMostOfLoss = 1e-5, kMostOfGradient = 1e-2, kTimesPeer = 2;

// A file that is gone at the end.
class GraphFile {
 public:
  GraphFile()
      : path_((std::filesystem::temp_directory_path() / fmt::format("partita-models-{}.pb", getpid())).string()) {}
  GraphFile(const GraphFile&) = delete;
  GraphFile& operator=(const GraphFile&) = delete;
  ~GraphFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

absl::StatusOr<Agreement> Parse(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Internal("tools/peer/agree.py wrote '{}'; JSON is needed", text);
  Agreement agreement;
  agreement.loss_difference = json.value("loss_difference", 1.0);
  agreement.gradients = json.value("gradients", int64_t{0});
  agreement.gradient_error = json.value("gradient_error", 1.0);
  agreement.peer_error = json.value("peer_error", 0.0);
  agreement.largest = json.value("largest", "");
  return agreement;
}

}  // namespace

absl::StatusOr<Agreement> CheckAgreement(const ModelCase& measured, const AgreementPrograms& programs) {
  MeasuredModel sizes = measured.sizes;
  sizes.batch = std::min(sizes.batch, kMostSamples);
  sizes.dropout = false;
  const GraphFile graph;
  ASSIGN_OR_RETURN(const Model model, MakeMeasuredModel(sizes));
  RETURN_IF_ERROR(SaveModel(model, graph.path()));
  std::vector<std::string> command = programs.script;
  command.insert(command.end(), {"--model=" + sizes.name, fmt::format("--batch={}", sizes.batch),
                                 fmt::format("--image-size={}", sizes.image_size),
                                 fmt::format("--threads={}", measured.threads), programs.step_values, graph.path()});
  for (const std::string& size : GivenSizes(sizes)) command.push_back("--size=" + size);
  ASSIGN_OR_RETURN(const std::unique_ptr<TimedProcess> process, TimedProcess::Start(command));
  ASSIGN_OR_RETURN(const std::string text, process->Ask("step"));
  ASSIGN_OR_RETURN(Agreement agreement, Parse(text));
  agreement.batch = sizes.batch;
  const double allowed = std::max(kMostOfGradient, kTimesPeer * agreement.peer_error);
  if (agreement.loss_difference <= kMostOfLoss && agreement.gradient_error <= allowed) return agreement;
  return VerificationFailure(
      "{}: one step of the peer differs: the loss by {:.1e} (allowed {:.0e}), the gradient of '{}' by {:.1e} (allowed "
      "{:.1e}); nothing was measured",
      sizes.name, agreement.loss_difference, kMostOfLoss, agreement.largest, agreement.gradient_error, allowed);
}

}  // namespace partita

#include "tools/benchmarks/models/models_command.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "run/plan/machine.h"
#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/built_files.h"
#include "tools/benchmarks/models/model_benchmark.h"
#include "tools/benchmarks/models/model_sizes.h"
#include "tools/commands/oracle/graded_training.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr char kPeerScript[] = "tools/peer/train.py";
constexpr char kAgreementScript[] = "tools/peer/agree.py";
constexpr char kStepValues[] = "tools/peer/step_values";
constexpr char kThisProgram[] = "/proc/self/exe";

absl::StatusOr<std::vector<MeasuredModel>> ModelsToMeasure(const BenchmarkSpec& spec) {
  std::vector<MeasuredModel> models;
  for (MeasuredModel model : MeasuredModels()) {
    if (spec.has_model() ? model.name != spec.model() : model.only_alone) continue;
    RETURN_IF_ERROR(SetSizes(spec, model));
    const bool twice = !models.empty() && models.back().name == model.name && models.back().batch == model.batch;
    if (!twice) models.push_back(model);
  }
  return models;
}

absl::StatusOr<std::vector<std::string>> PrecisionsOf(const BenchmarkSpec& spec) {
  std::vector<std::string> known = BenchmarkPrecisions(spec.device() == "cuda");
  if (!spec.has_precision()) return known;
  if (std::ranges::count(known, spec.precision()) > 0) return std::vector{spec.precision()};
  return FlagError("flag --precision is {}; --device={} has {}", spec.precision(), spec.device(),
                   fmt::join(known, ", "));
}

absl::StatusOr<ModelSplit> SplitOf(const BenchmarkSpec& spec) {
  ModelSplit split;
  split.strategy = spec.strategy();
  if (spec.has_strategy() && (spec.has_dp() || spec.has_mp())) {
    return FlagError("flags --strategy and --{} are given; one of them is allowed", spec.has_dp() ? "dp" : "mp");
  }
  if (spec.has_dp()) split.data = static_cast<int>(spec.dp());
  if (spec.has_mp()) split.model = static_cast<int>(spec.mp());
  return split;
}

absl::Status AddPeer(const BenchmarkSpec& spec, ModelBenchmarkOptions& options) {
  if (spec.peer() != "pytorch") return absl::OkStatus();
  options.peer = "pytorch";
  ASSIGN_OR_RETURN(const std::string script, BuiltFile(kPeerScript));
  const std::string python = PeerPython(spec.peer_python());
  options.peer_command = {python, script};
  if (!spec.skip_agreement()) {
    ASSIGN_OR_RETURN(const std::string agreement, BuiltFile(kAgreementScript));
    options.agreement.script = {python, agreement};
    ASSIGN_OR_RETURN(options.agreement.step_values, BuiltFile(kStepValues));
  }
  absl::StatusOr<std::vector<PeerForm>> forms = ReadPeerForms(spec.peer_forms(), options.gpu);
  if (!forms.ok()) return FlagError("flag --peer-forms: {}", std::string(forms.status().message()));
  options.peer_forms = *std::move(forms);
  return absl::OkStatus();
}

absl::Status WriteReport(const std::string& path, const std::vector<ModelRow>& rows) {
  return WriteFileAtomically(path, path.ends_with(".html") ? ToHtml(rows) : ToJson(rows));
}

}  // namespace

absl::StatusOr<int> RunModels(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  ModelBenchmarkOptions options;
  ASSIGN_OR_RETURN(options.models, ModelsToMeasure(spec));
  options.gpu = spec.device() == "cuda";
  ASSIGN_OR_RETURN(options.precisions, PrecisionsOf(spec));
  ASSIGN_OR_RETURN(options.split, SplitOf(spec));
  options.threads = static_cast<int>(spec.threads());
  options.steps = spec.steps();
  options.rounds = spec.rounds();
  options.loop_command = {kThisProgram, "loop"};
  RETURN_IF_ERROR(ReadMachine(MachineFor(spec), /*processes=*/false).status());
  if (spec.has_cluster()) options.loop_command.push_back("--cluster=" + spec.cluster());
  if (spec.has_profile()) options.loop_command.push_back("--profile=" + spec.profile());
  RETURN_IF_ERROR(AddPeer(spec, options));
  ASSIGN_OR_RETURN(const std::vector<ModelRow> rows, BenchmarkModels(options));
  for (const ModelRow& row : rows) RETURN_IF_ERROR(KeepRuns({row.session.graded}, spec.history()));
  if (spec.has_report()) RETURN_IF_ERROR(WriteReport(spec.report(), rows));
  context.out << (spec.format() == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

absl::StatusOr<int> RunLoop(const ContextOf<BenchmarkSpec>& context) {
  const BenchmarkSpec& spec = context.spec;
  ASSIGN_OR_RETURN(const std::vector<MeasuredModel> models, ModelsToMeasure(spec));
  ModelCase measured;
  measured.sizes = models[0];
  ASSIGN_OR_RETURN(const std::vector<std::string> precisions, PrecisionsOf(spec));
  measured.precision = precisions[0];
  ASSIGN_OR_RETURN(measured.split, SplitOf(spec));
  measured.gpu = spec.device() == "cuda";
  measured.threads = static_cast<int>(spec.threads());
  ASSIGN_OR_RETURN(const std::optional<Machine> machine, ReadMachine(MachineFor(spec), /*processes=*/false));
  RETURN_IF_ERROR(RunModelLoop(measured, machine, std::cin, context.out));
  return kExitFinished;
}

}  // namespace partita

#include "tools/benchmarks/models/models_command.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "runtime/base/files.h"
#include "runtime/base/status.h"
#include "tools/benchmarks/built_files.h"
#include "tools/benchmarks/models/model_benchmark.h"
#include "tools/benchmarks/models/model_sizes.h"
#include "tools/commands/input/machine.h"
#include "tools/commands/oracle/graded_training.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

constexpr char kPeerScript[] = "tools/peer/train.py";
constexpr char kAgreementScript[] = "tools/peer/agree.py";
constexpr char kStepValues[] = "tools/peer/step_values";
constexpr char kThisProgram[] = "/proc/self/exe";

// What says by what steps are predicted.
constexpr const char* kMachineFlags[] = {"cluster", "profile"};

absl::StatusOr<std::vector<MeasuredModel>> ModelsToMeasure(const Flags& flags) {
  std::vector<MeasuredModel> models;
  for (MeasuredModel model : MeasuredModels()) {
    if (flags.Given("model") ? model.name != flags.Text("model") : model.only_alone) continue;
    RETURN_IF_ERROR(SetSizes(flags, model));
    const bool twice = !models.empty() && models.back().name == model.name && models.back().batch == model.batch;
    if (!twice) models.push_back(model);
  }
  return models;
}

absl::StatusOr<std::vector<std::string>> PrecisionsOf(const Flags& flags) {
  std::vector<std::string> known = BenchmarkPrecisions(flags.Text("device") == "cuda");
  if (!flags.IsSet("precision")) return known;
  if (std::ranges::count(known, flags.Text("precision")) > 0) return std::vector{flags.Text("precision")};
  return FlagError("flag --precision is {}; --device={} has {}", flags.Text("precision"), flags.Text("device"),
                   fmt::join(known, ", "));
}

absl::StatusOr<ModelSplit> SplitOf(const Flags& flags) {
  ModelSplit split;
  split.strategy = flags.Text("strategy");
  for (const char* other : {"dp", "mp"}) {
    if (!split.strategy.empty() && flags.Given(other)) {
      return FlagError("flags --strategy and --{} are given; one of them is allowed", other);
    }
  }
  if (flags.Given("dp")) split.data = static_cast<int>(flags.Int("dp"));
  if (flags.Given("mp")) split.model = static_cast<int>(flags.Int("mp"));
  return split;
}

absl::Status AddPeer(const Flags& flags, ModelBenchmarkOptions& options) {
  if (flags.Text("peer") != "pytorch") return absl::OkStatus();
  options.peer = "pytorch";
  ASSIGN_OR_RETURN(const std::string script, BuiltFile(kPeerScript));
  const std::string python = PeerPython(flags.Text("peer-python"));
  options.peer_command = {python, script};
  if (!flags.Bool("skip-agreement")) {
    ASSIGN_OR_RETURN(const std::string agreement, BuiltFile(kAgreementScript));
    options.agreement.script = {python, agreement};
    ASSIGN_OR_RETURN(options.agreement.step_values, BuiltFile(kStepValues));
  }
  absl::StatusOr<std::vector<PeerForm>> forms = ReadPeerForms(flags.Text("peer-forms"), options.gpu);
  if (!forms.ok()) return FlagError("flag --peer-forms: {}", std::string(forms.status().message()));
  options.peer_forms = *std::move(forms);
  return absl::OkStatus();
}

absl::Status WriteReport(const std::string& path, const std::vector<ModelRow>& rows) {
  return WriteFileAtomically(path, path.ends_with(".html") ? ToHtml(rows) : ToJson(rows));
}

}  // namespace

std::vector<std::string> ModelsFlags() {
  return {"format",         "rounds", "steps",   "batch",     "image-size", "vocabulary",
          "hidden",         "layers", "model",   "precision", "dp",         "mp",
          "strategy",       "device", "threads", "peer",      "peer-forms", "peer-python",
          "skip-agreement", "report", "cluster", "profile",   "history"};
}

absl::StatusOr<int> RunModels(const CommandContext& context) {
  const Flags& flags = context.flags;
  ModelBenchmarkOptions options;
  ASSIGN_OR_RETURN(options.models, ModelsToMeasure(flags));
  options.gpu = flags.Text("device") == "cuda";
  ASSIGN_OR_RETURN(options.precisions, PrecisionsOf(flags));
  ASSIGN_OR_RETURN(options.split, SplitOf(flags));
  options.threads = static_cast<int>(flags.Int("threads"));
  options.steps = flags.Int("steps");
  options.rounds = flags.Int("rounds");
  options.loop_command = {kThisProgram, "loop"};
  RETURN_IF_ERROR(ReadMachine(flags, /*processes=*/false).status());
  for (const char* const name : kMachineFlags) {
    if (flags.IsSet(name)) options.loop_command.push_back(fmt::format("--{}={}", name, flags.Text(name)));
  }
  RETURN_IF_ERROR(AddPeer(flags, options));
  ASSIGN_OR_RETURN(const std::vector<ModelRow> rows, BenchmarkModels(options));
  for (const ModelRow& row : rows) RETURN_IF_ERROR(KeepRuns({row.session.graded}, flags));
  if (flags.IsSet("report")) RETURN_IF_ERROR(WriteReport(flags.Text("report"), rows));
  context.out << (flags.Text("format") == "json" ? ToJson(rows) : ToText(rows));
  return kExitFinished;
}

std::vector<std::string> LoopCommandFlags() {
  return {"model", "batch", "image-size", "vocabulary", "hidden",  "layers",  "precision",
          "dp",    "mp",    "strategy",   "device",     "threads", "cluster", "profile"};
}

absl::StatusOr<int> RunLoop(const CommandContext& context) {
  const Flags& flags = context.flags;
  ASSIGN_OR_RETURN(const std::vector<MeasuredModel> models, ModelsToMeasure(flags));
  ModelCase measured;
  measured.sizes = models[0];
  ASSIGN_OR_RETURN(const std::vector<std::string> precisions, PrecisionsOf(flags));
  measured.precision = precisions[0];
  ASSIGN_OR_RETURN(measured.split, SplitOf(flags));
  measured.gpu = flags.Text("device") == "cuda";
  measured.threads = static_cast<int>(flags.Int("threads"));
  ASSIGN_OR_RETURN(const std::optional<Machine> machine, ReadMachine(flags, /*processes=*/false));
  RETURN_IF_ERROR(RunModelLoop(measured, machine, std::cin, context.out));
  return kExitFinished;
}

}  // namespace partita

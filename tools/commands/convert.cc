// `trainer convert`: a checkpoint, whatever the ranks were that wrote it, as one file that everybody reads; or what a
// program that PyTorch exported holds, its graph or its weights.
#include "runtime/checkpoint/sharded/convert.h"

#include <vector>

#include "graph/proto_io/proto_io.h"
#include "graph/proto_io/proto_io_message.h"
#include "importer/import_model.h"
#include "importer/merged_adapters.h"
#include "importer/saved_weights.h"
#include "ops/registry.h"
#include "run/plan/training_settings.h"
#include "run/tuning/adapters.h"
#include "runtime/base/file_name.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "tools/commands/commands.h"
#include "tools/program/exit_code.h"

namespace partita {
namespace {

// FlagError: an optimizer's state without a trained model that has one.
absl::Status CheckTrained(const RunSpec& spec) {
  if (!spec.predict().optimizer_state()) return absl::OkStatus();
  return InvalidArgument(
      "--optimizer-state writes that of a trained model; expected --load beside an exported program (.pt2, .onnx)");
}

bool WantsAdapters(const RunSpec& spec) { return spec.model().has_lora_rank() || spec.model().has_load_adapter(); }

// The weights with the adapters of the flags merged into them; as they are without such flags.
absl::StatusOr<SafetensorsFile> Merged(const RunSpec& spec, const Model& model, SafetensorsFile weights) {
  if (!WantsAdapters(spec)) {
    if (!HasAdapters(weights)) return weights;
    return InvalidArgument(
        "{}: has adapters; expected the flags of its training, --lora-rank and others, by which they are merged into "
        "the weights",
        weights.path());
  }
  if (spec.predict().optimizer_state()) return InvalidArgument("--optimizer-state is not written of adapters");
  ASSIGN_OR_RETURN(const Model adapted, Adapted(spec, model));
  if (!spec.model().has_load_adapter()) return MergeAdapters(adapted.graph, weights, nullptr);
  ASSIGN_OR_RETURN(const AdapterFolder folder, AdapterFolder::Read(spec.model().load_adapter()));
  return MergeAdapters(adapted.graph, weights, &folder);
}

// The weights of --load, else those of the exported program.
absl::StatusOr<SafetensorsFile> TrainedWeights(const RunSpec& spec, const ImportedModel& imported) {
  if (!spec.model().has_load()) {
    ASSIGN_OR_RETURN(SafetensorsFile own, WeightsOf(imported));
    return Merged(spec, imported.model, std::move(own));
  }
  ASSIGN_OR_RETURN(SafetensorsFile loaded, LoadSafetensors(spec.model().load()));
  return Merged(spec, imported.model, std::move(loaded));
}

// Weights of a graph file with the adapters merged into them, for runs without adapters.
absl::StatusOr<int> ConvertGraph(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  if (!spec.model().has_load()) {
    return InvalidArgument("{}: is a graph; expected --load=FILE, into whose weights the adapters are merged",
                           spec.model().graph());
  }
  ASSIGN_OR_RETURN(const Model model, LoadModel(spec.model().graph(), Ops()));
  ASSIGN_OR_RETURN(SafetensorsFile loaded, LoadSafetensors(spec.model().load()));
  ASSIGN_OR_RETURN(const SafetensorsFile merged, Merged(spec, model, std::move(loaded)));
  RETURN_IF_ERROR(SaveMerged(merged, spec.predict().output()));
  context.out << fmt::format("{}: {} with its adapters\n", spec.predict().output(), spec.model().load());
  return kExitFinished;
}

// The graph of an exported program, or its weights, by the ending of --output; those of --load, and adapters, as
// PyTorch has them.
absl::StatusOr<int> ConvertExported(const ContextOf<RunSpec>& context) {
  const std::string& output = context.spec.predict().output();
  ASSIGN_OR_RETURN(const ImportedModel imported,
                   ImportModel(context.spec.model().graph(), Ops(), ImportOptionsOf(context.spec)));
  if (context.spec.model().has_load() || WantsAdapters(context.spec)) {
    ASSIGN_OR_RETURN(const SafetensorsFile trained, TrainedWeights(context.spec, imported));
    const bool optimizer = context.spec.predict().optimizer_state(), as_onnx = HasEnding(output, ".onnx");
    if (as_onnx && (optimizer || !HasEnding(context.spec.model().graph(), ".onnx"))) {
      return InvalidArgument("{}: an ONNX model is written of one, with trained weights in place of its own", output);
    }
    if (as_onnx) {
      RETURN_IF_ERROR(SaveForOnnx(imported, trained, output));
      context.out << fmt::format("{}: {} with the weights of {}\n", output, context.spec.model().graph(),
                                 trained.path());
      return kExitFinished;
    }
    RETURN_IF_ERROR(optimizer ? SaveOptimizerForPyTorch(imported, trained, output)
                              : SaveForPyTorch(imported, trained, output));
    context.out << fmt::format("{}: the {} of {} for load_state_dict of PyTorch\n", output,
                               optimizer ? "optimizer's state" : "weights", trained.path());
    return kExitFinished;
  }
  RETURN_IF_ERROR(CheckTrained(context.spec));
  if (FormatOf(output).ok()) {
    RETURN_IF_ERROR(SaveModel(imported.model, output));
    context.out << fmt::format("{}: a graph of {} nodes\n", output, imported.model.graph.nodes().size());
  } else {
    RETURN_IF_ERROR(SaveWeights(imported, output));
    context.out << fmt::format("{}: {} states\n", output, imported.states.size());
  }
  return kExitFinished;
}

absl::StatusOr<int> Convert(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  std::string folder = spec.model().graph();
  if (IsExportedProgram(folder)) return ConvertExported(context);
  if (FormatOf(folder).ok() && WantsAdapters(spec)) return ConvertGraph(context);
  RETURN_IF_ERROR(CheckTrained(spec));
  if (spec.model().has_load()) {
    return InvalidArgument(
        "{}: is no exported program (.pt2, .onnx); expected one beside --load, whose weights it names for PyTorch",
        folder);
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> steps, CheckpointSteps(SystemDisk(), ResolveLink(folder)));
  if (!steps.empty()) folder = StepFolder(folder, steps.back());  // --checkpoint of a run: the newest of its folder
  ASSIGN_OR_RETURN(const SavedCheckpoint checkpoint, SavedCheckpoint::Open(folder));
  RETURN_IF_ERROR(ConvertCheckpoint(checkpoint, spec.predict().output()));
  context.out << fmt::format("{}: {} of step {}, from {}\n", spec.predict().output(),
                             Counted(checkpoint.record().states.size(), "state"), checkpoint.record().step, folder);
  return kExitFinished;
}

}  // namespace

Command ConvertCommand() {
  return {"convert", "write a checkpoint as one .safetensors file; of an exported program (.pt2) the graph, or weights",
          "CHECKPOINT", Runs<RunSpec>(Convert)};
}

}  // namespace partita

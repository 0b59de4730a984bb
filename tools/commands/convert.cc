// `trainer convert`: a checkpoint, whatever the ranks were that wrote it, as one file that everybody reads; what a
// program that PyTorch exported holds, its graph or its weights; or a graph with its weights as an ONNX model.
#include "runtime/checkpoint/sharded/convert.h"

#include <vector>

#include "exporter/onnx/export_model.h"
#include "exporter/onnx/write_model.h"
#include "graph/ir/entry_point.h"
#include "graph/proto_io/proto_io.h"
#include "graph/proto_io/proto_io_message.h"
#include "importer/import_model.h"
#include "importer/merged_adapters.h"
#include "importer/name_maps/mapped_weights.h"
#include "importer/saved_weights.h"
#include "ops/registry.h"
#include "run/beginning/foreign_weights.h"
#include "run/host/version.h"
#include "run/plan/training_settings.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "run/tuning/adapters.h"
#include "runtime/base/file_name.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/sharded/checkpoint_folder.h"
#include "tools/commands/commands.h"
#include "tools/commands/convert/saved_states.h"
#include "tools/commands/predictions/predicted_value.h"
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

bool WritesOnnx(const RunSpec& spec) { return HasEnding(spec.predict().output(), ".onnx"); }

// FlagError: --map or --load-partial without a file, or where the output has no names to change.
absl::Status CheckNames(const RunSpec& spec) {
  RETURN_IF_ERROR(CheckForeignFlags(spec));
  if (!LoadsForeignWeights(spec) || IsExportedProgram(spec.model().graph()) || WritesOnnx(spec)) {
    return absl::OkStatus();
  }
  if (!spec.model().has_map()) {
    return FlagError("flag --load-partial: {} is no exported program; expected --map beside it, or --output=FILE.onnx",
                     spec.model().graph());
  }
  if (WantsAdapters(spec)) {
    return FlagError(
        "flag --map writes weights of a graph file without adapters; expected two calls of convert, the first without "
        "--map");
  }
  return absl::OkStatus();
}

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

// The file of --load as the graph names its states; says what was taken of a file with other names.
absl::StatusOr<SafetensorsFile> LoadedWeights(const ContextOf<RunSpec>& context, const Model& model,
                                              const ImportedModel* imported) {
  const std::string& path = context.spec.model().load();
  if (!LoadsForeignWeights(context.spec)) return LoadSafetensors(path);
  ASSIGN_OR_RETURN(MappedWeights weights, TakeForeignWeights(context.spec, model, imported));
  for (const std::string& line : WhatWasTaken(path, weights)) context.out << line << "\n";
  return std::move(weights.states);
}

// The weights of --load, else those of the exported program.
absl::StatusOr<SafetensorsFile> TrainedWeights(const ContextOf<RunSpec>& context, const ImportedModel& imported) {
  if (!context.spec.model().has_load()) {
    ASSIGN_OR_RETURN(SafetensorsFile own, WeightsOf(imported));
    return Merged(context.spec, imported.model, std::move(own));
  }
  ASSIGN_OR_RETURN(SafetensorsFile loaded, LoadedWeights(context, imported.model, &imported));
  return Merged(context.spec, imported.model, std::move(loaded));
}

// Of --load; of an exported program its own without the flag.
absl::StatusOr<onnx_export::ReadState> StatesFor(const ContextOf<RunSpec>& context, const Model& model,
                                                 const ImportedModel* imported) {
  const RunSpec& spec = context.spec;
  const bool averages = model.optimizer.average.has_value();
  const bool changed = WantsAdapters(spec) || LoadsForeignWeights(spec);
  if (imported != nullptr && (!spec.model().has_load() || changed)) {
    ASSIGN_OR_RETURN(SafetensorsFile weights, TrainedWeights(context, *imported));
    return StatesOf(std::move(weights), averages);
  }
  if (!changed) return OpenStates(spec.model().load(), averages);
  ASSIGN_OR_RETURN(SafetensorsFile loaded, LoadedWeights(context, model, nullptr));
  ASSIGN_OR_RETURN(SafetensorsFile merged, Merged(spec, model, std::move(loaded)));
  return StatesOf(std::move(merged), averages);
}

// What the model predicts, as an ONNX model.
absl::StatusOr<int> ExportAsOnnx(const ContextOf<RunSpec>& context, const Model& model, const ImportedModel* imported) {
  const RunSpec& spec = context.spec;
  const std::string &graph = spec.model().graph(), &output = spec.predict().output();
  if (spec.predict().optimizer_state()) {
    return InvalidArgument("--optimizer-state is not written into an ONNX model; expected --output=FILE.safetensors");
  }
  ASSIGN_OR_RETURN(const onnx_export::ReadState states, StatesFor(context, model, imported));
  ASSIGN_OR_RETURN(const std::string value, PredictedValue(spec, model.graph));
  const absl::StatusOr<onnx_export::ExportedModel> exported =
      onnx_export::ExportOnnx(model, Ops(), {.value = value, .producer_version = kToolVersion, .read = states});
  if (!exported.ok()) return WithContext(graph, exported.status());
  RETURN_IF_ERROR(onnx_export::WriteOnnxModel(exported->model, output));
  const int64_t batch = model.graph.type(InputsOf(model.graph)[0].values[0]).shape[0];
  context.out << fmt::format("{}: value '{}' of {}, {} of ONNX opset {}, for {}\n", output, value, graph,
                             Counted(static_cast<int64_t>(exported->model.nodes.size()), "node"),
                             onnx_export::kWrittenOpset,
                             exported->any_batch ? "any batch" : fmt::format("batches of {}", batch));
  return kExitFinished;
}

// The weights of --load under the names of --map, or back: whichever they have not.
absl::StatusOr<int> ChangeNames(const ContextOf<RunSpec>& context, const Model& model) {
  const RunSpec& spec = context.spec;
  const std::string& output = spec.predict().output();
  ASSIGN_OR_RETURN(const SafetensorsFile loaded, LoadSafetensors(spec.model().load()));
  if (HasNamesOf(loaded, model.graph)) {
    ASSIGN_OR_RETURN(const NameMap names, FindNameMap(spec.model().map(), model.name));
    std::vector<std::string> partial;
    if (spec.model().has_load_partial()) partial = ListOf(spec.model().load_partial());
    RETURN_IF_ERROR(SaveUnderMap(loaded, model.graph, names, output, partial));
    context.out << fmt::format("{}: the weights of {} under the names of {}\n", output, loaded.path(),
                               spec.model().map());
    return kExitFinished;
  }
  ASSIGN_OR_RETURN(const SafetensorsFile taken, LoadedWeights(context, model, nullptr));
  RETURN_IF_ERROR(SaveMerged(taken, output));
  context.out << fmt::format("{}: the weights of {} under the names of {}\n", output, loaded.path(),
                             spec.model().graph());
  return kExitFinished;
}

// A graph file with the weights of --load: as ONNX, or the weights with the adapters merged into them, for runs without
// adapters, or under other names.
absl::StatusOr<int> ConvertGraph(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  if (!spec.model().has_load()) {
    return InvalidArgument("{}: is a graph; expected --load=FILE with {}", spec.model().graph(),
                           WritesOnnx(spec) ? "its weights" : "the weights into which the adapters are merged");
  }
  ASSIGN_OR_RETURN(const Model model, LoadModel(spec.model().graph(), Ops()));
  if (WritesOnnx(spec)) return ExportAsOnnx(context, model, nullptr);
  if (spec.model().has_map()) return ChangeNames(context, model);
  ASSIGN_OR_RETURN(SafetensorsFile loaded, LoadSafetensors(spec.model().load()));
  ASSIGN_OR_RETURN(const SafetensorsFile merged, Merged(spec, model, std::move(loaded)));
  RETURN_IF_ERROR(SaveMerged(merged, spec.predict().output()));
  context.out << fmt::format("{}: {} with its adapters\n", spec.predict().output(), spec.model().load());
  return kExitFinished;
}

// The weights of --load, and adapters, as PyTorch has them; or in the ONNX model that the program is.
absl::StatusOr<int> WriteTrained(const ContextOf<RunSpec>& context, const ImportedModel& imported) {
  const std::string& output = context.spec.predict().output();
  ASSIGN_OR_RETURN(const SafetensorsFile trained, TrainedWeights(context, imported));
  const bool optimizer = context.spec.predict().optimizer_state();
  if (WritesOnnx(context.spec)) {
    RETURN_IF_ERROR(SaveForOnnx(imported, trained, output));
    context.out << fmt::format("{}: {} with the weights of {}\n", output, context.spec.model().graph(), trained.path());
    return kExitFinished;
  }
  RETURN_IF_ERROR(optimizer ? SaveOptimizerForPyTorch(imported, trained, output)
                            : SaveForPyTorch(imported, trained, output));
  context.out << fmt::format("{}: the {} of {} for {}\n", output, optimizer ? "optimizer's state" : "weights",
                             trained.path(),
                             optimizer ? "torch.optim (partita.load_optimizer)" : "load_state_dict of PyTorch");
  return kExitFinished;
}

// The graph of an exported program, or its weights, by the ending of --output. An ONNX model with other weights stays
// as it is, but where another value of it is asked for.
absl::StatusOr<int> ConvertExported(const ContextOf<RunSpec>& context) {
  const RunSpec& spec = context.spec;
  const std::string& output = spec.predict().output();
  ASSIGN_OR_RETURN(const ImportedModel imported, ImportModel(spec.model().graph(), Ops(), ImportOptionsOf(spec)));
  const bool trained = spec.model().has_load() || WantsAdapters(spec);
  const bool is_onnx = HasEnding(spec.model().graph(), ".onnx");
  const bool stays = is_onnx && trained && !spec.predict().has_value() && !spec.predict().optimizer_state();
  if (WritesOnnx(spec) && !stays) return ExportAsOnnx(context, imported.model, &imported);
  if (trained) return WriteTrained(context, imported);
  RETURN_IF_ERROR(CheckTrained(spec));
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
  RETURN_IF_ERROR(CheckNames(spec));
  if (IsExportedProgram(folder)) return ConvertExported(context);
  const bool converts_graph = WantsAdapters(spec) || WritesOnnx(spec) || spec.model().has_map();
  if (FormatOf(folder).ok() && converts_graph) return ConvertGraph(context);
  RETURN_IF_ERROR(CheckTrained(spec));
  if (WritesOnnx(spec)) {
    return InvalidArgument("{}: is no graph; expected the graph of the run, and --load={}", folder, folder);
  }
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
  return {"convert",
          "write a checkpoint as one .safetensors file, a graph and its weights as ONNX; of an exported program "
          "(.pt2) the graph, or weights",
          "CHECKPOINT|GRAPH", Runs<RunSpec>(Convert)};
}

}  // namespace partita

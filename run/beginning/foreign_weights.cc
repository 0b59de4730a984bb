#include "run/beginning/foreign_weights.h"

#include <fmt/ranges.h>

#include <optional>
#include <utility>
#include <vector>

#include "importer/import_model.h"
#include "importer/merged_adapters.h"
#include "importer/module_names.h"
#include "importer/name_maps/mapped_weights.h"
#include "importer/saved_weights.h"
#include "ops/registry.h"
#include "run/beginning/adapter_states.h"
#include "run/host/log.h"
#include "run/spec/flag.h"
#include "run/spec/spec_error.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kModule[] = "module";  // the map of an exported program's own names

// An exported program with its weights, under the names of its states.
struct Exported {
  ImportedModel imported;
  SafetensorsFile weights;
};

absl::StatusOr<std::optional<Exported>> ReadExported(const RunSpec& spec) {
  if (!IsExportedProgram(spec.model().graph())) return std::nullopt;
  // Its weights are the same whether statistics are frozen or not.
  ASSIGN_OR_RETURN(ImportedModel imported,
                   ImportModel(spec.model().graph(), Ops(), {.loss = spec.model().loss(), .frozen_statistics = true}));
  ASSIGN_OR_RETURN(SafetensorsFile weights, WeightsOf(imported));
  return Exported{std::move(imported), std::move(weights)};
}

void Report(const std::string& path, const MappedWeights& weights) {
  Tell("{}: took {} of {} tensors", path, weights.taken, weights.in_file);
  if (!weights.kept.empty()) Tell("{}: not taken from it: {}", path, fmt::join(weights.kept, ", "));
  if (!weights.left.empty()) Tell("{}: no state of the graph: {}", path, fmt::join(weights.left, ", "));
}

}  // namespace

bool LoadsForeignWeights(const RunSpec& spec) { return spec.model().has_map() || spec.model().has_load_partial(); }

absl::Status CheckForeignFlags(const RunSpec& spec) {
  if (spec.model().has_load() || !LoadsForeignWeights(spec)) return absl::OkStatus();
  return InvalidArgument("--map and --load-partial say how the file of --load is read; expected --load=FILE");
}

absl::StatusOr<ForeignWeights> ReadForeignWeights(const RunSpec& spec, const Model& model) {
  const std::string &path = spec.model().load(), &map = spec.model().map();
  ASSIGN_OR_RETURN(const std::optional<Exported> exported, ReadExported(spec));
  NameMap names;
  MappingOptions options{.own = AdapterNames(model)};
  if (map == kModule) {
    if (!exported) {
      return InvalidArgument("--map=module is for exported programs (.pt2, .onnx); {} is a graph",
                             spec.model().graph());
    }
    ModuleNames module = ModuleNamesOf(exported->imported);
    names = std::move(module.map);
    options.own.merge(module.own);
  } else if (!map.empty()) {
    ASSIGN_OR_RETURN(names, FindNameMap(map, model.name));
  }
  if (spec.model().has_load_partial()) options.partial = ListOf(spec.model().load_partial());
  if (spec.execution().precision() == "f64") options.floats = DType::kF64;
  if (exported) options.rest = &exported->weights;
  ASSIGN_OR_RETURN(const SafetensorsFile file, LoadSafetensors(path));
  ASSIGN_OR_RETURN(MappedWeights weights, TakeWeights(file, model.graph, names, options));
  Report(path, weights);
  ASSIGN_OR_RETURN(const std::shared_ptr<const TemporaryWeights> made, TemporaryWeights::Make());
  const absl::Status saved = SaveMerged(weights.states, made->path());
  if (!saved.ok()) return WithContext(fmt::format("the weights of {}", path), saved);
  return ForeignWeights{made, std::move(weights.missing)};
}

}  // namespace partita

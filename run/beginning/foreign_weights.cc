#include "run/beginning/foreign_weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "importer/merged_adapters.h"
#include "importer/module_names.h"
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

bool HasDoubles(const SafetensorsFile& file) {
  return std::ranges::any_of(file.tensors(),
                             [](const StoredTensor& tensor) { return tensor.type == StoredTypeOf(DType::kF64); });
}

}  // namespace

bool LoadsForeignWeights(const RunSpec& spec) { return spec.model().has_map() || spec.model().has_load_partial(); }

absl::Status CheckForeignFlags(const RunSpec& spec) {
  if (spec.model().has_load() || !LoadsForeignWeights(spec)) return absl::OkStatus();
  return FlagError("--map and --load-partial say how the file of --load is read; expected --load=FILE");
}

absl::StatusOr<MappedWeights> TakeForeignWeights(const RunSpec& spec, const Model& model, const ImportedModel* exported,
                                                 std::optional<DType> floats) {
  const std::string &path = spec.model().load(), &map = spec.model().map();
  NameMap names;
  MappingOptions options{.own = AdapterNames(model)};
  if (map == kModule) {
    if (exported == nullptr) {
      return InvalidArgument("--map=module is for exported programs (.pt2, .onnx); {} is a graph",
                             spec.model().graph());
    }
    ModuleNames module = ModuleNamesOf(*exported);
    names = std::move(module.map);
    options.own.merge(module.own);
  } else if (!map.empty()) {
    ASSIGN_OR_RETURN(names, FindNameMap(map, model.name));
  }
  if (spec.model().has_load_partial()) options.partial = ListOf(spec.model().load_partial());
  std::optional<SafetensorsFile> own;
  if (exported != nullptr) {
    ASSIGN_OR_RETURN(own, WeightsOf(*exported));
    options.rest = &*own;
  }
  ASSIGN_OR_RETURN(const SafetensorsFile file, LoadSafetensors(path));
  options.floats = floats.value_or(HasDoubles(file) ? DType::kF64 : DType::kF32);
  return TakeWeights(file, model.graph, names, options);
}

std::vector<std::string> WhatWasTaken(const std::string& path, const MappedWeights& weights) {
  std::vector<std::string> lines = {fmt::format("{}: took {} of {} tensors", path, weights.taken, weights.in_file)};
  if (!weights.kept.empty()) {
    lines.push_back(fmt::format("{}: not taken from it: {}", path, fmt::join(weights.kept, ", ")));
  }
  if (!weights.left.empty()) {
    lines.push_back(fmt::format("{}: no state of the graph: {}", path, fmt::join(weights.left, ", ")));
  }
  return lines;
}

absl::StatusOr<ForeignWeights> ReadForeignWeights(const RunSpec& spec, const Model& model) {
  std::optional<ImportedModel> exported;
  if (IsExportedProgram(spec.model().graph())) {
    // Its weights are the same whether statistics are frozen or not.
    ASSIGN_OR_RETURN(
        exported, ImportModel(spec.model().graph(), Ops(), {.loss = spec.model().loss(), .frozen_statistics = true}));
  }
  const DType floats = spec.execution().precision() == "f64" ? DType::kF64 : DType::kF32;
  ASSIGN_OR_RETURN(MappedWeights weights, TakeForeignWeights(spec, model, exported ? &*exported : nullptr, floats));
  const std::string& path = spec.model().load();
  for (const std::string& line : WhatWasTaken(path, weights)) Tell("{}", line);
  ASSIGN_OR_RETURN(const std::shared_ptr<const TemporaryWeights> made, TemporaryWeights::Make());
  const absl::Status saved = SaveMerged(weights.states, made->path());
  if (!saved.ok()) return WithContext(fmt::format("the weights of {}", path), saved);
  return ForeignWeights{made, std::move(weights.missing)};
}

}  // namespace partita

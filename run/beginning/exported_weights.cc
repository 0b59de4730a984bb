#include "run/beginning/exported_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "importer/import_model.h"
#include "importer/saved_weights.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "runtime/train/model_file.h"

namespace partita {
namespace {

// The type of the floating-point states.
DType PrecisionOf(const Program& program) {
  const Graph& graph = program.state_graph();
  const bool doubles = std::ranges::any_of(
      graph.states(), [&](const State& state) { return graph.type(state.value).dtype == DType::kF64; });
  return doubles ? DType::kF64 : DType::kF32;
}

}  // namespace

absl::StatusOr<ExportedWeights> ExportedWeights::Open(const RunSpec& spec, const Model& model, const Program& program) {
  const std::string& path = spec.model().graph();
  // Its weights are the same whether statistics are frozen or not.
  ASSIGN_OR_RETURN(const ImportedModel imported,
                   ImportModel(path, Ops(), {.loss = spec.model().loss(), .frozen_statistics = true}));
  ASSIGN_OR_RETURN(const std::shared_ptr<const TemporaryWeights> file, TemporaryWeights::Make());
  const absl::Status saved = SaveWeights(imported, file->path(), PrecisionOf(program));
  if (!saved.ok()) return WithContext(fmt::format("the weights of {}", path), saved);
  ASSIGN_OR_RETURN(ModelFile weights, ModelFile::Open(model, file->path()));
  ASSIGN_OR_RETURN(CheckedFile states, std::move(weights).Check(program, States::kWeights));
  return ExportedWeights(file, std::move(states));
}

}  // namespace partita

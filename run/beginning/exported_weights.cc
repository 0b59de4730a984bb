#include "run/beginning/exported_weights.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "importer/import_model.h"
#include "importer/saved_weights.h"
#include "ops/registry.h"
#include "runtime/base/status.h"
#include "runtime/train/model_file.h"

namespace partita {
namespace {

std::string TemporaryPath() {
  static std::atomic<int> made = 0;
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";
  return (folder / fmt::format("partita.{}.{}.safetensors", getpid(), ++made)).string();
}

// The type of the floating-point states.
DType PrecisionOf(const Program& program) {
  const Graph& graph = program.state_graph();
  const bool doubles = std::ranges::any_of(
      graph.states(), [&](const State& state) { return graph.type(state.value).dtype == DType::kF64; });
  return doubles ? DType::kF64 : DType::kF32;
}

}  // namespace

struct ExportedWeights::TemporaryFile {
  explicit TemporaryFile(std::string file) : path(std::move(file)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }

  std::string path;
};

absl::StatusOr<ExportedWeights> ExportedWeights::Open(const RunSpec& spec, const Model& model, const Program& program) {
  const std::string& path = spec.model().graph();
  // Its weights are the same whether statistics are frozen or not.
  ASSIGN_OR_RETURN(const ImportedModel imported,
                   ImportModel(path, Ops(), {.loss = spec.model().loss(), .frozen_statistics = true}));
  const auto file = std::make_shared<const TemporaryFile>(TemporaryPath());
  const absl::Status saved = SaveWeights(imported, file->path, PrecisionOf(program));
  if (!saved.ok()) return WithContext(fmt::format("the weights of {}", path), saved);
  ASSIGN_OR_RETURN(ModelFile weights, ModelFile::Open(model, file->path));
  ASSIGN_OR_RETURN(CheckedFile states, std::move(weights).Check(program, States::kWeights));
  return ExportedWeights(file, std::move(states));
}

}  // namespace partita

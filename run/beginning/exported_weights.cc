#include "run/beginning/exported_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
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

// A new folder of this process alone. Numbers of processes name none: containers that share /tmp have the same ones.
absl::StatusOr<std::string> MakeTemporaryFolder() {
  std::error_code error;
  std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) parent = "/tmp";
  std::string folder = (parent / "partita-weights-XXXXXX").string();
  if (mkdtemp(folder.data()) != nullptr) return folder;
  return ResourceExhausted("{}: cannot make a folder for the weights: {}; set TMPDIR to another", parent.string(),
                           std::generic_category().message(errno));
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
  explicit TemporaryFile(const std::string& made) : folder(made), path(made + "/weights.safetensors") {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  const std::string folder, path;
};

absl::StatusOr<ExportedWeights> ExportedWeights::Open(const RunSpec& spec, const Model& model, const Program& program) {
  const std::string& path = spec.model().graph();
  // Its weights are the same whether statistics are frozen or not.
  ASSIGN_OR_RETURN(const ImportedModel imported,
                   ImportModel(path, Ops(), {.loss = spec.model().loss(), .frozen_statistics = true}));
  ASSIGN_OR_RETURN(const std::string folder, MakeTemporaryFolder());
  const auto file = std::make_shared<const TemporaryFile>(folder);
  const absl::Status saved = SaveWeights(imported, file->path, PrecisionOf(program));
  if (!saved.ok()) return WithContext(fmt::format("the weights of {}", path), saved);
  ASSIGN_OR_RETURN(ModelFile weights, ModelFile::Open(model, file->path));
  ASSIGN_OR_RETURN(CheckedFile states, std::move(weights).Check(program, States::kWeights));
  return ExportedWeights(file, std::move(states));
}

}  // namespace partita

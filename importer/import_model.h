// A model of PyTorch that torch.export saved (.pt2), as a graph of ours with its weights.
#ifndef PARTITA_IMPORTER_IMPORT_MODEL_H_
#define PARTITA_IMPORTER_IMPORT_MODEL_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "importer/program/exported_program.h"
#include "importer/translator.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {

struct ImportOptions {
  // Of a program that returns predictions: the loss to add to the first one, "cross_entropy", "mse", "l1" or
  // "bce_with_logits", and an input `label`. "": the program returns its loss.
  std::string loss = {};
  bool frozen_statistics = false;  // batch norms of a module in evaluation are read, as they compute
};

struct ImportedModel {
  Model model;  // its optimizer and learning rate are the defaults; parameters have the module's names
  torch_export::ExportedProgram program;
  std::vector<torch_export::ImportedState> states;
};

// By its name.
bool IsExportedProgram(const std::string& path);

// The model of an exported program, or else of a graph file (graph/proto_io).
absl::StatusOr<Model> ReadModelFile(const std::string& path, const OpRegistry& registry,
                                    const ImportOptions& options = {});

// The module's forward pass with its loss, the first scalar that it returns; further scalars are metrics. With a loss
// of classes for each sample that is added, accuracy is a metric too. Parameters with requires_grad=False are states.
// The graph has the batch of the example that was exported, and fits others where the export's was dynamic.
// kInvalidArgument: errors of ReadExportedProgram; a loss that the program has already, or that does not fit what it
// returns; or all nodes that have no translation, with op, module and reason.
absl::StatusOr<ImportedModel> ImportModel(const std::string& path, const OpRegistry& registry,
                                          const ImportOptions& options = {});

// Writes all weights as safetensors, under the module's names and in the order of the graph's states. Floating ones as
// `floats`; without it those of f64 as f64, for runs with --precision=f64, and others as f32.
absl::Status SaveWeights(const ImportedModel& imported, const std::string& path,
                         std::optional<DType> floats = std::nullopt);

// Writes what load_state_dict of the exported module accepts: its parameters and persistent buffers under their names
// and with their dimensions as PyTorch has them, those that the graph has as `trained` has them, others, such as
// counters of batches, as the program has them. kInvalidArgument: `trained` lacks a weight or has it in another shape
// or type.
absl::Status SaveForPyTorch(const ImportedModel& imported, const SafetensorsFile& trained, const std::string& path);

// One weight's bytes in the order and type of the graph's state, little-endian f32, f64 or i32.
absl::StatusOr<std::string> ReadWeight(const ImportedModel& imported, const torch_export::ImportedState& state,
                                       DType type);

}  // namespace partita

#endif  // PARTITA_IMPORTER_IMPORT_MODEL_H_

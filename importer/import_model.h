// A model of PyTorch that torch.export saved (.pt2), or an ONNX model (.onnx), as a graph of ours with its weights.
#ifndef PARTITA_IMPORTER_IMPORT_MODEL_H_
#define PARTITA_IMPORTER_IMPORT_MODEL_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "importer/program/exported_program.h"
#include "importer/translation/translator.h"

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
  std::set<std::string> channels_last;  // inputs that are [n,h,w,c] here, and [n,c,h,w] in the file
};

// By its name, which ends in .pt2 or .onnx.
bool IsExportedProgram(const std::string& path);

// The model of an exported program, or else of a graph file (graph/proto_io).
absl::StatusOr<Model> ReadModelFile(const std::string& path, const OpRegistry& registry,
                                    const ImportOptions& options = {});

// The module's forward pass with its loss, the first scalar that it returns; further scalars are metrics. With a loss
// of classes for each sample that is added, accuracy is a metric too. Parameters with requires_grad=False are states.
// The graph has the batch of the example that was exported, and fits others where the export's was dynamic.
// kInvalidArgument: errors of ReadExportedProgram or ReadOnnxProgram; a loss that the program has already, or that does
// not fit what it returns; or all nodes that have no translation, with op, module and reason.
absl::StatusOr<ImportedModel> ImportModel(const std::string& path, const OpRegistry& registry,
                                          const ImportOptions& options = {});

}  // namespace partita

#endif  // PARTITA_IMPORTER_IMPORT_MODEL_H_

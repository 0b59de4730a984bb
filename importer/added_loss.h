// The loss of an exported program that returns predictions alone: added as if its module had computed it.
#ifndef PARTITA_IMPORTER_ADDED_LOSS_H_
#define PARTITA_IMPORTER_ADDED_LOSS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "importer/program/exported_program.h"
#include "importer/translation/translator.h"

namespace partita::torch_export {

// The results without dimensions: losses and metrics.
std::vector<std::string> ScalarsOf(const ExportedProgram& program);

// What a loss that is added compares.
struct AddedLoss {
  std::string predictions, labels;
  bool of_classes = false;  // one for each sample
  bool of_labels = false;   // several for each sample, each 1 or 0
};

// Appends the loss of the program's first prediction. Classes are the second dimension of predictions, as in PyTorch,
// but the last of three: positions of a text come before them. kInvalidArgument: the program has a loss, or no
// prediction that this loss fits.
absl::StatusOr<AddedLoss> AddLoss(const std::string& loss, ExportedProgram& program);

// The nodes of the metrics that go with the loss. Of classes: `accuracy`, the share of samples whose class has the
// largest prediction. Of labels, which a prediction of 0 or more says are there: `label_accuracy`, the share of labels
// that are right, and `f1`, 2 hits / (predicted + given) over all of them, 0 without any.
absl::StatusOr<std::vector<std::string>> MetricsOf(const AddedLoss& loss, Translator& translator);

}  // namespace partita::torch_export

#endif  // PARTITA_IMPORTER_ADDED_LOSS_H_

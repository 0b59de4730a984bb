// How often samples of one class were taken for another: --confusion.
#ifndef PARTITA_TOOLS_COMMANDS_PREDICTIONS_CONFUSION_H_
#define PARTITA_TOOLS_COMMANDS_PREDICTIONS_CONFUSION_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/graph.h"
#include "proto/report.pb.h"
#include "runtime/api/rank/gather.h"

namespace partita {

// The values that a classifier's accuracy or loss compares.
struct Classifier {
  std::string logits, labels;
  int64_t classes = 0;
  std::optional<int64_t> ignored;  // samples of this label do not count
};

// Of the first accuracy among the metrics, else of a loss that is a softmax cross entropy. kInvalidArgument: there is
// neither, or there are too many classes for a matrix.
absl::StatusOr<Classifier> ClassifierOf(const Graph& forward);

struct Confusion {
  std::vector<std::string> classes;          // names, or labels where they have none
  std::vector<std::vector<int64_t>> counts;  // samples, by their class and then by the class they were taken for
};

// Of no sample so far.
Confusion NoConfusion(const Classifier& classifier, const std::vector<std::string>& class_names);

// Samples of a set, from `first` on.
struct ClassifiedRows {
  int64_t first = 0, count = 0;
  const HostTensor& logits;  // [at least `count`, classes]
  const HostTensor& labels;  // [the same]
};

// Counts each of them. Of equal logits the lower class is taken, as in the accuracy. kInvalidArgument: a label is none.
absl::Status AddRows(const Classifier& classifier, const ClassifiedRows& rows, Confusion& confusion);

// A line for each class of the samples and a column for each class they were taken for.
std::string PrintConfusion(const Confusion& confusion);

void AddClasses(const Confusion& confusion, ReportProto& report);
// A line for each class; of many classes nothing.
void PrintClasses(const ReportProto& report, std::ostream& out);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_PREDICTIONS_CONFUSION_H_

#include "tools/commands/predictions/confusion.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"
#include "tools/commands/predictions/prediction_file.h"
#include "tools/commands/predictions/rows.h"
#include "tools/commands/predictions/top_classes.h"

namespace partita {
namespace {

constexpr int64_t kMostClasses = 10000;
constexpr int kMostPrinted = 20;

// The node that compares logits and labels; null: there is none.
const Node* FindComparison(const Graph& forward) {
  for (const ValueId metric : forward.metrics) {
    const Node& node = forward.node(forward.value(metric).producer);
    if (node.op->role == Role::kAccuracy) return &node;
  }
  const Node& loss = forward.node(forward.value(forward.loss).producer);
  return loss.op->name == "softmax_cross_entropy" ? &loss : nullptr;
}

std::string Share(bool known, double share) { return known ? fmt::format("{:.2f} %", 100 * share) : "-"; }

}  // namespace

absl::StatusOr<Classifier> ClassifierOf(const Graph& forward) {
  const Node* const node = FindComparison(forward);
  if (node == nullptr) {
    return InvalidArgument(
        "the graph has neither a metric 'accuracy' nor a loss 'softmax_cross_entropy', which have "
        "classes to confuse");
  }
  const Shape& shape = forward.type(node->inputs[0]).shape;
  if (shape.size() != 2 || shape[1] > kMostClasses) {
    return InvalidArgument("value '{}' is {}; a confusion matrix is of [samples, classes] with at most {} classes",
                           forward.value(node->inputs[0]).name, ToString(shape), kMostClasses);
  }
  Classifier classifier{forward.value(node->inputs[0]).name, forward.value(node->inputs[1]).name, shape[1],
                        std::nullopt};
  if (node->attributes.Has("ignore_index")) classifier.ignored = node->attributes.Int("ignore_index");
  return classifier;
}

Confusion NoConfusion(const Classifier& classifier, const std::vector<std::string>& class_names) {
  Confusion confusion;
  for (int64_t c = 0; c < classifier.classes; ++c) confusion.classes.push_back(ClassName(c, class_names));
  const auto classes = static_cast<size_t>(classifier.classes);
  confusion.counts.assign(classes, std::vector<int64_t>(classes));
  return confusion;
}

absl::Status AddRows(const Classifier& classifier, const ClassifiedRows& rows, Confusion& confusion) {
  RETURN_IF_ERROR(CheckWritable(rows.logits, classifier.logits));
  for (int64_t r = 0; r < rows.count; ++r) {
    const auto label = static_cast<int64_t>(NumbersOfRow(rows.labels, r)[0]);
    if (classifier.ignored == label) continue;
    if (label < 0 || label >= classifier.classes) {
      return InvalidArgument("value '{}' of sample {} is {}; expected 0 to {}", classifier.labels, rows.first + r,
                             label, classifier.classes - 1);
    }
    const std::vector<double> row = NumbersOfRow(rows.logits, r);
    ++confusion.counts[static_cast<size_t>(label)][static_cast<size_t>(std::ranges::max_element(row) - row.begin())];
  }
  return absl::OkStatus();
}

std::string PrintConfusion(const Confusion& confusion) {
  std::string text = "class";
  for (const std::string& name : confusion.classes) text += "," + CsvText(name);
  text += "\n";
  for (size_t c = 0; c < confusion.classes.size(); ++c) {
    text += CsvText(confusion.classes[c]);
    for (const int64_t count : confusion.counts[c]) text += fmt::format(",{}", count);
    text += "\n";
  }
  return text;
}

void AddClasses(const Confusion& confusion, ReportProto& report) {
  for (size_t c = 0; c < confusion.classes.size(); ++c) {
    int64_t samples = 0, predicted = 0;
    for (size_t other = 0; other < confusion.classes.size(); ++other) {
      samples += confusion.counts[c][other];
      predicted += confusion.counts[other][c];
    }
    const int64_t correct = confusion.counts[c][c];
    ReportClassProto& entry = *report.add_classes();
    entry.set_name(confusion.classes[c]);
    entry.set_samples(samples);
    entry.set_predicted(predicted);
    entry.set_correct(correct);
    if (predicted > 0) entry.set_precision(static_cast<double>(correct) / static_cast<double>(predicted));
    if (samples > 0) entry.set_recall(static_cast<double>(correct) / static_cast<double>(samples));
  }
}

void PrintClasses(const ReportProto& report, std::ostream& out) {
  if (report.classes_size() == 0 || report.classes_size() > kMostPrinted) return;
  out << fmt::format("{:<24} {:>9} {:>9} {:>10} {:>10}\n", "class", "samples", "predicted", "precision", "recall");
  for (const ReportClassProto& entry : report.classes()) {
    out << fmt::format("  {:<22} {:>9} {:>9} {:>10} {:>10}\n", entry.name(), entry.samples(), entry.predicted(),
                       Share(entry.has_precision(), entry.precision()), Share(entry.has_recall(), entry.recall()));
  }
}

}  // namespace partita

#include "importer/added_loss.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/value/node_name.h"
#include "importer/translation/arithmetic.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

absl::StatusOr<std::vector<std::string>> LabelMetrics(const std::string& logits, const std::string& labels,
                                                      Translator& translator) {
  Formula right(translator, "label_accuracy");
  const std::string predicted = right.Compared("ge", logits, right.Number(0, logits));
  const std::string wrong = right("square", {right("sub", {predicted, labels})});
  std::vector<std::string> metrics = {right.Result("mean", {right.Without(wrong)})};
  RETURN_IF_ERROR(right.status());
  Formula f(translator, "f1");
  const std::string hits = f("sum", {f("mul", {predicted, labels})});
  const std::string all = f("add", {f("sum", {predicted}), f("sum", {labels})});
  metrics.push_back(f.Result("div", {f.Times(hits, 2), f("maximum", {all, f.Number(1, all)})}));
  RETURN_IF_ERROR(f.status());
  return metrics;
}

}  // namespace

std::vector<std::string> ScalarsOf(const ExportedProgram& program) {
  std::vector<std::string> scalars;
  for (const std::string& name : program.outputs) {
    const auto meta = program.tensors.find(name);
    if (meta != program.tensors.end() && meta->second.sizes.empty()) scalars.push_back(name);
  }
  return scalars;
}

absl::StatusOr<AddedLoss> AddLoss(const std::string& loss, ExportedProgram& program) {
  constexpr const char *kLabel = "label", *kLoss = "loss";
  if (!ScalarsOf(program).empty()) {
    return InvalidArgument("the module returns a scalar, its loss; --loss={} is for one that returns predictions",
                           loss);
  }
  const auto predictions = std::ranges::find_if(program.outputs, [&](const std::string& name) {
    const auto meta = program.tensors.find(name);
    return meta != program.tensors.end() && IsFloat(meta->second.type);
  });
  if (predictions == program.outputs.end()) {
    return InvalidArgument("the module returns no floating-point tensor; --loss={} compares one with labels", loss);
  }
  for (const char* const name : {kLabel, kLoss}) {
    if (!program.tensors.contains(name)) continue;
    return InvalidArgument("the program has a value {}; --loss={} adds one of that name. Return the loss instead",
                           Quoted(name), loss);
  }
  AddedLoss added{*predictions, kLabel};
  TensorMeta values = program.tensors.at(*predictions);
  TensorMeta labels = values;
  const bool classes = loss == "cross_entropy";
  if (classes) {
    if (values.sizes.size() < 2) {
      return InvalidArgument("the module returns a tensor of {} dimension; expected samples and classes",
                             values.sizes.size());
    }
    if (values.sizes.size() == 3) {
      const std::string by_class = *predictions + ".by_class";
      std::swap(values.sizes[1], values.sizes[2]);
      program.nodes.push_back({"torch.ops.aten.transpose.int",
                               "",
                               {{"self", TensorName{added.predictions}}, {"dim0", Size{1}}, {"dim1", Size{2}}},
                               {by_class}});
      program.tensors.emplace(by_class, values);
      added.predictions = by_class;
    }
    labels = values;
    labels.type = ScalarType::kI64;
    labels.sizes.erase(labels.sizes.begin() + 1);
    added.of_classes = values.sizes.size() == 2;
  }
  added.of_labels = loss == "bce_with_logits" && values.sizes.size() == 2;
  const std::map<std::string, std::string> ops = {{"cross_entropy", "cross_entropy_loss"},
                                                  {"mse", "mse_loss"},
                                                  {"l1", "l1_loss"},
                                                  {"bce_with_logits", "binary_cross_entropy_with_logits"}};
  const auto op = ops.find(loss);
  if (op == ops.end()) return InvalidArgument("there is no loss {}", Quoted(loss));
  program.inputs.push_back({InputKind::kUser, kLabel, ""});
  program.tensors.emplace(kLabel, std::move(labels));
  program.nodes.push_back({"torch.ops.aten." + op->second + ".default",
                           "",
                           {{"self", TensorName{added.predictions}}, {"target", TensorName{kLabel}}},
                           {kLoss}});
  TensorMeta scalar = values;
  scalar.sizes.clear();
  program.tensors.emplace(kLoss, std::move(scalar));
  program.outputs = {kLoss};
  return added;
}

absl::StatusOr<std::vector<std::string>> MetricsOf(const AddedLoss& loss, Translator& translator) {
  if (!loss.of_classes && !loss.of_labels) return std::vector<std::string>();
  ASSIGN_OR_RETURN(Imported predictions, translator.Get(loss.predictions));
  ASSIGN_OR_RETURN(predictions, translator.In(predictions, InOrder(2), "accuracy"));
  ASSIGN_OR_RETURN(Imported labels, translator.Get(loss.labels));
  if (loss.of_labels) {
    ASSIGN_OR_RETURN(labels, translator.In(labels, InOrder(2), "accuracy"));
    return LabelMetrics(predictions.node, labels.node, translator);
  }
  ASSIGN_OR_RETURN(std::string accuracy, translator.Add("accuracy", "accuracy", {predictions.node, labels.node}));
  return std::vector<std::string>{std::move(accuracy)};
}

}  // namespace partita::torch_export

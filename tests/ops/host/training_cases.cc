// Of the table of nodes that all host kernels are run on: losses, what they are made of, and updates of states.
#include "graph/optimizer/optimizer.h"
#include "ops/registry.h"
#include "tests/ops/host/case_table.h"
#include "tests/ops/update_rules.h"

namespace partita {
namespace {

// Of layers of several sizes: each has a count of its own.
void AddRunningTogether(CaseTable& table) {
  std::vector<LocalNode> members;
  for (const auto& [channels, count] : std::vector<std::pair<int64_t, int64_t>>{{3, 50}, {257, 12}, {1, 784}}) {
    const TensorType stats{DType::kF64, {channels % 2 + 1, 2, channels}}, vector = F32({channels});
    members.push_back(
        WholeNode("batch_norm_running", {{"momentum", 0.1}, {"count", count}}, {stats, vector, vector, I32({})}));
  }
  table.AddNode(Together(members));
}

// Parameters of odd sizes, one of them a scalar. Rate and clip are the same for all (SuitableInputs).
void AddUpdatesTogether(CaseTable& table) {
  for (const bool clipped : {false, true}) {
    const std::optional<TensorType> clip = clipped ? std::optional(F32({})) : std::nullopt;
    std::vector<LocalNode> plain, momentum;
    for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{1031}, Shape{4, 4, 4}}) {
      const TensorType x = F32(shape);
      plain.push_back(WholeNode("sgd", {{"weight_decay", 0.01}}, {x, x, F32({}), I32({}), clip}));
      momentum.push_back(WholeNode("sgd_momentum", {{"weight_decay", 0.01}, {"momentum", 0.9}, {"nesterov", clipped}},
                                   {x, x, x, F32({}), I32({}), clip}));
    }
    table.AddNode(Together(plain));
    table.AddNode(Together(momentum));
  }
}

// The ops of all optimizers.
void AddOptimizers(CaseTable& table) {
  std::vector<UpdatePhase> rules = UpdatePhases();
  rules.push_back({"moving_average", {{"decay", 0.9}, {"warmup", true}}, {}});
  rules.push_back({"carry", {}, {}});
  for (const UpdatePhase& rule : rules) {
    for (const bool clipped : {false, true}) {
      std::vector<LocalNode> members;
      for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{70000}, Shape{4, 4, 4}}) {
        const Types inputs = UpdateTypes(rule.op, F32(shape), clipped);
        table.Add(rule.op, rule.attributes, inputs);
        members.push_back(WholeNode(rule.op, rule.attributes, inputs));
      }
      table.AddNode(Together(members));
    }
  }
}

}  // namespace

void AddLosses(CaseTable& table) {
  for (const auto& [n, classes] : std::vector<std::pair<int64_t, int64_t>>{{1, 2}, {64, 10}, {37, 301}}) {
    const TensorType logits = F32({n, classes}), labels = I32({n}), weights = F32({n});
    table.Add("softmax", {}, {logits});
    table.Add("softmax_grad", {}, {logits, logits});
    table.Add("log_softmax", {}, {logits});
    table.Add("log_softmax_grad", {}, {logits, logits});
    table.Add("accuracy", {{"top", int64_t{2}}}, {logits, labels, weights});
    table.Add("accuracy", {}, {logits, labels, std::nullopt});
    table.Add("accuracy", {}, {logits, labels, weights});
    table.Add("accuracy", {{"batch", int64_t{41}}}, {logits, labels, std::nullopt});
    table.Add("softmax_cross_entropy", {{"batch", int64_t{41}}}, {logits, labels, std::nullopt});
    table.Add("softmax_cross_entropy_grad", {{"batch", int64_t{41}}}, {logits, labels, std::nullopt, F32({})});
    for (const double smoothing : {0.0, 0.1}) {
      const Attributes attributes{{"label_smoothing", smoothing}};
      table.Add("softmax_cross_entropy", attributes, {logits, labels, std::nullopt});
      table.Add("softmax_cross_entropy", attributes, {logits, labels, weights});
      table.Add("softmax_cross_entropy_grad", attributes, {logits, labels, weights, F32({})});
      table.Add("softmax_cross_entropy_grad", attributes, {logits, labels, std::nullopt, F32({})});
      const Attributes ignoring{{"label_smoothing", smoothing}, {"ignore_index", int64_t{1}}, {"reduction", "sum"}};
      table.Add("softmax_cross_entropy", ignoring, {logits, labels, weights});
      table.Add("softmax_cross_entropy_grad", ignoring, {logits, labels, weights, F32({})});
    }
    table.Add("accuracy", {{"ignore_index", int64_t{1}}, {"reduction", "sum"}}, {logits, labels, weights});
    const Attributes counted{{"ignore_index", int64_t{1}}, {"dtype", std::string("f32")}};
    table.Add("count_labels", counted, {labels, std::nullopt});
    table.Add("count_labels", counted, {labels, weights});
  }
}

void AddSplitSoftmax(CaseTable& table) {
  const std::vector<std::pair<int64_t, int64_t>> sizes = {{1, 1}, {64, 10}, {5, 32}, {5, 33}, {37, 301}, {3, 2050}};
  for (const auto& [n, classes] : sizes) {
    const TensorType x = F32({n, classes}), labels = I32({n}), row = F32({n});
    table.Add("row_maximum", {}, {x});
    table.Add("row_exponentials", {}, {x, row});
    table.Add("row_exponentials_grad", {}, {x, row, row});
    table.Add("softmax_normalize", {}, {x, row, row});
    table.Add("softmax_normalize_grad", {}, {x, x, row});
    table.Add("log_softmax_normalize", {}, {x, row, row});
    table.Add("log_softmax_normalize_grad", {}, {x, row});
    table.Add("cross_entropy_sum_grad", {}, {row, labels, row, F32({})});
    table.Add("cross_entropy_sum_grad", {{"batch", int64_t{101}}}, {row, labels, std::nullopt, F32({})});
    Attributes ignoring{{"ignore_index", int64_t{1}}, {"reduction", "sum"}};
    table.Add("cross_entropy_sum_grad", ignoring, {row, labels, row, F32({})});
    for (const double smoothing : {0.0, 0.1}) {
      const Attributes attributes{{"label_smoothing", smoothing}};
      table.Add("cross_entropy", attributes, {x, labels, row, row, row});
      table.Add("cross_entropy", attributes, {x, labels, std::nullopt, row, row});
      table.Add("cross_entropy_logits_grad", attributes, {x, labels, row, F32({})});
      table.Add("cross_entropy_logits_grad", attributes, {x, labels, std::nullopt, F32({})});
      ignoring.Set("label_smoothing", smoothing);
      table.Add("cross_entropy", ignoring, {x, labels, row, row, row});
      table.Add("cross_entropy_logits_grad", ignoring, {x, labels, row, F32({})});
    }
  }
}

void AddErrors(CaseTable& table) {
  for (const Shape& shape : {Shape{1}, Shape{70001}, Shape{37, 5}, Shape{6, 9, 40, 3}}) {
    const TensorType x = F32(shape), weights = F32({shape[0]});
    const Attributes batch{{"batch", int64_t{41}}};
    table.Add("mean_squared_error", {}, {x, x, std::nullopt});
    table.Add("mean_squared_error", batch, {x, x, weights});
    table.Add("mean_squared_error_grad", {}, {x, x, weights, F32({})});
    table.Add("mean_squared_error_grad", batch, {x, x, std::nullopt, F32({})});
  }
}

void AddUpdates(CaseTable& table) {
  AddRunningTogether(table);
  AddUpdatesTogether(table);
  AddOptimizers(table);
}

}  // namespace partita

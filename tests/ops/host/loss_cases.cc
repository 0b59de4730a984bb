// Of the table of nodes that all host kernels are run on: losses, and what they are made of.
#include "tests/ops/host/case_table.h"

namespace partita {

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
    }
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
    table.Add("cross_entropy_sum_grad", {}, {row, row, F32({})});
    table.Add("cross_entropy_sum_grad", {{"batch", int64_t{101}}}, {row, std::nullopt, F32({})});
    for (const double smoothing : {0.0, 0.1}) {
      const Attributes attributes{{"label_smoothing", smoothing}};
      table.Add("cross_entropy", attributes, {x, labels, row, row, row});
      table.Add("cross_entropy", attributes, {x, labels, std::nullopt, row, row});
      table.Add("cross_entropy_logits_grad", attributes, {x, labels, row, F32({})});
      table.Add("cross_entropy_logits_grad", attributes, {x, labels, std::nullopt, F32({})});
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

}  // namespace partita

// Losses and what they are made of, whole and in parts of the classes.
#include "tests/ops/case_list.h"

namespace partita {
namespace {

// One of the drawn labels counts nothing.
const Attributes kIgnoring = {
    {"label_smoothing", 0.1}, {"reduction", std::string("sum")}, {"ignore_index", int64_t{2}}};

}  // namespace

void AddClassification(Cases& cases) {
  for (const char* op : {"softmax", "log_softmax"}) {
    cases.Add(op, "dense", {}, {Free({5, 7})});
    cases.Add(op, "sequence", {}, {Free({2, 3, 5})});
  }
  cases.Add("softmax", "heads", {}, {Free({2, 3, 2, 4})});
  cases.Add("softmax_cross_entropy", "sequence", {{"label_smoothing", 0.1}},
            {Free({3, 4, 5}), Integers({3, 4}, 5), Fixed({3}, 0, 1)});
  cases.Add("softmax_cross_entropy", "places", {{"label_smoothing", 0.1}, {"reduction", "sum"}},
            {Free({3, 4, 5}), Integers({3, 4}, 5), Fixed({3, 4}, 0, 1)});
  cases.Add("softmax_cross_entropy", "ignored", kIgnoring, {Free({3, 4, 5}), Integers({3, 4}, 5), Fixed({3, 4}, 0, 1)});
  for (const double smoothing : {0.0, 0.1}) {
    const std::string variant = smoothing > 0 ? "smoothed" : "plain";
    const Attributes attributes = {{"label_smoothing", smoothing}};
    cases.Add("softmax_cross_entropy", variant, attributes, {Free({5, 7}), Integers({5}, 7), std::nullopt});
    cases.Add("softmax_cross_entropy", variant + "_weighted", attributes,
              {Free({7, 3}), Integers({7}, 3), Fixed({7}, 0, 1)});
  }
}

// In pieces: maximum and sum are numbers of their own here, not those of the row.
void AddSplitSoftmax(Cases& cases) {
  const CaseInput sum{{DType::kF64, {5}}, true, Fill::kUniform, 0.5, 3};
  cases.Add("row_exponentials", "dense", {}, {Free({5, 7}), Fixed({5})});
  cases.Add("log_softmax_normalize", "dense", {}, {Free({5, 7}), Fixed({5}), sum});
  cases.Add("softmax_normalize", "dense", {}, {Free({5, 7}), Fixed({5}), sum});
  const CaseInput sums{{DType::kF64, {3, 4}}, true, Fill::kUniform, 0.5, 3};
  cases.Add("row_exponentials", "sequence", {}, {Free({3, 4, 5}), Fixed({3, 4})});
  cases.Add("softmax_normalize", "sequence", {}, {Free({3, 4, 5}), Fixed({3, 4}), sums});
  cases.Add("cross_entropy", "sequence", {{"label_smoothing", 0.1}},
            {Free({3, 4, 5}), Integers({3, 4}, 5), Fixed({3}, 0, 1), Fixed({3, 4}), sums});
  cases.Add("cross_entropy", "places", {{"label_smoothing", 0.1}, {"reduction", "sum"}},
            {Free({3, 4, 5}), Integers({3, 4}, 5), Fixed({3, 4}, 0, 1), Fixed({3, 4}), sums});
  cases.Add("cross_entropy", "ignored", kIgnoring,
            {Free({3, 4, 5}), Integers({3, 4}, 5), Fixed({3}, 0, 1), Fixed({3, 4}), sums});
  for (const double smoothing : {0.0, 0.1}) {
    for (const bool weighted : {false, true}) {
      cases.Add(
          "cross_entropy", std::string(smoothing > 0 ? "smoothed" : "plain") + (weighted ? "_weighted" : ""),
          {{"label_smoothing", smoothing}},
          {Free({5, 7}), Integers({5}, 7), weighted ? std::optional(Fixed({5}, 0, 1)) : std::nullopt, Fixed({5}), sum});
    }
  }
}

void AddSplitSoftmaxOthers(Cases& cases) {
  const CaseInput sum = Fixed({5}, 0.5, 3);
  cases.Add("row_maximum", "dense", {}, {Fixed({5, 7})});
  cases.Add("row_exponentials_grad", "dense", {}, {Fixed({5, 7}), Fixed({5}), Fixed({5})});
  cases.Add("log_softmax_normalize_grad", "dense", {}, {Fixed({5, 7}), sum});
  cases.Add("softmax_normalize_grad", "dense", {}, {Fixed({5, 7}, 0, 1), Fixed({5, 7}), sum});
  const CaseInput sums = Fixed({3, 4}, 0.5, 3), labels = Integers({3, 4}, 5);
  cases.Add("cross_entropy_sum_grad", "sequence", {}, {sums, labels, Fixed({3}, 0, 1), Fixed({})});
  Attributes ignoring = kIgnoring;
  cases.Add("cross_entropy_logits_grad", "ignored", ignoring, {Fixed({3, 4, 5}), labels, std::nullopt, Fixed({})});
  ignoring.Remove("label_smoothing");
  cases.Add("cross_entropy_sum_grad", "ignored", ignoring, {sums, labels, std::nullopt, Fixed({})});
  for (const bool weighted : {false, true}) {
    const std::optional<CaseInput> weight = weighted ? std::optional(Fixed({5}, 0, 1)) : std::nullopt;
    const std::string suffix = weighted ? "_weighted" : "";
    for (const double smoothing : {0.0, 0.1}) {
      cases.Add("cross_entropy_logits_grad", (smoothing > 0 ? "smoothed" : "plain") + suffix,
                {{"label_smoothing", smoothing}}, {Fixed({5, 7}), Integers({5}, 7), weight, Fixed({})});
    }
    cases.Add("cross_entropy_sum_grad", "dense" + suffix, {}, {sum, Integers({5}, 7), weight, Fixed({})});
  }
}

void AddClassificationGradients(Cases& cases) {
  cases.Add("log_softmax_grad", "dense", {}, {Fixed({5, 7}, -3, 0), Fixed({5, 7})});
  cases.Add("softmax_grad", "sequence", {}, {Fixed({2, 3, 5}, 0, 1), Fixed({2, 3, 5})});
  const CaseInput labels = Integers({3, 4}, 5);
  const Attributes counted = {{"ignore_index", int64_t{2}}, {"dtype", std::string("f64")}};
  cases.Add("count_labels", "plain", counted, {labels, std::nullopt});
  cases.Add("count_labels", "weighted", counted, {labels, Fixed({3}, 0, 1)});
  cases.Add("accuracy", "ignored", {{"reduction", "sum"}, {"ignore_index", int64_t{2}}},
            {Fixed({3, 4, 5}), labels, Fixed({3}, 0, 1)});
  cases.Add("softmax_cross_entropy_grad", "ignored", kIgnoring, {Fixed({3, 4, 5}), labels, std::nullopt, Fixed({})});
  for (const int64_t top : {1, 3}) {
    const std::string variant = "top" + std::to_string(top);
    cases.Add("accuracy", variant, {{"top", top}}, {Fixed({7, 5}), Integers({7}, 5), std::nullopt});
    cases.Add("accuracy", variant + "_sequence", {{"top", top}},
              {Fixed({3, 4, 5}), Integers({3, 4}, 5), Fixed({3}, 0, 1)});
    cases.Add("accuracy", variant + "_places", {{"top", top}, {"reduction", "sum"}},
              {Fixed({3, 4, 5}), Integers({3, 4}, 5), Fixed({3, 4}, 0, 1)});
  }
  for (const double smoothing : {0.0, 0.1}) {
    const std::string variant = smoothing > 0 ? "smoothed" : "plain";
    const Attributes attributes = {{"label_smoothing", smoothing}};
    cases.Add("softmax_cross_entropy_grad", variant, attributes,
              {Fixed({5, 7}), Integers({5}, 7), std::nullopt, Fixed({})});
    cases.Add("softmax_cross_entropy_grad", variant + "_weighted", attributes,
              {Fixed({7, 3}), Integers({7}, 3), Fixed({7}, 0, 1), Fixed({})});
  }
}

}  // namespace partita

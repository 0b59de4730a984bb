// Rows that ids choose: of few rows, so that many ids choose the same.
#include "tests/ops/case_list.h"

namespace partita {

void AddRows(Cases& cases) {
  cases.Add("embedding", "dense", {}, {Free({5, 3}), Integers({7}, 5)});
  cases.Add("embedding", "sequence", {}, {Free({5, 4}), Integers({3, 4}, 5)});
  cases.Add("embedding", "padded", {{"padding_row", int64_t{1}}}, {Free({5, 4}), Integers({3, 6}, 5)});
}

const CaseInput kDraws{{DType::kI32, {}}, false, Fill::kIntegers, 6, 12};

void AddSampledSoftmax(Cases& cases) {
  const Attributes classes = {{"classes", int64_t{9}}}, summed = {{"classes", int64_t{9}}, {"reduction", "sum"}};
  cases.Add("sampled_cross_entropy", "dense", classes,
            {Free({5}), Free({5, 4}), Integers({5}, 9), Integers({4}, 9), kDraws, std::nullopt});
  cases.Add("sampled_cross_entropy", "places", summed,
            {Free({3, 2}), Free({3, 2, 4}), Integers({3, 2}, 9), Integers({4}, 9), kDraws, Fixed({3, 2}, 0, 1)});
}

void AddRowsGradients(Cases& cases) {
  cases.Add(
      "sampled_cross_entropy_grad", "weighted", {{"classes", int64_t{9}}},
      {Fixed({3, 2}), Fixed({3, 2, 4}), Integers({3, 2}, 9), Integers({4}, 9), kDraws, Fixed({3}, 0, 1), Fixed({})});

  const Attributes rows = {{"rows", int64_t{5}}}, padded = {{"rows", int64_t{5}}, {"padding_row", int64_t{0}}};
  cases.Add("embedding_grad", "dense", rows, {std::nullopt, Integers({7}, 5), Fixed({7, 3})});
  cases.Add("embedding_grad", "padded", padded, {std::nullopt, Integers({3, 4}, 5), Fixed({3, 4, 2})});
  cases.Add("merge_rows", "one", {{"padding_rows", Ints{-1}}}, {Integers({7}, 4), Fixed({7, 3})});
  cases.Add("merge_rows", "several", {{"padding_rows", Ints{0, -1}}},
            {Integers({3, 4}, 5), Fixed({3, 4, 5}), Integers({7}, 9), Fixed({7, 5})});
  // Of ids that may come twice, which an update takes one after the other.
  const CaseInput w = Fixed({9, 4}), slot = Fixed({9, 4}, 0.1, 1), ids = Integers({6}, 9), g = Fixed({6, 4});
  const CaseInput rate = Fixed({}, 0, 1);
  cases.Add("sgd_rows", "plain", {}, {w, ids, g, rate, Applied(), std::nullopt});
  cases.Add("sgd_rows", "clipped", {{"rate_factor", 0.3}}, {w, ids, g, rate, Applied(), Fixed({}, 0.2, 1)});
  cases.Add("adagrad_rows", "plain", {}, {w, ids, g, slot, rate, Applied(), std::nullopt});
  cases.Add("adam_rows", "plain", {}, {w, ids, g, slot, slot, rate, Applied(), std::nullopt, Integers({}, 60)});
}

}  // namespace partita

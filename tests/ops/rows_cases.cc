// Rows that ids choose: of few rows, so that many ids choose the same.
#include "tests/ops/case_list.h"

namespace partita {

void AddRows(Cases& cases) {
  cases.Add("embedding", "dense", {}, {Free({5, 3}), Integers({7}, 5)});
  cases.Add("embedding", "sequence", {}, {Free({5, 4}), Integers({3, 4}, 5)});
  cases.Add("embedding", "padded", {{"padding_row", int64_t{1}}}, {Free({5, 4}), Integers({3, 6}, 5)});
}

void AddRowsGradients(Cases& cases) {
  const Attributes rows = {{"rows", int64_t{5}}}, padded = {{"rows", int64_t{5}}, {"padding_row", int64_t{0}}};
  cases.Add("embedding_grad", "dense", rows, {std::nullopt, Integers({7}, 5), Fixed({7, 3})});
  cases.Add("embedding_grad", "padded", padded, {std::nullopt, Integers({3, 4}, 5), Fixed({3, 4, 2})});
}

}  // namespace partita

// Sums over dimensions, what is the same along dimensions, and errors between numbers.
#include "tests/ops/case_list.h"

namespace partita {

void AddSums(Cases& cases) {
  const std::vector<std::pair<std::string, Ints>> axes = {
      {"all", {}}, {"samples", {0}}, {"pixels", {1, 2}}, {"channels", {3}}, {"apart", {0, 2}}};
  for (const char* op : {"sum", "mean"}) {
    for (const auto& [variant, over] : axes) cases.Add(op, variant, {{"axes", over}}, {Free({3, 5, 3, 2})});
    cases.Add(op, "kept_sizes", {{"axes", Ints{0, 2}}, {"keep_sizes", true}}, {Free({3, 5, 3, 2})});
    cases.Add(op, "vector", {}, {Free({7})});
    cases.Add(op, "rows", {{"axes", Ints{1}}}, {Free({5, 3})});
  }
  cases.Add("mean", "batch", {{"axes", Ints{0, 1}}, {"batch", int64_t{12}}}, {Free({4, 3, 2})});
  cases.Add("expand", "scalar", {{"axes", Ints{0, 1}}, {"sizes", Ints{5, 3}}}, {Free({})});
  cases.Add("expand", "rows", {{"axes", Ints{1}}, {"sizes", Ints{3}}}, {Free({5})});
  cases.Add("expand_like", "rows", {{"axes", Ints{1}}}, {Fixed({5, 3}), Free({5})});
  cases.Add("expand_like", "samples", {{"axes", Ints{0}}}, {Fixed({4, 5, 3}), Free({5, 3})});
  cases.Add("expand_like", "apart", {{"axes", Ints{1, 3}}}, {Fixed({3, 2, 5, 4}), Free({3, 5})});
  cases.Add("expand", "apart", {{"axes", Ints{0, 2}}, {"sizes", Ints{4, 3}}}, {Free({5, 2})});
}

void AddErrors(Cases& cases) {
  for (const auto& [variant, shape] : std::vector<std::pair<std::string, Shape>>{{"vector", {7}}, {"dense", {5, 3}}}) {
    const CaseInput weights = Fixed({shape[0]}, 0, 1);
    cases.Add("mean_squared_error", variant, {}, {Free(shape), Free(shape), std::nullopt});
    cases.Add("mean_squared_error", variant + "_weighted", {}, {Free(shape), Free(shape), weights});
  }
  cases.Add("mean_squared_error", "image_batch", {{"batch", int64_t{12}}},
            {Free({4, 3, 2, 3}), Free({4, 3, 2, 3}), std::nullopt});
}

void AddSumsOthers(Cases& cases) {
  const auto expanded = [](const Ints& axes, const Ints& sizes, double divisor) {
    return Attributes{{"axes", axes}, {"sizes", sizes}, {"dtype", "f64"}, {"divisor", divisor}};
  };
  cases.Add("sum_grad", "all", expanded({0, 1}, {5, 3}, 1), {std::nullopt, Fixed({})});
  cases.Add("sum_grad", "pixels", expanded({1, 2}, {5, 3}, 15), {std::nullopt, Fixed({3, 2})});
  cases.Add("sum_grad", "apart", expanded({0, 2}, {4, 3}, 12), {std::nullopt, Fixed({5, 2})});
  cases.Add("mean_squared_error_grad", "dense", {}, {Fixed({5, 3}), Fixed({5, 3}), std::nullopt, Fixed({})});
  cases.Add("mean_squared_error_grad", "image_weighted", {{"batch", int64_t{12}}},
            {Fixed({4, 3, 2, 3}), Fixed({4, 3, 2, 3}), Fixed({4}, 0, 1), Fixed({})});
}

}  // namespace partita

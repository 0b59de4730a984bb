// Ops that users write and that an entry point takes apart: they have no kernel and no gradient of their own.
#include "tests/ops/case_list.h"

namespace partita {

void AddComposites(Cases& cases) {
  const auto batch_norm = [&cases](const std::string& variant, const Shape& x, int64_t samples, bool frozen = false) {
    const Shape channels = {x.back()};
    cases.Add("batch_norm", variant, {{"statistics_samples", samples}, {"frozen", frozen}},
              {Free(x), Free(channels), Free(channels), Fixed(channels), Fixed(channels, 0.5, 2)});
  };
  batch_norm("image", {3, 4, 5, 3}, 0);
  batch_norm("dense", {7, 5}, 0);
  batch_norm("groups", {6, 3, 3, 2}, 3);
  batch_norm("frozen", {3, 4, 5, 3}, 0, true);
  batch_norm("frozen_sample", {1, 5}, 0, true);

  const CaseInput g = Free({3, 4, 8}), w = Free({2, 8});
  const std::optional<CaseInput> none;
  cases.Add("lstm", "plain", {}, {g, w, none, none, none, none});
  cases.Add("lstm", "carried", {{"carry", true}}, {g, w, none, none, none, none});
  cases.Add("lstm", "lengths", {{"reverse", true}}, {g, w, none, Free({3, 2}), Free({3, 2}), Integers({3}, 5)});
  cases.Add("lstm", "projected", {{"forget_bias", 1.0}},
            {Free({4, 3, 8}), Free({3, 8}), Free({2, 3}), none, none, none});

  const CaseInput query = Free({3, 2, 4}), keys = Free({3, 5, 4}), values = Free({3, 5, 3});
  cases.Add("attention", "plain", {}, {query, keys, values, Free({4}), Free({1}), Free({4}), none});
  cases.Add("attention", "lengths", {}, {query, keys, values, Free({4}), Free({1}), Free({4}), Integers({3}, 6)});

  const CaseInput heads = Free({3, 4, 4, 3}), grouped = Free({3, 5, 2, 3}), weighed = Free({3, 5, 2, 2});
  const std::string dot_product = "scaled_dot_product_attention";
  cases.Add(dot_product, "plain", {}, {heads, grouped, weighed, none, none, none});
  cases.Add(dot_product, "masked", {{"causal", true}}, {heads, grouped, weighed, Integers({3}, 6), none, none});
  cases.Add(dot_product, "biased", {}, {heads, grouped, weighed, none, Free({4, 4, 5}), none});
  cases.Add(dot_product, "dropped", {{"dropout_rate", 0.25}}, {heads, grouped, weighed, none, none, none});

  const CaseInput divisor{{DType::kF64, {5, 1}}, true, Fill::kUniform, 0.5, 2};
  for (const char* op : {"add", "mul", "sub", "maximum", "div"}) {
    cases.Add(op, "of_rows", {}, {Free({3, 5, 4}), divisor});
    cases.Add(op, "crossed", {}, {Free({3, 1, 4}), divisor});
  }
  const CaseInput mask{{DType::kF64, {5, 1}}, false, Fill::kIntegers, 0, 2};
  cases.Add("masked", "by_rows", {}, {Free({3, 5, 4}), mask});
  cases.Add("add", "of_three", {}, {Free({4}), Free({3, 5, 4}), Free({5, 1})});

  // Of any number of rows, which the op counts in a mean.
  const Attributes ignoring = {{"ignore_index", int64_t{-100}}};
  cases.Add("softmax_cross_entropy", "counted", ignoring, {Free({3, 4, 5}), Integers({3, 4}, 5), none});
  cases.Add("accuracy", "counted", ignoring, {Fixed({3, 4, 5}), Integers({3, 4}, 5), Fixed({3}, 0, 1)});

  for (const bool rows : {true, false}) {
    cases.Add("sampled_softmax_cross_entropy", rows ? "rows" : "dense",
              {{"samples", int64_t{4}}, {"row_gradients", rows}},
              {Free({5, 3}), Free({9, 3}), Free({9}), Integers({5}, 9), none});
  }
  cases.Add("sampled_softmax_cross_entropy", "places", {{"samples", int64_t{3}}, {"reduction", "sum"}},
            {Free({3, 2, 4}), Free({9, 4}), Free({9}), Integers({3, 2}, 9), Fixed({3, 2}, 0, 1)});
}

}  // namespace partita

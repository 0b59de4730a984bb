// Batch norms in their parts.
#include "tests/ops/case_list.h"

namespace partita {
namespace {

struct BatchNormCase {
  std::string variant;
  Shape x;
  int64_t samples;
  double groups, elements;  // groups, and elements per group and channel
};

std::vector<BatchNormCase> BatchNorms() {
  return {{"image", {3, 4, 5, 3}, 0, 1, 60},          {"dense", {7, 5}, 0, 1, 7},
          {"groups", {6, 3, 3, 2}, 3, 2, 27},         {"dense_groups", {6, 3}, 2, 3, 2},
          {"single_samples", {3, 3, 5, 2}, 1, 3, 15}, {"one_group", {5, 3, 1, 3}, 5, 1, 15}};
}

Shape StatisticsOf(const BatchNormCase& c) { return {static_cast<int64_t>(c.groups), 2, c.x.back()}; }

}  // namespace

void AddBatchNorm(Cases& cases) {
  for (const BatchNormCase& c : BatchNorms()) {
    const Shape channels = {c.x.back()};
    cases.Add("batch_norm_statistics", c.variant, {{"samples", c.samples}}, {Free(c.x), Fixed(channels)});
    for (const bool relu : {false, true}) {
      cases.Add("batch_norm_normalize", c.variant + (relu ? "_relu" : ""), {{"samples", c.samples}, {"relu", relu}},
                {Free(c.x), Statistics(StatisticsOf(c), c.elements), Fixed(channels), Free(channels), Free(channels)});
      cases.Add("batch_norm_inference", c.variant + (relu ? "_relu" : ""), {{"relu", relu}},
                {Free(c.x), Free(channels), Free(channels), Fixed(channels), Fixed(channels, 0.5, 2)});
    }
  }
}

void AddBatchNormOthers(Cases& cases) {
  for (const BatchNormCase& c : BatchNorms()) {
    const Shape channels = {c.x.back()};
    const CaseInput stats = Statistics(StatisticsOf(c), c.elements);
    const CaseInput vector = Fixed(channels);
    cases.Add("batch_norm_statistics_grad", c.variant, {{"samples", c.samples}},
              {Fixed(c.x), vector, Fixed(StatisticsOf(c))});
    cases.Add("batch_norm_running", c.variant, {{"momentum", 0.2}, {"count", static_cast<int64_t>(c.elements)}},
              {stats, vector, Fixed(channels, 0.5, 2), std::nullopt});
    cases.Add("batch_norm_running", c.variant + "_gated",
              {{"momentum", 0.2}, {"count", static_cast<int64_t>(c.elements)}},
              {stats, vector, Fixed(channels, 0.5, 2), Applied()});
    for (const bool relu : {false, true}) {
      const std::string variant = c.variant + (relu ? "_relu" : "");
      const Attributes attributes = {{"samples", c.samples}, {"relu", relu}};
      std::vector<std::optional<CaseInput>> inputs = {Fixed(c.x), Fixed(c.x), stats, vector, vector, vector};
      cases.Add("batch_norm_forward", variant, attributes, {Fixed(c.x), vector, vector, vector});
      cases.Add("batch_norm_forward_add", variant, attributes, {Fixed(c.x), vector, vector, vector, Fixed(c.x)});
      cases.Add("batch_norm_normalize_add", variant, attributes,
                {Fixed(c.x), stats, vector, vector, vector, Fixed(c.x)});
      cases.Add("batch_norm_backward", variant, attributes, inputs);
      cases.Add("batch_norm_gradient_sums", variant, attributes, inputs);
      cases.Add("batch_norm_normalize_input_grad", variant, attributes, inputs);
      inputs.push_back(Fixed(c.x));
      cases.Add("batch_norm_gradient_sums_relu", variant, attributes, inputs);
      cases.Add("batch_norm_backward_relu", variant, attributes, inputs);
      inputs.back() = Fixed(StatisticsOf(c));
      cases.Add("batch_norm_input_grad", variant, attributes, inputs);
    }
  }
}

}  // namespace partita

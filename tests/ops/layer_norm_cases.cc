// Layer normalization.
#include "tests/ops/case_list.h"

namespace partita {

void AddLayerNorm(Cases& cases) {
  const Attributes attributes = {{"epsilon", 0.01}};
  cases.Add("layer_norm", "dense", attributes, {Free({5, 7}), Free({7}), Free({7})});
  cases.Add("layer_norm", "sequence", attributes, {Free({2, 3, 6}), Free({6}), Free({6})});
  cases.Add("layer_norm", "image", attributes, {Free({2, 3, 2, 5}), Free({5}), Free({5})});
}

void AddLayerNormGradients(Cases& cases) {
  const Attributes attributes = {{"epsilon", 0.01}};
  cases.Add("layer_norm_input_grad", "sequence", attributes, {Fixed({2, 3, 6}), Fixed({2, 3, 6}), Fixed({6})});
  cases.Add("layer_norm_parameter_grad", "sequence", {}, {Fixed({2, 3, 6}), Fixed({2, 3, 6}), Fixed({2, 3, 2})});
}

}  // namespace partita

// Updates launched together in mixed precision: some read their gradient in bf16, some write what they make in bf16,
// too, some both or neither. Each is the f32 update alone, between casts.
#ifndef PARTITA_TESTS_OPS_HOST_MIXED_UPDATES_H_
#define PARTITA_TESTS_OPS_HOST_MIXED_UPDATES_H_

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/optimizer/optimizer.h"
#include "ops/registry.h"
#include "runtime/base/bf16.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/ops/update_rules.h"

namespace partita {

inline double Rounded(double value) { return static_cast<double>(Bf16(static_cast<float>(value))); }

// Nodes of one op of odd sizes, one of them a scalar, in f32.
inline std::vector<LocalNode> UpdatesOf(const UpdatePhase& rule) {
  std::vector<LocalNode> nodes;
  for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{1031}, Shape{4, 4, 4}, Shape{70001}, Shape{6}}) {
    nodes.push_back(WholeNode(rule.op, rule.attributes, UpdateTypes(rule.op, {DType::kF32, shape}, true)));
  }
  return nodes;
}

// `run(node, inputs)` gives a kernel's outputs.
template <typename Run>
void ExpectMixedUpdatesAreCasts(const UpdatePhase& rule, bool applied, const Run& run) {
  const std::vector<LocalNode> alone = UpdatesOf(rule);
  std::vector<LocalNode> mixed = alone;
  std::vector<Values> inputs = SuitableInputs(Together(alone), 3);
  const size_t in = alone[0].inputs.size(), out = alone[0].outputs.size();
  const auto narrow = [](size_t m) { return m % 2 == 0; };
  const auto rounded = [](size_t m) { return m % 3 != 1; };
  for (size_t m = 0; m < mixed.size(); ++m) {
    inputs[m * in + 2 + rule.slots.size() + 1] = {applied ? 1.0 : 0.0};
    LocalTensor copy = mixed[m].outputs[0];
    copy.dtype = DType::kBF16;
    mixed[m].outputs.push_back(rounded(m) ? copy : LocalTensor{DType::kBF16, {0}, WholeBox({0})});
    if (!narrow(m)) continue;
    mixed[m].inputs[1]->dtype = DType::kBF16;
    for (double& g : inputs[m * in + 1]) g = Rounded(g);
  }
  const std::vector<Values> found = run(Together(mixed), inputs);
  ASSERT_EQ(found.size(), mixed.size() * (out + 1));
  for (size_t m = 0; m < mixed.size(); ++m) {
    const auto own = inputs.begin() + static_cast<std::ptrdiff_t>(m * in);
    const std::vector<Values> expected = run(alone[m], {own, own + static_cast<std::ptrdiff_t>(in)});
    for (size_t o = 0; o < out; ++o) EXPECT_EQ(found[m * (out + 1) + o], expected[o]) << rule.op << " member " << m;
    Values copy = rounded(m) ? expected[0] : Values();
    for (double& value : copy) value = Rounded(value);
    EXPECT_EQ(found[m * (out + 1) + out], copy) << rule.op << " member " << m;
    EXPECT_EQ(expected[0] == inputs[m * in], !applied) << rule.op << " member " << m;
  }
}

}  // namespace partita

#endif  // PARTITA_TESTS_OPS_HOST_MIXED_UPDATES_H_

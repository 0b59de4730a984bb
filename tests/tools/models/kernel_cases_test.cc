#include "tools/models/kernels/kernel_cases.h"

#include <gtest/gtest.h>

#include <map>

#include "graph/ir/node_flops.h"
#include "graph/ir/op_definition.h"

namespace partita {
namespace {

// Their products are nearly all that the ops say they compute; what happens to the units is the rest.
TEST(KernelCases, LstmsAreThereAndBackWithAndWithoutAProjection) {
  const auto cases = KernelCases(16, 1024);
  ASSERT_TRUE(cases.ok()) << cases.status();
  std::map<std::string, int> seen;
  for (const KernelCase& c : *cases) {
    if (!c.node.op->name.starts_with("lstm")) continue;
    ++seen[c.node.op->name];
    EXPECT_LT(c.flops, FlopsOf(c.node)) << c.node.op->name;
    EXPECT_GT(c.flops, 0.95 * FlopsOf(c.node)) << c.node.op->name;
  }
  EXPECT_EQ(seen,
            (std::map<std::string, int>{{"lstm_steps", 2}, {"lstm_steps_grad", 1}, {"lstm_projected_steps_grad", 1}}));
}

// Of each direction those of three depthwise convolutions, of which windows of 3 x 3 are measured as moves.
TEST(KernelCases, HasConvolutionsWithGroups) {
  const auto cases = KernelCases(16, 1024);
  ASSERT_TRUE(cases.ok()) << cases.status();
  std::map<std::string, int> grouped, moves;
  for (const KernelCase& c : *cases) {
    if (!c.node.op->name.starts_with("conv2d") || c.node.attributes.Int("groups") == 1) continue;
    ++(c.flops > 0 ? grouped : moves)[c.node.op->name];
    if (c.flops == 0 || c.node.op->name == "conv2d_epilogue") continue;
    EXPECT_EQ(c.flops, FlopsOf(c.node));
  }
  const auto each = [](int count) {
    std::map<std::string, int> counts;
    for (const char* op : {"conv2d", "conv2d_epilogue", "conv2d_input_grad", "conv2d_weight_grad"}) counts[op] = count;
    return counts;
  };
  EXPECT_EQ(grouped, each(3));
  EXPECT_EQ(moves, each(1));
}

}  // namespace
}  // namespace partita

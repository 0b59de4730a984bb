// Kernels that read and write columns of wider rows where they lie: the bits of dense rows, and nothing beside the
// columns is touched.
#include <gtest/gtest.h>

#include <utility>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "ops/host/kernel_table.h"
#include "tests/ops/host/columns/column_case.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

bool TakesColumns(const HostKernelEntry& entry) {
  return !entry.columns.inputs.empty() || !entry.columns.outputs.empty();
}

void ExpectTheBitsOfDenseRows(const HostKernelEntry& entry, const LocalNode& dense, const KernelCase& c) {
  const RunOptions options{.family = entry.name, .threads = 2};
  const std::vector<Values> inputs = Stored(dense, c.inputs), expected = Outputs(dense, inputs, options);
  for (const auto& [first, more] : {std::pair<int64_t, int64_t>{4, 4}, {3, 2}, {0, 1}}) {
    const LocalNode node = WithColumns(dense, entry.columns, first, more);
    const std::vector<Values> found = Outputs(node, InRows(node, inputs), options);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t o = 0; o < found.size(); ++o) {
      EXPECT_EQ(Distance(found[o], InRows(node, node.inputs.size() + o, expected[o])), 0)
          << entry.name << " " << c.name << " output " << o << " from column " << first;
    }
  }
}

TEST(Columns, HaveTheBitsOfDenseRows) {
  for (const KernelCase& c : AllCases()) {
    for (const HostKernelEntry& entry : HostKernelEntries(c.node.op->name)) {
      if (!TakesColumns(entry)) continue;
      ExpectTheBitsOfDenseRows(entry, c.node, c);
      ExpectTheBitsOfDenseRows(entry, InBf16(c.node), c);
    }
  }
}

// Another kernel is chosen of what is too wide, so the columns stay a launch (graph/lower/view_columns.h).
TEST(Columns, AreTakenIfTheyAreNotTooWide) {
  if (HostKernelNames("batch_norm_statistics").size() == 1) GTEST_SKIP() << "none but the reference";
  for (const int64_t channels : {2048, 2049}) {
    const TensorType x{DType::kF32, {2, channels}}, vector{DType::kF32, {channels}};
    LocalNode node = WholeNode("batch_norm_statistics", {}, {x, vector});
    const KernelChoice dense = *HostKernels().Choose(node);
    EXPECT_EQ(dense.kernel, "fast_batch_norm_statistics");
    EXPECT_TRUE(HostKernels().TakesColumns(node, dense, 0));
    EXPECT_FALSE(HostKernels().TakesColumns(node, dense, 1));
    EXPECT_FALSE(HostKernels().TakesColumns(node, dense, 2));
    node = WithColumns(node, {{0}, {}}, 1, 4);
    EXPECT_EQ(HostKernels().Choose(node)->kernel == dense.kernel, channels == 2048);
  }
}

}  // namespace
}  // namespace partita

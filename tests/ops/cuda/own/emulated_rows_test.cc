// Rows that ids choose, of ops/cuda without a GPU: ids that are no row, and blocks of the rows.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/ir/op_definition.h"
#include "ops/cuda/kernel_table.h"
#include "tests/ops/cuda/own/emulated.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

// It cannot be refused on a device: it leaves the host's error as a word, and what it reads is not a number.
TEST(EmulatedRows, AnIdThatIsNoRowLeavesAWord) {
  LocalNode node = WholeNode("embedding", {}, {TensorType{DType::kF32, {9, 4}}, TensorType{DType::kI32, {4, 3}}});
  Narrow(*node.inputs[1], 0, 2, 4);
  Narrow(node.outputs[0], 0, 2, 4);
  for (const double bad : {-3.0, 9.0, 5.0}) {
    NoForeignKernels libraries("no library here");
    const PreparedCudaKernel kernel = *CudaKernelEntries("embedding").back().prepare(node, libraries);
    uint64_t word = 0;
    const auto run = [&](const KernelArguments& arguments) -> absl::Status {
      KernelArguments asked = arguments;
      asked.fault = &word;
      CountingQueue queue;
      return (*kernel.bind(asked))(&queue);
    };
    const auto read = RunOnBuffers(node, {RandomValues(36, 3), {0, 1, 2, 3, bad, 0}}, {}, 0, "embedding", run);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(std::isnan((*read)[0][4 * 4]), bad != 5) << bad;
    EXPECT_EQ(word != 0, bad != 5) << bad;
    if (word == 0) continue;
    EXPECT_EQ(kernel.explain(word).message(), "sample 3 of the batch has id " + std::to_string(static_cast<int>(bad)) +
                                                  " at place 1, allowed are 0 to 8");
  }
}

// A rank that holds the middle rows reads zeros for the others, and adds up the gradients of its own.
TEST(EmulatedRows, OfABlockAreSummands) {
  const TensorType table{DType::kF32, {4, 2}}, ids{DType::kI32, {4}}, dy{DType::kF32, {4, 2}};
  LocalNode forward = WholeNode("embedding", {}, {table, ids});
  LocalNode gradient = WholeNode("embedding_grad", {{"rows", int64_t{4}}}, {std::nullopt, ids, dy});
  Narrow(*forward.inputs[0], 0, 1, 3);
  Narrow(gradient.outputs[0], 0, 1, 3);
  EXPECT_EQ(Emulated(forward, {{10, 11, 20, 21}, {2, 0, 3, 1}})[0], (Values{20, 21, 0, 0, 0, 0, 10, 11}));
  EXPECT_EQ(Emulated(gradient, {{}, {2, 0, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8}})[0], (Values{7, 8, 1, 2}));
}

}  // namespace
}  // namespace partita

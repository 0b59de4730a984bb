// The launches of LSTMs on fibers, of sizes that tests/ops/host/sequence_cases.cc does not have: products of several
// tiles and of parts of k, with and without vectors, and with the products of a library.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/cuda/kernel/lstm_loop.h"
#include "ops/cuda/launch/product_tiles.h"
#include "tests/ops/cuda/fibers/own_kernel.h"

namespace partita::fibers {
namespace {

struct Sizes {
  int64_t samples, places, units, outputs;
};

// Tiles and parts of k that are not full; what fills vectors of either dtype; a single sample.
constexpr Sizes kSizes[] = {{65, 4, 24, 24}, {65, 4, 72, 8}, {5, 4, 264, 8}, {1, 4, 9, 5}};

// Forward and backward; `all`: with everything that may be absent.
std::vector<LocalNode> NodesOf(const Sizes& s, bool all, bool reverse) {
  const auto given = [&](TensorType type) { return all ? std::optional(std::move(type)) : std::nullopt; };
  const TensorType g{DType::kF32, {s.samples, s.places, 4 * s.units}}, h{DType::kF32, {s.samples, s.places, s.outputs}};
  const TensorType c{DType::kF32, {s.samples, s.places, s.units}}, w{DType::kF32, {s.outputs, 4 * s.units}};
  const TensorType projection{DType::kF32, {s.units, s.outputs}};
  const auto h0 = given({DType::kF32, {s.samples, s.outputs}}), c0 = given({DType::kF32, {s.samples, s.units}});
  const auto lengths = given({DType::kI32, {s.samples}});
  const Attributes backward{{"reverse", reverse}};
  Attributes forward = backward;
  forward.Set("forget_bias", 1.0);
  if (s.outputs == s.units) {
    return {WholeNode("lstm_steps", forward, {g, w, std::nullopt, h0, c0, lengths}),
            WholeNode("lstm_steps_grad", backward, {h, g, c, h, w, h0, c0, lengths})};
  }
  return {WholeNode("lstm_steps", forward, {g, w, projection, h0, c0, lengths}),
          WholeNode("lstm_projected_steps_grad", backward, {h, g, c, h, w, h0, c0, lengths, projection})};
}

std::vector<LocalNode> AllNodes() {
  std::vector<LocalNode> nodes;
  for (const Sizes& sizes : kSizes) {
    for (const bool all : {false, true}) {
      for (LocalNode& node : NodesOf(sizes, all, all && sizes.samples > 5)) nodes.push_back(std::move(node));
    }
  }
  return nodes;
}

std::string NameOf(const LocalNode& node) { return node.op->name + " " + ToString(node.outputs[0].shape()); }

TEST(LstmLaunches, SizesHaveSeveralTilesAndParts) {
  EXPECT_EQ(MakeProductTiles({65, 96, 24}).tiles(), 4);
  EXPECT_EQ(MakeProductTiles({65, 96, 24}).parts, 1);
  EXPECT_EQ(MakeProductTiles({65, 8, 288, false, true}).tiles(), 2);
  EXPECT_EQ(MakeProductTiles({65, 8, 288, false, true}).parts, 2);
  EXPECT_EQ(MakeProductTiles({5, 8, 264}).parts, 2);
  EXPECT_EQ(MakeProductTiles({5, 8, 1056, false, true}).parts, 7);
  EXPECT_EQ(MakeProductTiles({128, 1024, 4096, false, true}).parts, 4);  // GNMT's, on as many blocks as
  EXPECT_EQ(MakeProductTiles({128, 4096, 1024}).parts, 1);               // forward
  EXPECT_EQ(MakeProductTiles({128, 4096, 1024}).blocks(), MakeProductTiles({128, 1024, 4096}).blocks());
  for (const int64_t k : {1, 31, 127, 128, 255, 256, 257, 5000}) {
    const ProductTiles tiles = MakeProductTiles({3, 5, k});
    EXPECT_GT(tiles.part_k * tiles.parts, k - 1) << k;
    EXPECT_LT(tiles.part_k * (tiles.parts - 1), k) << k;
  }
}

// Each launch multiplies by itself: one for each product, of which a state that is zero has none. Backward, h0's
// gradient is one more.
TEST(LstmLaunches, AreOneForEachProduct) {
  for (const LocalNode& node : AllNodes()) {
    const std::vector<Values> inputs = SuitableInputs(node, 3);
    const absl::StatusOr<FiberRun> run = RunOnFibers(node, inputs);
    ASSERT_TRUE(run.ok()) << NameOf(node) << ": " << run.status();
    ExpectNear(node, run->outputs, Reference(node, inputs));
    const bool forward = node.op->name == "lstm_steps";
    const bool projected = node.inputs.size() > 8 || (forward && node.inputs[2].has_value());
    const int places = static_cast<int>(node.outputs[0].shape()[1]);
    EXPECT_EQ(run->launches, places * (projected ? 2 : 1) + (forward ? 0 : 1)) << NameOf(node);
    EXPECT_TRUE(OnFibers(node, inputs, {}, 2) == run->outputs) << NameOf(node) << " depends on the order of threads";
    ExpectNear(node, OnFibers(node, inputs, {.off_by_one = true}), Reference(node, inputs));
  }
}

TEST(LstmLaunches, ComputeInBf16) {
  for (const LocalNode& wide : AllNodes()) {
    const LocalNode node = InBf16(wide);
    SCOPED_TRACE(NameOf(node));
    const std::vector<Values> inputs = Stored(node, SuitableInputs(wide, 3)), expected = Reference(wide, inputs);
    for (const bool off_by_one : {false, true}) {
      ExpectNear(node, OnFibers(node, inputs, {.off_by_one = off_by_one}), expected);
    }
  }
}

// As of a library: the sums are in memory where the launch begins.
absl::StatusOr<PreparedCudaKernel> WithProductsBefore(const LocalNode& node) {
  ASSIGN_OR_RETURN(const LstmLoop loop, LstmLoop::Of(node));
  const DType wide = AccumulatorOf(loop.dtype());
  int64_t elements = 0;
  for (const launch::LstmProduct product : loop.products()) {
    const launch::MatMulSizes sizes = SizesOf(product, loop.sizes());
    elements = std::max(elements, sizes.m * sizes.n);
  }
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = loop.workspace_bytes() + elements * SizeOf(wide);
  kernel.bind = [loop](const KernelArguments& arguments) -> absl::StatusOr<CudaEnqueue> {
    void* const sums = static_cast<char*>(arguments.workspace) + loop.workspace_bytes();
    const auto products = [loop, sums](launch::LstmProduct product, const void* x, const void* w,
                                       CudaQueue queue) -> absl::StatusOr<launch::LstmSums> {
      RETURN_IF_ERROR(
          LaunchStatus(launch::WideMatMul(loop.dtype(), SizesOf(product, loop.sizes()), {}, x, w, sums, queue)));
      return launch::LstmSums{sums};
    };
    return CudaEnqueue(
        [loop, arguments, products](CudaQueue queue) { return loop.Enqueue(arguments, products, queue); });
  };
  return kernel;
}

TEST(LstmLaunches, TakeTheProductsOfALibrary) {
  for (const bool in_bf16 : {false, true}) {
    for (const Sizes& sizes : {Sizes{3, 4, 9, 9}, Sizes{2, 5, 7, 3}}) {
      for (const bool all : {false, true}) {
        for (const LocalNode& wide : NodesOf(sizes, all, all)) {
          const LocalNode node = in_bf16 ? InBf16(wide) : wide;
          SCOPED_TRACE(NameOf(node));
          const std::vector<Values> inputs = Stored(node, SuitableInputs(wide, 3));
          const absl::StatusOr<PreparedCudaKernel> kernel = WithProductsBefore(node);
          ASSERT_TRUE(kernel.ok()) << kernel.status();
          const absl::StatusOr<FiberRun> run = RunOnFibers(node, *kernel, inputs);
          ASSERT_TRUE(run.ok()) << run.status();
          ExpectNear(node, run->outputs, Reference(wide, inputs));
          const absl::StatusOr<LstmLoop> loop = LstmLoop::Of(node);
          ASSERT_TRUE(loop.ok()) << loop.status();
          EXPECT_EQ(run->launches, loop->library_launches());
        }
      }
    }
  }
}

}  // namespace
}  // namespace partita::fibers

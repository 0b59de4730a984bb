#include "graph/plan/launch_seconds.h"

#include <gtest/gtest.h>

#include <utility>

#include "graph/ir/op_definition.h"

namespace partita {
namespace {

// 100 flops or 100 bytes take a second, 200 of a collective two; in bf16 flops are ten times as fast.
constexpr DeviceSpeed kSpeed{
    .flops_per_second = 100, .bf16_flops_per_second = 1000, .bytes_per_second = 100, .launch_seconds = 3};
constexpr MachineSpeed kMachine{.device = kSpeed, .collective = {5, 100}};

OpDefinition OpOf(double flops) {
  OpDefinition op;
  op.name = "op";
  op.flops = [flops](const NodeView&) { return flops; };
  return op;
}

LocalNode NodeOf(const OpDefinition& op, DType dtype, int64_t elements) {
  LocalNode node;
  node.op = &op;
  const LocalTensor tensor{dtype, {elements}, WholeBox({elements})};
  node.inputs = {tensor, std::nullopt};
  node.outputs = {tensor};
  return node;
}

TEST(LaunchSeconds, AreTheLongerOfComputingAndMoving) {
  const OpDefinition little = OpOf(10), much = OpOf(5000);
  EXPECT_EQ(SecondsOf(NodeOf(little, DType::kF32, 50), kSpeed), 3 + 4);  // 2 x 200 bytes
  EXPECT_EQ(SecondsOf(NodeOf(much, DType::kF32, 50), kSpeed), 3 + 50);
  EXPECT_EQ(SecondsOf(NodeOf(much, DType::kBF16, 50), kSpeed), 3 + 5);
  EXPECT_EQ(SecondsOf(NodeOf(OpDefinition(), DType::kF32, 50), kSpeed), 3 + 4);  // an op that says nothing of flops
}

TEST(LaunchSeconds, MembersCountTogether) {
  const OpDefinition op = OpOf(500);
  LocalNode two = NodeOf(op, DType::kF32, 10);
  two.inputs.insert(two.inputs.end(), {two.inputs[0], std::nullopt});
  two.outputs.push_back(two.outputs[0]);
  two.members = 2;
  EXPECT_EQ(SecondsOf(two, kSpeed), 3 + 10);
}

template <typename Work>
LocalLaunch LaunchOf(Work work) {
  LocalLaunch launch;
  launch.work = std::move(work);
  return launch;
}

TEST(LaunchSeconds, CopiesCollectivesAndTheHost) {
  LocalCopy box;
  box.boxes.size = {5, 10};
  EXPECT_EQ(SecondsOf(LaunchOf(LocalCopies{kNoTensor, {box, box}}), kMachine), 3 + 8);  // 2 x 200, twice
  LocalCollective sum;
  sum.call.input_count = sum.call.output_count = 25;
  EXPECT_EQ(SecondsOf(LaunchOf(sum), kMachine), 5 + 2);
  EXPECT_EQ(SecondsOf(LaunchOf(LocalHost{}), kMachine), 0);
}

}  // namespace
}  // namespace partita

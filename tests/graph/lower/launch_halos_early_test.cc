// Exchanges of halos begin as soon as what they send is there, and never before another collective.
#include "graph/lower/launch_halos_early.h"

#include <gtest/gtest.h>

#include "tests/graph/schedule/schedule_testing.h"

namespace partita {
namespace {

// A rank's launches: 'p' and 'x' are the pack and the exchange of a halo, 'r' is another collective, others are
// kernels.
class LaunchHalosEarlyTest : public testing::Test {
 protected:
  LaunchHalosEarlyTest() : builder_(Mesh{{{"rows", 2}}}) {
    const Layout blocks = {AxisLayout::Split(0)};
    const Layout windows = {AxisLayout::Split(0, {}, *ParseWindows("8x3/1-1"))};
    const ValueId x = builder_.Op("fill", "x", {}, {8}, blocks);
    const ValueId halo = builder_.Move("halo_exchange", "rows", x, windows);
    const ValueId sum = builder_.Op("fill", "sum", {}, {8}, {AxisLayout::Partial()});
    const ValueId reduced = builder_.Move("all_reduce", "rows", sum, {AxisLayout::Replicate()});
    halo_ = builder_.graph.value(halo).producer;
    reduce_ = builder_.graph.value(reduced).producer;
    program_.launches.emplace_back().work = LocalHost{true, {}};
  }

  TensorId Tensor() { return program_.AddTensor({64, MemoryKind::kActivation, "t", -1, 0}); }

  LocalLaunch& Launch(const std::string& name, NodeId node) {
    LocalLaunch& launch = program_.launches.emplace_back();
    launch.name = name;
    launch.node = node;
    return launch;
  }

  TensorId Kernel(const std::string& name, const std::vector<TensorId>& inputs = {}) {
    const TensorId output = Tensor();
    LocalKernel kernel;
    for (const TensorId input : inputs) kernel.inputs.push_back({input});
    kernel.outputs = {{output}};
    Launch(name, -1).work = std::move(kernel);
    return output;
  }

  TensorId Pack(TensorId from) {
    const TensorId packed = Tensor();
    Launch("p", halo_).work = LocalCopies{kNoTensor, {{BoxCopy{}, from, packed}}};
    return packed;
  }

  TensorId Collective(const std::string& name, NodeId node, TensorId input) {
    const TensorId output = Tensor();
    Launch(name, node).work = LocalCollective{{}, input, output};
    return output;
  }

  std::string Order() {
    LaunchHalosEarly(program_, builder_.graph);
    std::string order;
    for (size_t l = 1; l < program_.launches.size(); ++l) order += program_.launches[l].name + " ";
    return order;
  }

  TestGraph builder_;
  LocalProgram program_;
  NodeId halo_ = -1, reduce_ = -1;
};

TEST_F(LaunchHalosEarlyTest, BehindWhatMakesIt) {
  const TensorId dx = Kernel("dx");
  Kernel("dw");
  Kernel("db");
  Kernel("add", {Collective("x", halo_, Pack(dx))});
  EXPECT_EQ(Order(), "dx p x dw db add ");
}

TEST_F(LaunchHalosEarlyTest, AlsoWithoutAPack) {
  const TensorId dx = Kernel("dx");
  Kernel("dw");
  Collective("x", halo_, dx);
  EXPECT_EQ(Order(), "dx x dw ");
}

TEST_F(LaunchHalosEarlyTest, NeverBeforeAnotherCollective) {
  const TensorId dx = Kernel("dx");
  Collective("r", reduce_, Kernel("dw"));
  Kernel("db");
  Collective("x", halo_, Pack(dx));
  EXPECT_EQ(Order(), "dx dw r p x db ");
}

// The second exchange counts from where the first one stands now.
TEST_F(LaunchHalosEarlyTest, OneAfterTheOther) {
  const TensorId a = Kernel("a"), b = Kernel("b");
  Kernel("c");
  Collective("x", halo_, Pack(a));
  Kernel("d");
  Collective("x", halo_, Pack(b));
  EXPECT_EQ(Order(), "a p x b p x c d ");
}

TEST_F(LaunchHalosEarlyTest, WhoSendsNothingWaitsForItsTurn) {
  Kernel("dx");
  Kernel("dw");
  Collective("x", halo_, kNoTensor);
  EXPECT_EQ(Order(), "dx dw x ");
}

TEST_F(LaunchHalosEarlyTest, OtherCollectivesStay) {
  const TensorId dx = Kernel("dx");
  Kernel("dw");
  Collective("r", reduce_, dx);
  EXPECT_EQ(Order(), "dx dw r ");
}

}  // namespace
}  // namespace partita

// Collectives between what makes their input and what reads their output run in line, and no others.
#include "graph/plan/in_line.h"

#include <gtest/gtest.h>

namespace partita {
namespace {

class InLineTest : public testing::Test {
 protected:
  InLineTest() { program_.launches.emplace_back().work = LocalHost{true, {}}; }

  TensorId Tensor(TensorId inside = kNoTensor) {
    const TensorId tensor = program_.AddTensor({64, MemoryKind::kActivation, "t", kNoTensor, 0});
    program_.tensors[tensor].inside = inside;
    return tensor;
  }

  void Kernel(const std::vector<TensorId>& inputs, TensorId output) {
    LocalKernel kernel;
    for (const TensorId input : inputs) kernel.inputs.push_back({input});
    kernel.outputs = {{output}};
    program_.launches.emplace_back().work = std::move(kernel);
  }
  void Collective(TensorId input, TensorId output) {
    program_.launches.emplace_back().work = LocalCollective{{}, input, output};
  }

  // A letter for each launch: i in line, - not.
  std::string InLine() const {
    std::string letters;
    for (const bool in_line : RunsInLine(program_)) letters += in_line ? 'i' : '-';
    return letters;
  }

  LocalProgram program_;
};

TEST_F(InLineTest, BetweenItsMakerAndItsReader) {
  const TensorId sums = Tensor(), all = Tensor(), y = Tensor();
  Kernel({}, sums);
  Collective(sums, all);
  Kernel({all}, y);
  EXPECT_EQ(InLine(), "--i-");
}

TEST_F(InLineTest, NotWhereAnotherLaunchCouldRunBeside) {
  const TensorId a = Tensor(), b = Tensor(), of_a = Tensor(), of_b = Tensor(), y = Tensor();
  Kernel({}, a);
  Kernel({}, b);
  Collective(a, of_a);  // while b was made
  Kernel({of_a}, y);
  Collective(b, of_b);  // while y is
  Kernel({of_b}, y);
  Kernel({}, a);
  Collective(a, of_a);
  Kernel({}, b);  // before of_a is read
  Kernel({of_a, b}, y);
  EXPECT_EQ(InLine(), "-----------");
}

TEST_F(InLineTest, PartsOfATensorAreTheTensor) {
  const TensorId whole = Tensor(), part = Tensor(whole), all = Tensor(), of_all = Tensor(all), y = Tensor();
  Kernel({}, part);
  Collective(whole, all);
  Kernel({of_all}, y);
  EXPECT_EQ(InLine(), "--i-");
}

TEST_F(InLineTest, NotBesideCollectivesOrAtTheEnd) {
  const TensorId a = Tensor(), b = Tensor(), c = Tensor();
  Kernel({}, a);
  Collective(a, b);
  Collective(b, c);
  EXPECT_EQ(InLine(), "----");
}

}  // namespace
}  // namespace partita

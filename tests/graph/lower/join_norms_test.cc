// Sums of squares that one add reads become a part of it.
#include "graph/lower/join_norms.h"

#include <gtest/gtest.h>

#include "graph/ir/op_definition.h"
#include "ops/registry.h"

namespace partita {
namespace {

// Takes every node.
class AnyKernels : public KernelCatalogue {
 public:
  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override {
    KernelChoice choice;
    choice.kernel = node.op->name + " of " + std::to_string(node.inputs.size());
    return choice;
  }
};

LocalTensor Tensor(const Shape& shape, DType dtype = DType::kF32) { return {dtype, shape, WholeBox(shape)}; }

// One rank's launches: %a and %b are there, %sa and %sb are the sums of their squares, and %s = add(%sa, %sb).
class JoinNormsTest : public testing::Test {
 protected:
  JoinNormsTest() {
    a_ = Activation("a", 16);
    b_ = Activation("b", 32);
    sa_ = AddSum(a_, Tensor({8}, DType::kBF16));
    sb_ = AddSum(b_, Tensor({8}));
  }

  TensorId Activation(const std::string& name, int64_t bytes) {
    const TensorId tensor = program_.AddTensor({bytes, MemoryKind::kActivation, name, kNoTensor, 0});
    program_.tensor_of.push_back(tensor);
    return tensor;
  }

  LocalLaunch& Launch(const std::string& name) {
    LocalLaunch& launch = program_.launches.emplace_back();
    launch.name = name;
    return launch;
  }

  TensorId AddKernel(Role role, const std::vector<TensorId>& inputs, const std::vector<LocalTensor>& types) {
    const OpDefinition& op = Ops().Get(role);
    const TensorId made = Activation(op.name, 4);
    LocalKernel kernel;
    kernel.node = {op.name, &op, {}, {}, {Tensor({})}};
    for (size_t i = 0; i < inputs.size(); ++i) {
      kernel.node.inputs.push_back(types[i]);
      kernel.inputs.push_back({inputs[i]});
    }
    kernel.outputs = {{made}};
    Launch(op.name).work = std::move(kernel);
    return made;
  }

  TensorId AddSum(TensorId x, const LocalTensor& type) { return AddKernel(Role::kSumOfSquares, {x}, {type}); }
  TensorId AddAdd(const std::vector<TensorId>& terms) {
    return AddKernel(Role::kAdd, terms, std::vector<LocalTensor>(terms.size(), Tensor({})));
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const LocalLaunch& launch : program_.launches) {
      const auto* const kernel = std::get_if<LocalKernel>(&launch.work);
      names.push_back(kernel == nullptr ? launch.name : kernel->choice.kernel);
    }
    return names;
  }

  void ExpectApart(const std::vector<std::string>& others) {
    ASSERT_TRUE(JoinNorms(program_, AnyKernels()).ok());
    std::vector<std::string> expected = {"sum_of_squares of 1", "sum_of_squares of 1"};
    expected.insert(expected.end(), others.begin(), others.end());
    EXPECT_EQ(Names(), expected);
  }

  LocalProgram program_;
  TensorId a_, b_, sa_, sb_;
};

TEST_F(JoinNormsTest, OneLaunchAddsUpTheSquaresOfAll) {
  const TensorId sum = AddAdd({sb_, sa_});
  ASSERT_TRUE(JoinNorms(program_, AnyKernels()).ok());
  ASSERT_EQ(Names(), std::vector<std::string>{"sum_of_squares of 2"});
  const auto& kernel = std::get<LocalKernel>(program_.launches[0].work);
  EXPECT_EQ(kernel.inputs[0].tensor, b_);  // in the order of the terms
  EXPECT_EQ(kernel.inputs[1].tensor, a_);
  EXPECT_EQ(kernel.node.inputs[1]->dtype, DType::kBF16);
  EXPECT_EQ(kernel.outputs[0].tensor, sum);
  EXPECT_EQ(program_.tensor_of, (std::vector<TensorId>{a_, b_, kNoTensor, kNoTensor, sum}));
}

TEST_F(JoinNormsTest, ATermMayCountTwice) {
  AddAdd({sa_, sb_, sa_});
  ASSERT_TRUE(JoinNorms(program_, AnyKernels()).ok());
  EXPECT_EQ(Names(), std::vector<std::string>{"sum_of_squares of 3"});
}

TEST_F(JoinNormsTest, ASumThatAnotherReadsStays) {
  AddAdd({sa_, sb_});
  AddKernel(Role::kClipScale, {sa_}, {Tensor({})});
  ExpectApart({"", ""});
}

TEST_F(JoinNormsTest, ASumThatTheHostReadsStays) {
  AddAdd({sa_, sb_});
  program_.results.push_back({2, sa_});
  ExpectApart({""});
}

TEST_F(JoinNormsTest, ASumThatIsMovedStays) {
  AddAdd({sa_, sb_});
  Launch("copy").work = LocalCopies{kNoTensor, {{BoxCopy{}, sa_, Activation("copy", 4)}}};
  ExpectApart({"", "copy"});
}

TEST_F(JoinNormsTest, AnAddOfSomethingElseStays) {
  AddAdd({sa_, sb_, Activation("c", 4)});
  ExpectApart({""});
}

// The joint launch would read what was written after the sum.
TEST_F(JoinNormsTest, ASumOfWhatIsWrittenBeforeTheAddStays) {
  Launch("overwrite").work = LocalCopies{b_, {}};
  AddAdd({sa_, sb_});
  ExpectApart({"overwrite", ""});
}

}  // namespace
}  // namespace partita

// Updates read bf16 gradients themselves, where nobody else needs the cast ones.
#include "graph/lower/fold_update_casts.h"

#include <gtest/gtest.h>

#include "graph/ir/op_definition.h"
#include "ops/registry.h"

namespace partita {
namespace {

LocalTensor Tensor(DType dtype) { return {dtype, {8}, WholeBox({8})}; }

// One rank's launches: %g@bf16 is made by somebody, cast to %g, and %g updates %w.
class FoldUpdateCastsTest : public testing::Test {
 protected:
  FoldUpdateCastsTest() {
    w_ = program_.AddTensor({32, MemoryKind::kParameter, "w", kNoTensor, 0});
    narrow_ = Activation("g@bf16", 16);
    g_ = Activation("g", 32);
    new_w_ = Activation("w@new", 32);
    program_.tensor_of = {w_, narrow_, g_, new_w_};
    LocalKernel cast;
    cast.node = {"g", &Ops().Get(Role::kCast), {}, {Tensor(DType::kBF16)}, {Tensor(DType::kF32)}};
    cast.inputs = {{narrow_}};
    cast.outputs = {{g_}};
    Launch("cast").work = std::move(cast);
  }

  TensorId Activation(const std::string& name, int64_t bytes) {
    return program_.AddTensor({bytes, MemoryKind::kActivation, name, kNoTensor, 0});
  }

  LocalLaunch& Launch(const std::string& name) {
    LocalLaunch& launch = program_.launches.emplace_back();
    launch.name = name;
    return launch;
  }

  void AddUpdate() {
    LocalKernel update;
    const LocalTensor w = Tensor(DType::kF32);
    update.node = {"w@new", Ops().Find("sgd"), {}, {w, w, std::nullopt, std::nullopt, std::nullopt}, {w}};
    update.inputs = {{w_}, {g_}, {}, {}, {}};
    update.outputs = {{new_w_}};
    Launch("update").work = std::move(update);
  }

  const LocalKernel& Update() const {
    for (const LocalLaunch& launch : program_.launches) {
      if (launch.name == "update") return std::get<LocalKernel>(launch.work);
    }
    ADD_FAILURE() << "the update is gone";
    return std::get<LocalKernel>(program_.launches.front().work);
  }

  void ExpectUnchanged() {
    const size_t launches = program_.launches.size();
    FoldUpdateCasts(program_);
    EXPECT_EQ(program_.launches.size(), launches);
    EXPECT_EQ(Update().inputs[1].tensor, g_);
    EXPECT_EQ(Update().node.inputs[1]->dtype, DType::kF32);
    EXPECT_EQ(program_.tensor_of[2], g_);
  }

  LocalProgram program_;
  TensorId w_, narrow_, g_, new_w_;
};

TEST_F(FoldUpdateCastsTest, TheUpdateReadsWhatWasCast) {
  AddUpdate();
  FoldUpdateCasts(program_);
  ASSERT_EQ(program_.launches.size(), 1u);
  EXPECT_EQ(Update().inputs[1].tensor, narrow_);
  EXPECT_EQ(Update().node.inputs[1]->dtype, DType::kBF16);
  EXPECT_EQ(Update().node.inputs[0]->dtype, DType::kF32);
  EXPECT_EQ(program_.tensor_of, (std::vector<TensorId>{w_, narrow_, kNoTensor, new_w_}));
}

// Where the gradients are clipped.
TEST_F(FoldUpdateCastsTest, ASumOfSquaresReadsWhatWasCast) {
  LocalKernel sum;
  sum.node = {"squares", &Ops().Get(Role::kSumOfSquares), {}, {Tensor(DType::kF32)}, {{DType::kF32, {}, WholeBox({})}}};
  sum.inputs = {{g_}};
  sum.outputs = {{Activation("squares", 4)}};
  Launch("squares").work = std::move(sum);
  AddUpdate();
  FoldUpdateCasts(program_);
  ASSERT_EQ(program_.launches.size(), 2u);
  const auto& squares = std::get<LocalKernel>(program_.launches[0].work);
  EXPECT_EQ(squares.inputs[0].tensor, narrow_);
  EXPECT_EQ(squares.node.inputs[0]->dtype, DType::kBF16);
  EXPECT_EQ(Update().inputs[1].tensor, narrow_);
}

TEST_F(FoldUpdateCastsTest, SeveralUpdatesMayShareAGradient) {
  AddUpdate();
  AddUpdate();
  FoldUpdateCasts(program_);
  ASSERT_EQ(program_.launches.size(), 2u);
  for (const LocalLaunch& launch : program_.launches) {
    EXPECT_EQ(std::get<LocalKernel>(launch.work).inputs[1].tensor, narrow_);
  }
}

// An all_reduce, say.
TEST_F(FoldUpdateCastsTest, ACastThatAnotherReadsStays) {
  AddUpdate();
  Launch("copy").work = LocalCopies{kNoTensor, {{BoxCopy{}, g_, Activation("copy", 32)}}};
  ExpectUnchanged();
}

TEST_F(FoldUpdateCastsTest, ACastThatTheHostReadsStays) {
  AddUpdate();
  program_.results.push_back({2, g_});
  ExpectUnchanged();
}

TEST_F(FoldUpdateCastsTest, ACastInABucketStays) {
  AddUpdate();
  program_.tensors[g_].inside = Activation("bucket", 64);
  ExpectUnchanged();
}

}  // namespace
}  // namespace partita

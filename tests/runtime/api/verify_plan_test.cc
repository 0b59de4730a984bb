// The comparison of a plan with the single rank finds what is wrong and where it begins.
#include "runtime/api/verify_plan.h"

#include <cstring>

#include "tests/runtime/api/session_fixture.h"

namespace partita {
namespace {

std::unique_ptr<PlanVerifier> Verifier(const std::string& strategy, bool same_beginning) {
  const Case one{"mlp", strategy, true};
  const Model model = *MakeSmallModel(one, 1e-2);
  VerifyPlanOptions options;
  options.session = SmallOptions();
  options.same_beginning = same_beginning;
  auto verifier = PlanVerifier::Start(*SerialProgram(model, {.verify_passes = true}),
                                      *PlanOf(one, model, {.verify_passes = true}), options);
  EXPECT_TRUE(verifier.ok()) << verifier.status();
  return *std::move(verifier);
}

void Stage(PlanVerifier& verifier, int step) {
  const Batch batch = MakeBatch(2, step, DType::kF32);
  ASSERT_TRUE(verifier.StageInput("images", batch.images).ok());
  ASSERT_TRUE(verifier.StageInput("labels", batch.labels).ok());
}

TEST(VerifyPlan, AllOfARightPlanAgrees) {
  const auto verifier = Verifier("mixed", true);
  for (int step = 0; step < 3; ++step) {
    Stage(*verifier, step);
    const auto comparison = verifier->Step();
    ASSERT_TRUE(comparison.ok()) << comparison.status();
    ASSERT_EQ(comparison->First(), nullptr) << ToString(*comparison->First());
    // Nothing is left out: every forward value by name, a gradient and an update for each parameter.
    int forward = 0, gradients = 0, updates = 0;
    for (const TensorDifference& tensor : comparison->tensors) {
      forward += tensor.kind == TensorDifference::Kind::kForward;
      gradients += tensor.kind == TensorDifference::Kind::kGradient;
      updates += tensor.kind == TensorDifference::Kind::kUpdate;
    }
    EXPECT_GT(forward, 15);
    EXPECT_EQ(gradients, 8);  // three weights, two gammas and betas, one bias
    EXPECT_EQ(updates, static_cast<int>(verifier->plan().StateNames().size()));
  }
}

// A plan with another weight differs first where the weight is read, not somewhere behind it.
TEST(VerifyPlan, TheFirstNodeThatDiffersIsNamed) {
  const auto verifier = Verifier("2x2", false);
  const std::string name = "dense2/matmul/weights";
  HostTensor weights = *verifier->plan().ReadState(name);
  float first = 0;
  std::memcpy(&first, weights.bytes.data(), sizeof(first));
  first += 0.5f;
  std::memcpy(weights.bytes.data(), &first, sizeof(first));
  ASSERT_TRUE(verifier->plan().WriteState(name, weights).ok());
  Stage(*verifier, 0);
  const auto comparison = verifier->Step();
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  ASSERT_NE(comparison->First(), nullptr);
  EXPECT_EQ(comparison->First()->name, name);
  EXPECT_NEAR(comparison->First()->difference, 0.5, 1e-6);
  int behind = 0;
  for (const TensorDifference& tensor : comparison->tensors) {
    behind += !tensor.agrees();
    EXPECT_TRUE(tensor.agrees() || tensor.name.find("dense1/relu") == std::string::npos) << ToString(tensor);
  }
  EXPECT_GT(behind, 3);
}

// Ranks that should hold the same bits but do not are a difference, however small.
TEST(VerifyPlan, ReplicasThatDifferAreFound) {
  const auto verifier = Verifier("2x1", false);
  const Session& plan = verifier->plan();
  const HeldPart part = plan.ObservedPart(plan.graph(kTrainEntry).Find("classifier/matmul/weights"), 0);
  ASSERT_NE(part.data, nullptr);
  std::vector<char> one(static_cast<size_t>(part.tensor.bytes())), other = one;
  other.back() ^= 1;
  const Layout replicated(1, AxisLayout::Replicate());
  const Mesh mesh{{{"data", 2}}};
  const TensorType type{part.tensor.dtype, part.tensor.global};
  std::vector<HeldPart> parts{{part.tensor, one.data()}, {part.tensor, one.data()}};
  EXPECT_TRUE(GatherValue(type, replicated, mesh, parts).replicas_equal);
  parts[1].data = other.data();
  EXPECT_FALSE(GatherValue(type, replicated, mesh, parts).replicas_equal);
}

}  // namespace
}  // namespace partita

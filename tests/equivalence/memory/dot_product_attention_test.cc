// What scaled dot-product attention needs of memory is that of its operands: the q k scores of a head lie nowhere,
// neither between its nodes nor in a kernel's workspace, forward or backward, whichever kernel runs it.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "graph/make_program.h"
#include "ops/graph_builder.h"
#include "ops/registry.h"
#include "runtime/api/session.h"
#include "runtime/base/status.h"
#include "tests/testing/assert_ok.h"

namespace partita {
namespace {

constexpr int64_t kPositions = 1024, kHeads = 8, kDepth = 8;
constexpr int64_t kScores = kHeads * kPositions * kPositions, kOperand = kPositions * kHeads * kDepth;

// Query, keys and values are inputs times parameters, so that all three have gradients.
absl::StatusOr<Model> AttendingModel() {
  GraphBuilder b(Ops());
  const Shape shape = {1, kPositions, kHeads, kDepth};
  const auto scaled = [&](const std::string& name) {
    const ValueId x = b.Input(name, DType::kF32, shape);
    return b.Add(name + "/scaled", "mul", {x, b.Parameter(name + "/scale", shape, "uniform")});
  };
  const ValueId query = scaled("query"), keys = scaled("keys"), values = scaled("values");
  const ValueId output =
      b.Add("attention", "scaled_dot_product_attention", {query, keys, values, kNoValue}, {{"causal", true}});
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.Add("loss", "mean", {b.Add("square", "square", {output})})));
  return model;
}

// Of a training step and of an evaluation, whichever needs more.
absl::StatusOr<int64_t> PlannedBytes(const Model& model, bool mix_precision, bool reference_kernels) {
  ProgramOptions program_options;
  program_options.mix_precision = mix_precision;
  ASSIGN_OR_RETURN(Program program, MakeProgram(model, Strategy{}, Ops(), program_options));
  SessionOptions options;
  options.threads_per_rank = 2;
  options.tests.reference_kernels = reference_kernels;
  ASSIGN_OR_RETURN(const auto session, Session::Start(std::move(program), options));
  return session->PlannedMemory(0).total;
}

TEST(DotProductAttentionMemory, HoldsNoNumberForEachQueryAndKey) {
  ASSERT_OK_AND_ASSIGN(const Model model, AttendingModel());
  // Query, keys and values as inputs, parameters and products, and their gradients twice; the output and its
  // neighbours. Two threads have a block of scores and what products pack, or sums of two gradients are in double.
  constexpr int64_t kNumbers = (5 * 3 + 3) * kOperand + 4 * kOperand + 2 * 200000;
  static_assert(2 * kNumbers < kScores / 2, "else a bound says nothing, be the scores f32 or bf16");
  for (const bool mixed : {false, true}) {
    for (const bool reference : {false, true}) {
      SCOPED_TRACE(testing::Message() << "mixed: " << mixed << ", reference kernels: " << reference);
      ASSERT_OK_AND_ASSIGN(const int64_t bytes, PlannedBytes(model, mixed, reference));
      EXPECT_GT(bytes, int64_t{sizeof(float)} * 2 * 3 * kOperand);  // inputs and parameters
      EXPECT_LT(bytes, int64_t{sizeof(float)} * 2 * kNumbers);
    }
  }
}

}  // namespace
}  // namespace partita

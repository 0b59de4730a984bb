// What attention needs of memory is that of its operands and probabilities: the n q t h tanhs of its scores lie
// nowhere, neither between its nodes nor in a kernel's workspace, forward or backward, whichever kernel runs it.
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

constexpr int64_t kSamples = 4, kQueries = 96, kPlaces = 112, kUnits = 256;
constexpr int64_t kTanhs = kSamples * kQueries * kPlaces * kUnits;

// Query, keys and values are inputs times parameters, so that all three have gradients.
absl::StatusOr<Model> AttendingModel() {
  GraphBuilder b(Ops());
  const auto scaled = [&](const char* name, int64_t places) {
    const Shape shape = {kSamples, places, kUnits};
    const ValueId x = b.Input(name, DType::kF32, shape);
    return b.Add(std::string(name) + "/scaled", "mul",
                 {x, b.Parameter(std::string(name) + "/scale", shape, "uniform")});
  };
  const ValueId query = scaled("query", kQueries), keys = scaled("keys", kPlaces), values = scaled("values", kPlaces);
  const ValueId v = b.Parameter("v", {kUnits}, "uniform"), gain = b.Parameter("gain", {1}, "constant"),
                bias = b.Parameter("bias", {kUnits}, "uniform");
  const ValueId context = b.Add("attention", "attention", {query, keys, values, v, gain, bias, kNoValue});
  Model model;
  ASSIGN_OR_RETURN(model.graph, b.Build(b.Add("loss", "mean", {b.Add("square", "square", {context})})));
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

TEST(AttentionMemory, HoldsNoNumberForEachQueryPlaceAndUnit) {
  ASSERT_OK_AND_ASSIGN(const Model model, AttendingModel());
  // Each three times, as inputs, parameters and products; their gradients twice; the context and its two neighbours.
  constexpr int64_t kOperands = kSamples * (kQueries + 2 * kPlaces) * kUnits, kContext = kSamples * kQueries * kUnits;
  constexpr int64_t kProbabilities = kSamples * kQueries * kPlaces;
  constexpr int64_t kNumbers = 5 * kOperands + 3 * kContext + 3 * kProbabilities;
  static_assert(2 * kNumbers < kTanhs / 2, "else a bound says nothing, be the tanhs of f32 or of bf16");
  for (const bool mixed : {false, true}) {
    for (const bool reference : {false, true}) {
      SCOPED_TRACE(testing::Message() << "mixed: " << mixed << ", reference kernels: " << reference);
      ASSERT_OK_AND_ASSIGN(const int64_t bytes, PlannedBytes(model, mixed, reference));
      EXPECT_GT(bytes, int64_t{sizeof(float)} * 2 * kOperands);  // inputs and parameters
      EXPECT_LT(bytes, int64_t{sizeof(float)} * 2 * kNumbers);
    }
  }
}

}  // namespace
}  // namespace partita

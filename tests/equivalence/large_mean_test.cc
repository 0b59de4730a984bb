// A batch norm over numbers whose mean is 10^4 times their deviation: training in f32 is what it is in f64, from the
// first step on, when the running mean is 0 and knows nothing of them, and under every split.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "graph/ir/op_definition.h"
#include "graph/make_program.h"
#include "graph/read/graph_assembler.h"
#include "ops/registry.h"
#include "runtime/api/verify_plan.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 8, kSide = 6, kChannels = 3, kFeatures = kSide * kSide * kChannels, kClasses = 5;
constexpr double kMean = 1e4;

NodeDescription Source(const std::string& name, const std::string& op, const Shape& shape, Attributes attributes) {
  attributes.Set("shape", shape);
  return {name, op, {}, std::move(attributes)};
}

Model MakeModel() {
  const Attributes zeros{{"initializer", "constant"}, {"scale", 0.0}}, ones{{"initializer", "constant"}};
  const Shape channels = {kChannels};
  Model model;
  model.graph = BuildGraph({Source("images", "input", {kSamples, kSide, kSide, kChannels}, {}),
                            Source("labels", "input", {kSamples}, {{"dtype", "i32"}}),
                            Source("offset", "state", channels, {{"initializer", "constant"}, {"scale", kMean}}),
                            Source("gamma", "parameter", channels, ones),
                            Source("beta", "parameter", channels, zeros),
                            Source("mean", "state", channels, zeros),
                            Source("variance", "state", channels, ones),
                            Source("v", "parameter", {kFeatures, kClasses}, {{"initializer", "he_normal"}}),
                            {"far", "bias", {"images", "offset"}, {}},
                            {"norm", "batch_norm", {"far", "gamma", "beta", "mean", "variance"}, {}},
                            {"flat", "reshape", {"norm"}, {{"shape", Shape{kSamples, kFeatures}}}},
                            {"logits", "matmul", {"flat", "v"}, {}},
                            {"loss", "softmax_cross_entropy", {"logits", "labels"}, {}}},
                           "loss", {}, Ops())
                    .value();
  model.learning_rate.base = 0.01;
  return model;
}

Program MakeSplit(const std::string& split, int ranks, DType floating) {
  Strategy strategy;
  strategy.mesh.axes = {{"a", ranks}};
  strategy.ops.push_back({"images", {{"a", {split, 0, {}}}}, {}});
  return MakeProgram(MakeModel(), strategy, Ops(), {.floating = floating}).value();
}

// Multiples of 1/64: f32 holds them beside the mean.
HostTensor Images(DType dtype, int step) {
  HostTensor images{dtype, {kSamples, kSide, kSide, kChannels}, {}};
  images.bytes.resize(static_cast<size_t>(Elements(images.shape) * SizeOf(dtype)));
  for (int64_t i = 0; i < Elements(images.shape); ++i) {
    const double pixel = std::round(64 * Normal(5, static_cast<uint64_t>(step), static_cast<uint64_t>(i))) / 64;
    const auto narrow = static_cast<float>(pixel);
    char* const to = images.bytes.data() + i * SizeOf(dtype);
    dtype == DType::kF64 ? std::memcpy(to, &pixel, sizeof(pixel)) : std::memcpy(to, &narrow, sizeof(narrow));
  }
  return images;
}

HostTensor Labels() {
  HostTensor labels{DType::kI32, {kSamples}, std::vector<char>(kSamples * sizeof(int32_t))};
  for (int32_t i = 0; i < kSamples; ++i) {
    const int32_t label = i % static_cast<int32_t>(kClasses);
    std::memcpy(labels.bytes.data() + i * sizeof(label), &label, sizeof(label));
  }
  return labels;
}

TEST(LargeMean, EverySplitIsWhatOneRankIs) {
  for (const auto& [split, ranks] :
       {std::pair{"samples", 2}, {"samples", 3}, {"height", 2}, {"height", 4}, {"channels", 3}}) {
    SCOPED_TRACE(testing::Message() << split << " " << ranks);
    VerifyPlanOptions options;
    options.session.threads_per_rank = 1;
    options.floor = 1e-4;  // of 10^4
    const auto verifier =
        PlanVerifier::Start(MakeSplit("replicate", 1, DType::kF32), MakeSplit(split, ranks, DType::kF32), options);
    ASSERT_TRUE(verifier.ok()) << verifier.status();
    for (int step = 0; step < 3; ++step) {
      ASSERT_TRUE((*verifier)->StageInput("images", Images(DType::kF32, step)).ok());
      ASSERT_TRUE((*verifier)->StageInput("labels", Labels()).ok());
      const auto comparison = (*verifier)->Step();
      ASSERT_TRUE(comparison.ok()) << comparison.status();
      EXPECT_EQ(comparison->First(), nullptr) << ToString(*comparison->First());
    }
  }
}

std::unique_ptr<Session> StartSerial(DType floating) {
  SessionOptions options;
  options.threads_per_rank = 1;
  return Session::Start(MakeSplit("replicate", 1, floating), options).value();
}

TEST(LargeMean, F32IsWhatF64Is) {
  const auto f32 = StartSerial(DType::kF32), f64 = StartSerial(DType::kF64);
  for (const auto& name : f64->StateNames()) {  // he_normal differs in its last bits
    HostTensor state = f64->ReadState(name).value(), narrow = f32->ReadState(name).value();
    const std::vector<double> elements = ToDoubles(narrow);
    if (!IsFloating(state.dtype)) continue;
    std::memcpy(state.bytes.data(), elements.data(), state.bytes.size());
    ASSERT_TRUE(f64->WriteState(name, state).ok());
  }
  for (int step = 0; step < 5; ++step) {
    double loss[2] = {};
    for (Session* session : {f32.get(), f64.get()}) {
      const DType dtype = session == f32.get() ? DType::kF32 : DType::kF64;
      ASSERT_TRUE(session->StageInput(kTrainEntry, "images", Images(dtype, step)).ok());
      ASSERT_TRUE(session->StageInput(kTrainEntry, "labels", Labels()).ok());
      const auto result = session->Train();
      ASSERT_TRUE(result.ok()) << result.status();
      loss[session == f64.get()] = result->loss;
    }
    EXPECT_NEAR(loss[0], loss[1], 1e-4 * loss[1]) << step;
  }
  for (const std::string name : {"v", "gamma", "beta", "variance"}) {
    const std::vector<double> found = ToDoubles(f32->ReadState(name).value());
    const std::vector<double> right = ToDoubles(f64->ReadState(name).value());
    for (size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(found[i], right[i], 1e-4) << name;
  }
}

}  // namespace
}  // namespace partita

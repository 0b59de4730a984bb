// A step of a shipped network from the weights that torchvision's network has: the same loss and gradients, in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/make_program.h"
#include "ops/registry.h"
#include "runtime/api/session.h"
#include "tests/testing/assert_ok.h"
#include "tests/tools/models/torchvision_step.h"
#include "tools/models/convnext.h"
#include "tools/models/models.h"

namespace partita {
namespace {

using torchvision::Hashed;

// What rounding leaves of a gradient that is none: that of an offset before a batch norm.
constexpr double kZero = 1e-13;

template <typename T, typename F>
HostTensor Filled(DType dtype, const Shape& shape, const F& f) {
  HostTensor tensor{dtype, shape, std::vector<char>(static_cast<size_t>(Elements(shape)) * sizeof(T))};
  for (int64_t i = 0; i < Elements(shape); ++i) {
    const T value = static_cast<T>(f(i));
    std::memcpy(tensor.bytes.data() + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
  return tensor;
}

double At(const HostTensor& tensor, int64_t i) {
  double value = 0;
  std::memcpy(&value, tensor.bytes.data() + i * static_cast<int64_t>(sizeof(value)), sizeof(value));
  return value;
}

// What torchvision_step.py gives the tensor of that number.
HostTensor Initial(int64_t number, const std::string& name, const Shape& shape) {
  const double offset = name.ends_with("/gamma") || name.ends_with("/gain") || name.ends_with("/scale") ? 1 : 0;
  const int64_t inputs = shape.size() == 4 ? Elements(shape) / shape[0] : shape[0];
  const double range = shape.size() == 1 ? 0.25 : std::sqrt(6.0 / static_cast<double>(inputs));
  return Filled<double>(DType::kF64, shape, [&](int64_t i) { return offset + range * Hashed(number, i); });
}

// Of ConvNeXt a small one.
absl::StatusOr<Model> NetworkOf(const std::string& name) {
  ConvNextOptions convnext{.batch = torchvision::kBatch, .image_size = torchvision::kSize, .channels = 8};
  convnext.blocks = {1, 1, 2, 1};
  convnext.label_smoothing = 0;
  convnext.dtype = DType::kF64;
  ModelOptions options{.batch = torchvision::kBatch, .image_size = torchvision::kSize, .dropout = false};
  options.dtype = DType::kF64;
  return name == "convnext-tiny" ? MakeConvNext(convnext, Ops()) : MakeModel(name, options, Ops());
}

// A step at rate 1 takes the gradient from each parameter.
absl::StatusOr<Model> ModelOf(const torchvision::Step& step) {
  ASSIGN_OR_RETURN(Model model, NetworkOf(step.model));
  model.optimizer = {"sgd", {}};
  model.learning_rate = {};
  model.learning_rate.base = 1;
  return model;
}

class Torchvision : public testing::TestWithParam<torchvision::Step> {};

TEST_P(Torchvision, StepsAreEqual) {
  const torchvision::Step& expected = GetParam();
  ASSERT_OK_AND_ASSIGN(const Model model, ModelOf(expected));
  ProgramOptions options;
  options.floating = DType::kF64;
  ASSERT_OK_AND_ASSIGN(Program program, MakeProgram(model, Strategy{}, Ops(), options));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Start(std::move(program), SessionOptions{}));
  std::vector<std::string> parameters;
  std::vector<HostTensor> before;
  for (const Node& node : model.graph.nodes()) {
    if (node.op->role != Role::kParameter) continue;
    const Value& value = model.graph.value(node.outputs[0]);
    before.push_back(Initial(static_cast<int64_t>(before.size()), value.name, value.type.shape));
    parameters.push_back(value.name);
    ASSERT_OK(session->WriteState(value.name, before.back()));
  }
  ASSERT_EQ(parameters.size(), expected.gradients.size());
  const Shape images = {torchvision::kBatch, torchvision::kSize, torchvision::kSize, 3};
  ASSERT_OK(session->StageInput(kTrainEntry, "images", Filled<double>(DType::kF64, images, [](int64_t i) {
                                  return Hashed(torchvision::kImages, i);
                                })));
  ASSERT_OK(session->StageInput(kTrainEntry, "labels",
                                Filled<int32_t>(DType::kI32, {torchvision::kBatch}, torchvision::Label)));
  ASSERT_OK_AND_ASSIGN(const StepResult result, session->Train());
  EXPECT_NEAR(result.loss, expected.loss, 1e-11 * expected.loss);
  for (size_t p = 0; p < parameters.size(); ++p) {
    ASSERT_OK_AND_ASSIGN(const HostTensor after, session->ReadState(parameters[p]));
    double squares = 0, product = 0;
    for (int64_t i = 0; i < Elements(after.shape); ++i) {
      const double gradient = At(before[p], i) - At(after, i);
      squares += gradient * gradient;
      product += gradient * Hashed(torchvision::kProbes + static_cast<int64_t>(p), i);
    }
    const torchvision::Gradient& gradient = expected.gradients[p];
    const double tolerance = 1e-9 * gradient.norm + kZero;
    EXPECT_NEAR(std::sqrt(squares), gradient.norm, tolerance) << parameters[p] << ", " << gradient.parameter;
    EXPECT_NEAR(product, gradient.product, 10 * tolerance) << parameters[p] << ", " << gradient.parameter;
  }
}

std::string NameOf(const testing::TestParamInfo<torchvision::Step>& info) {
  std::string name = info.param.model;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Networks, Torchvision, testing::ValuesIn(torchvision::Steps()), NameOf);

}  // namespace
}  // namespace partita

// Convolutions of the models at their own sizes, for one sample: the fake cuDNN's beside the host's fast kernels.
#include <gtest/gtest.h>

#include "tests/ops/cuda/cudnn/cudnn_run.h"
#include "tests/ops/cuda/cudnn/fake_cudnn.h"
#include "tests/ops/cuda/cudnn/model_convolutions.h"

namespace partita {
namespace {

LocalNode OfOneSample(const LocalNode& node) {
  Attributes attributes = node.attributes;
  std::vector<std::optional<TensorType>> inputs;
  for (const auto& input : node.inputs) inputs.push_back(TensorType{input->dtype, input->global});
  inputs[0]->shape[0] = 1;
  if (node.op->name == "conv2d_weight_grad") inputs[1]->shape[0] = 1;
  if (node.op->name == "conv2d_input_grad") {
    Shape shape = attributes.Ints("shape");
    shape[0] = 1;
    attributes.Set("shape", shape);
  }
  return WholeNode(node.op->name, attributes, inputs);
}

TEST(CudnnModels, EveryConvolutionEqualsTheHost) {
  FakeCudnn fake;
  int tried = 0;
  for (const ModelConvolution& c : ModelConvolutions()) {
    const LocalNode node = OfOneSample(c.node);
    const std::vector<Values> inputs = SuitableInputs(node, 1);
    const auto found = Computed(fake.api(), node, inputs);
    ASSERT_TRUE(found.ok()) << c.name << ": " << found.status();
    EXPECT_LE(Distance((*found)[0], Outputs(node, inputs)[0]), 1e-5) << c.name;
    ++tried;
  }
  EXPECT_GE(tried, 180);
}

}  // namespace
}  // namespace partita

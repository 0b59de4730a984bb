// Reference kernels of products that do more than a product, against the ops that they stand for.
#include <gmock/gmock.h>

#include "graph/ir/op_definition.h"
#include "ops/functors/epilogue.h"
#include "ops/registry.h"
#include "tests/ops/host/definitions/reference_runs.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

// conv2d_epilogue and matmul_epilogue are what their names say, one op after the other.
TEST(Epilogue, IsTheProductThenBiasThenTheActivation) {
  int checked = 0;
  for (const KernelCase& c : AllCases()) {
    const std::string& op = c.node.op->name;
    if (op != "conv2d_epilogue" && op != "matmul_epilogue") continue;
    const LocalNode whole = InF64(c.node);
    LocalNode product = whole;
    product.op = Ops().Find(op.substr(0, op.find('_')));
    product.attributes.Remove("activation");
    product.attributes.Remove("wide");
    product.inputs.pop_back();
    Values y = Outputs(product, {c.inputs[0], c.inputs[1]}, kReference)[0];
    const TensorType type = F64(whole.outputs[0].global);
    if (whole.inputs[2].has_value()) {
      y = Outputs(WholeNode("bias", {}, {type, F64({type.shape.back()})}), {y, c.inputs[2]}, kReference)[0];
    }
    const std::string& activation = whole.attributes.String("activation");
    if (!activation.empty()) y = Outputs(WholeNode(activation, {}, {type}), {y}, kReference)[0];
    EXPECT_EQ(Outputs(whole, c.inputs, kReference)[0], y) << c.name;
    ++checked;
  }
  // With and without a bias; 16 products are there once more, wide; one of a sequence, and four large ones.
  EXPECT_EQ(checked, static_cast<int>(NamesOf(EpilogueOps()).size() + 1) * (2 * 34 + 16) + 1 + 4);
}

// matmul_bias_grad is a product and the gradient of a bias.
TEST(MatMulBiasGrad, IsTheProductAndTheSumOfRows) {
  int checked = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "matmul_bias_grad") continue;
    const LocalNode whole = InF64(c.node);
    LocalNode product = whole;
    product.op = Ops().Find("matmul");
    product.attributes.Remove("bias_of");
    product.outputs.pop_back();
    const size_t operand = whole.attributes.String("bias_of") == "x" ? 0 : 1;
    const LocalNode sum = WholeNode("bias_grad", {}, {F64(whole.inputs[operand]->global)});
    const std::vector<Values> found = Outputs(whole, c.inputs, kReference);
    EXPECT_EQ(found[0], Outputs(product, c.inputs, kReference)[0]) << c.name;
    EXPECT_LE(Distance(found[1], Outputs(sum, {c.inputs[operand]}, kReference)[0]), 1e-14) << c.name;
    ++checked;
  }
  EXPECT_EQ(checked, 13);
}

// matmul_relu_mask is matmul_epilogue and the signs of its result; matmul_relu_grad a product, and relu_grad of one
// with those signs.
TEST(ReluMask, IsWhatTheGradientReads) {
  int checked = 0;
  for (const KernelCase& c : AllCases()) {
    const bool forward = c.node.op->name == "matmul_relu_mask";
    if (!forward && c.node.op->name != "matmul_relu_grad") continue;
    const LocalNode whole = InF64(c.node);
    LocalNode product = whole;
    product.op = Ops().Find(forward ? "matmul_epilogue" : "matmul");
    if (forward) product.outputs.pop_back();
    if (!forward) product.inputs.pop_back();
    const std::vector<Values> found = Outputs(whole, c.inputs, kReference);
    Values y = Outputs(product, c.inputs, kReference)[0];
    const Values& mask = forward ? found[1] : c.inputs[2];
    const size_t channels = static_cast<size_t>(whole.outputs[0].global.back());
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t byte = i / channels * ((channels + 127) / 128 * 16) + i % channels / 8;
      const bool bit = (static_cast<int>(mask[byte]) >> (i % channels % 8) & 1) != 0;
      if (!forward && !bit) y[i] = 0;
      EXPECT_EQ(bit, forward ? y[i] > 0 : bit) << c.name << " element " << i;
    }
    EXPECT_EQ(found[0], y) << c.name;
    ++checked;
  }
  EXPECT_EQ(checked, 18);
}

}  // namespace
}  // namespace partita

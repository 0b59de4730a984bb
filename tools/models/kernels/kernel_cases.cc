#include "tools/models/kernels/kernel_cases.h"

#include <optional>
#include <string>
#include <utility>

#include "graph/ir/op_definition.h"
#include "ops/registry.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Ints = IntList;
using Types = std::vector<std::optional<TensorType>>;

TensorType F32(Shape shape) { return {DType::kF32, std::move(shape)}; }

// An unsplit node; attributes and outputs by the op's definition.
absl::StatusOr<LocalNode> MakeNode(const std::string& op, const Attributes& attributes, const Types& inputs) {
  LocalNode node;
  node.name = op;
  node.op = Ops().Find(op);
  CHECK(node.op != nullptr);
  ASSIGN_OR_RETURN(node.attributes, CompleteAttributes(*node.op, attributes));
  NodeView view{node.attributes, {}, {}};
  for (const std::optional<TensorType>& input : inputs) {
    view.inputs.push_back(input.has_value() ? &*input : nullptr);
    node.inputs.emplace_back();
    if (input.has_value()) node.inputs.back() = LocalTensor{input->dtype, input->shape, WholeBox(input->shape)};
  }
  ASSIGN_OR_RETURN(const std::vector<TensorType> outputs, node.op->shape(view));
  for (const TensorType& output : outputs) {
    node.outputs.push_back({output.dtype, output.shape, WholeBox(output.shape)});
  }
  return node;
}

// Collects cases; keeps the first error.
class Table {
 public:
  void Add(const std::string& op, const Attributes& attributes, const Types& inputs, double flops = 0) {
    if (!status_.ok()) return;
    absl::StatusOr<LocalNode> node = MakeNode(op, attributes, inputs);
    if (!node.ok()) {
      status_ = WithContext(op, node.status());
      return;
    }
    cases_.push_back({*std::move(node), flops});
  }

  void Add(absl::StatusOr<KernelCase> made) {
    if (!made.ok()) status_.Update(made.status());
    if (status_.ok()) cases_.push_back(*std::move(made));
  }

  absl::StatusOr<std::vector<KernelCase>> Cases() && {
    RETURN_IF_ERROR(status_);
    return std::move(cases_);
  }

 private:
  absl::Status status_;
  std::vector<KernelCase> cases_;
};

// A convolution that keeps the image's size, in all three directions, and forward with bias and relu.
void AddConvolution(Table& table, const Shape& x, int64_t out_c, int64_t kernel) {
  const int64_t pad = kernel / 2;
  const Shape w{out_c, kernel, kernel, x[3]}, y{x[0], x[1], x[2], out_c};
  Attributes attributes{
      {"stride", Ints{1, 1}}, {"padding", Ints{pad, pad, pad, pad}}, {"dilation", Ints{1, 1}}, {"groups", int64_t{1}}};
  const double flops = 2.0 * static_cast<double>(Elements(y) * kernel * kernel * x[3]);
  table.Add("conv2d", attributes, {F32(x), F32(w)}, flops);
  attributes.Set("activation", "relu");
  table.Add("conv2d_epilogue", attributes, {F32(x), F32(w), F32({out_c})}, flops);
  attributes.Remove("activation");
  attributes.Set("shape", x);
  table.Add("conv2d_input_grad", attributes, {F32(y), F32(w)}, flops);
  attributes.Set("shape", w);
  table.Add("conv2d_weight_grad", attributes, {F32(x), F32(y)}, flops);
}

void AddBatchNorm(Table& table, const Shape& shape) {
  const int64_t c = shape.back();
  const TensorType x = F32(shape), vector = F32({c}), stats{DType::kF64, {1, 2, c}};
  const Attributes samples{{"samples", int64_t{0}}};
  const Attributes attributes{{"samples", int64_t{0}}, {"epsilon", 1e-3}, {"relu", true}};
  table.Add("batch_norm_statistics", samples, {x, vector});
  table.Add("batch_norm_normalize", attributes, {x, stats, vector, vector, vector});
  table.Add("batch_norm_gradient_sums", attributes, {x, x, stats, vector, vector, vector});
  table.Add("batch_norm_input_grad", attributes, {x, x, stats, vector, vector, vector, stats});
}

void AddPooling(Table& table, const Shape& x) {
  Attributes attributes{{"kernel", Ints{3, 3}}, {"stride", Ints{2, 2}}, {"padding", Ints{1, 1, 1, 1}}};
  const TensorType y = F32({x[0], (x[1] + 1) / 2, (x[2] + 1) / 2, x[3]});
  table.Add("max_pool", attributes, {F32(x)});
  table.Add("max_pool_grad", attributes, {F32(x), y, y});
  attributes.Set("count_padding", true);
  table.Add("average_pool", attributes, {F32(x)});
  attributes.Set("shape", x);
  table.Add("average_pool_grad", attributes, {y});
  table.Add("global_average_pool", {}, {F32(x)});
}

void AddElementwise(Table& table, const Shape& shape) {
  const TensorType x = F32(shape), vector = F32({shape.back()});
  table.Add("relu", {}, {x});
  table.Add("add", {}, {x, x});
  table.Add("bias", {}, {x, vector});
  table.Add("bias_grad", {}, {x});
  table.Add("dropout", {{"rate", 0.5}, {"key", std::string("k")}}, {x, std::nullopt});
  table.Add("concat", {{"axis", int64_t{3}}}, {x, x});
  table.Add("sum_of_squares", {}, {x});
  table.Add("sgd_momentum", {{"weight_decay", 0.01}, {"momentum", 0.9}, {"nesterov", true}},
            {x, x, x, F32({}), std::nullopt, std::nullopt});
}

}  // namespace

absl::StatusOr<KernelCase> CopyCase(int64_t batch) {
  const int64_t elements = batch * (int64_t{1} << 20);
  ASSIGN_OR_RETURN(LocalNode node, MakeNode("reshape", {{"shape", Ints{elements}}}, {F32({elements / 4, 4})}));
  return KernelCase{std::move(node), 0};
}

absl::StatusOr<KernelCase> ProductCase(int64_t side, DType dtype) {
  ASSIGN_OR_RETURN(LocalNode node,
                   MakeNode("matmul", {}, {TensorType{dtype, {side, side}}, TensorType{dtype, {side, side}}}));
  const auto length = static_cast<double>(side);
  return KernelCase{std::move(node), 2 * length * length * length};
}

absl::StatusOr<std::vector<KernelCase>> KernelCases(int64_t batch, int64_t side) {
  Table table;
  table.Add(CopyCase(batch));
  table.Add(ProductCase(side, DType::kF32));
  const double dense = 2.0 * static_cast<double>(batch * side * 1000);
  table.Add("matmul", {{"transpose_w", true}}, {F32({batch, side}), F32({1000, side})}, dense);
  table.Add("matmul_epilogue", {{"transpose_w", true}, {"activation", "relu"}},
            {F32({batch, side}), F32({1000, side}), F32({1000})}, dense);
  AddConvolution(table, {batch, 56, 56, 64}, 64, 3);
  AddConvolution(table, {batch, 28, 28, 128}, 128, 1);
  const Shape images{batch, 56, 56, 64};
  AddBatchNorm(table, images);
  AddPooling(table, images);
  AddElementwise(table, images);
  const TensorType logits = F32({batch * 16, 1000}), labels{DType::kI32, {batch * 16}};
  table.Add("log_softmax", {}, {logits});
  table.Add("softmax_cross_entropy", {}, {logits, labels, std::nullopt});
  table.Add("softmax_cross_entropy_grad", {}, {logits, labels, std::nullopt, F32({})});
  return std::move(table).Cases();
}

}  // namespace partita

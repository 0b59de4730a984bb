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

constexpr int64_t kCopied = 8 << 20;  // bytes read and written for each image of a batch

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

  absl::StatusOr<std::vector<KernelCase>> Cases() && {
    RETURN_IF_ERROR(status_);
    return std::move(cases_);
  }

 private:
  absl::Status status_;
  std::vector<KernelCase> cases_;
};

void AddCopy(Table& table, int64_t bytes) {
  const int64_t elements = bytes / 8;  // of f32, read and written
  table.Add("reshape", {{"shape", Ints{elements}}}, {F32({elements / 4, 4})});
}

void AddProduct(Table& table, int64_t side, DType dtype) {
  const TensorType matrix{dtype, {side, side}};
  const auto length = static_cast<double>(side);
  table.Add("matmul", {}, {matrix, matrix}, 2 * length * length * length);
}

// One that keeps the images' size.
struct Convolution {
  Shape w, y;
  Attributes attributes;
  double flops = 0;
};

Convolution ConvolutionOf(const Shape& x, int64_t out_c, int64_t kernel, int64_t groups = 1) {
  const int64_t pad = kernel / 2, depth = x[3] / groups;
  Convolution made;
  made.w = {out_c, kernel, kernel, depth};
  made.y = {x[0], x[1], x[2], out_c};
  made.attributes = {
      {"stride", Ints{1, 1}}, {"padding", Ints{pad, pad, pad, pad}}, {"dilation", Ints{1, 1}}, {"groups", groups}};
  made.flops = 2.0 * static_cast<double>(Elements(made.y) * kernel * kernel * depth);
  return made;
}

void AddConvolution(Table& table, DType dtype, const Shape& x, int64_t out_c, int64_t kernel) {
  const Convolution made = ConvolutionOf(x, out_c, kernel);
  table.Add("conv2d", made.attributes, {TensorType{dtype, x}, TensorType{dtype, made.w}}, made.flops);
}

// A convolution in all three directions, and forward with bias and relu. Windows of few multiply-adds are moves.
void AddConvolutions(Table& table, const Shape& x, int64_t out_c, int64_t kernel, int64_t groups = 1) {
  constexpr int64_t kFew = 9;
  auto [w, y, attributes, flops] = ConvolutionOf(x, out_c, kernel, groups);
  if (kernel * kernel * x[3] / groups <= kFew) flops = 0;
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

// The steps of an LSTM along `places`, there and back, with a projection if it has fewer outputs than units. Flops are
// those of the products from place to place; the weights' gradients are products of their own.
void AddLstm(Table& table, int64_t sequences, int64_t places, int64_t units, int64_t outputs) {
  const bool projected = outputs != units;
  const TensorType g = F32({sequences, places, 4 * units}), w_h = F32({outputs, 4 * units});
  const TensorType cells = F32({sequences, places, units}), h = F32({sequences, places, outputs});
  const std::optional<TensorType> none, projection = projected ? std::optional(F32({units, outputs})) : none;
  const double flops = 2.0 * static_cast<double>(sequences * places * units * outputs) * (projected ? 5 : 4);
  table.Add("lstm_steps", {{"forget_bias", 1.0}}, {g, w_h, projection, none, none, none}, flops);
  Types back = {h, g, cells, h, w_h, none, none, none};
  if (projected) back.push_back(projection);
  table.Add(projected ? "lstm_projected_steps_grad" : "lstm_steps_grad", {}, back, flops);
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

absl::StatusOr<std::vector<KernelCase>> ComputingCases(int64_t batch, int64_t side, DType dtype) {
  Table table;
  for (const int64_t length : {side, side / 2}) AddProduct(table, length, dtype);
  AddConvolution(table, dtype, {batch, 28, 28, 256}, 256, 1);
  return std::move(table).Cases();
}

absl::StatusOr<std::vector<KernelCase>> MovingCases(int64_t bytes) {
  Table table;
  AddCopy(table, bytes);
  table.Add("relu", {}, {F32({bytes / 8})});
  table.Add("sum_of_squares", {}, {F32({bytes / 4})});
  return std::move(table).Cases();
}

absl::StatusOr<std::vector<KernelCase>> KernelCases(int64_t batch, int64_t side) {
  Table table;
  AddCopy(table, batch * kCopied);
  AddProduct(table, side, DType::kF32);
  const double dense = 2.0 * static_cast<double>(batch * side * 1000);
  table.Add("matmul", {{"transpose_w", true}}, {F32({batch, side}), F32({1000, side})}, dense);
  table.Add("matmul_epilogue", {{"transpose_w", true}, {"activation", "relu"}},
            {F32({batch, side}), F32({1000, side}), F32({1000})}, dense);
  AddConvolutions(table, {batch, 56, 56, 64}, 64, 3);
  AddConvolutions(table, {batch, 28, 28, 128}, 128, 1);
  AddConvolutions(table, {batch, 56, 56, 72}, 72, 3, 72);  // of MobileNetV3
  AddConvolutions(table, {batch, 28, 28, 120}, 120, 5, 120);
  AddConvolutions(table, {batch, 56, 56, 96}, 96, 7, 96);    // of ConvNeXt
  AddConvolutions(table, {batch, 28, 28, 256}, 256, 3, 32);  // of ResNeXt
  const Shape images{batch, 56, 56, 64};
  AddBatchNorm(table, images);
  AddPooling(table, images);
  AddElementwise(table, images);
  AddLstm(table, 2 * batch, 20, 2048, 512);   // a layer of BigLSTM
  AddLstm(table, 2 * batch, 27, 1024, 1024);  // one of GNMT's
  const TensorType logits = F32({batch * 16, 1000}), labels{DType::kI32, {batch * 16}};
  table.Add("log_softmax", {}, {logits});
  table.Add("softmax_cross_entropy", {}, {logits, labels, std::nullopt});
  table.Add("softmax_cross_entropy_grad", {}, {logits, labels, std::nullopt, F32({})});
  return std::move(table).Cases();
}

}  // namespace partita

#include "ops/cuda/cublaslt/matmul_product.h"

#include <limits>

#include "runtime/base/status.h"

namespace partita {
namespace {

// batch_matmul has several products.
ProductBatch BatchOf(const LocalNode& node) {
  if (node.attributes.Has("transpose_y")) return MakeProductBatch(node);
  return {1, MakeProductSizes(node)};
}

// matmul_relu_mask has it behind its result, matmul_relu_grad in place of a bias.
ReluMask MaskOf(const LocalNode& node) {
  if (HasInput(node, 2) && Input(node, 2).dtype == DType::kU8) return ReluMask::kRead;
  return node.outputs.back().dtype == DType::kU8 ? ReluMask::kWritten : ReluMask::kNone;
}

}  // namespace

std::string MatMulProduct::Key() const {
  const std::string activation = epilogue.activation_name();
  return fmt::format("{}{} {} {} {:d} {:d} {}{}{}{}{}{}", count == 1 ? "" : fmt::format("{} x ", count), m, n, k,
                     transpose_x, transpose_w, Name(dtype), result == dtype ? "" : " to " + std::string(Name(result)),
                     epilogue.bias ? " bias" : "", activation.empty() ? "" : " " + activation,
                     !bias_operand.has_value() ? ""
                     : *bias_operand == 0      ? " bias_grad x"
                                               : " bias_grad w",
                     mask == ReluMask::kNone      ? ""
                     : mask == ReluMask::kWritten ? " mask"
                                                  : " masked");
}
MatMulProduct MatMulProduct::Alone() const {
  MatMulProduct product = WithoutMask();
  product.epilogue = {};
  product.bias_operand.reset();
  return product;
}
MatMulProduct MatMulProduct::WithoutMask() const {
  MatMulProduct product = *this;
  product.mask = ReluMask::kNone;
  return product;
}

MatMulProduct ProductOf(const LocalNode& node) {
  MatMulProduct product;
  const auto& [count, sizes] = BatchOf(node);
  product.transpose_x = sizes.transpose_x;
  product.transpose_w = sizes.transpose_w;
  product.m = static_cast<uint64_t>(sizes.m);
  product.n = static_cast<uint64_t>(sizes.n);
  product.k = static_cast<uint64_t>(sizes.k);
  product.dtype = Input(node, 0).dtype;
  product.result = node.outputs[0].dtype;
  product.epilogue = EpilogueOf(node);
  product.mask = MaskOf(node);
  product.count = static_cast<uint64_t>(count);
  if (node.attributes.Has("bias_of")) product.bias_operand = BiasOperandOf(node);
  return product;
}

absl::Status CheckProduct(const LocalNode& node) {
  RETURN_IF_ERROR(RequireFloating(Input(node, 0).dtype));
  const MatMulProduct product = ProductOf(node);
  if (product.k == 0) return InvalidArgument("the inner dimension is empty");
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  if (product.count > kMost)
    return InvalidArgument("there are {} products; at most {} are allowed", product.count, kMost);
  return absl::OkStatus();
}

}  // namespace partita

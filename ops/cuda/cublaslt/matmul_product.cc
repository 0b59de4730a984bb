#include "ops/cuda/cublaslt/matmul_product.h"

#include <limits>

#include "runtime/base/status.h"

namespace partita {
namespace {

// batch_matmul has several products.
ProductBatch BatchOf(const LocalNode& node) {
  if (IsBatch(node)) return MakeProductBatch(node);
  return {{}, MakeProductSizes(node)};
}

// A call takes the products of the last dimension.
BatchPlaces::Dimension InnerOf(const BatchPlaces& places) {
  return places.rank == 0 ? BatchPlaces::Dimension() : places.dimensions[places.rank - 1];
}

// matmul_relu_mask has it behind its result, matmul_relu_grad in place of a bias.
ReluMask MaskOf(const LocalNode& node) {
  if (HasInput(node, 2) && Input(node, 2).dtype == DType::kU8) return ReluMask::kRead;
  return node.outputs.back().dtype == DType::kU8 ? ReluMask::kWritten : ReluMask::kNone;
}

}  // namespace

std::string MatMulProduct::Key() const {
  const std::string activation = epilogue.activation_name();
  return fmt::format("{}{} {} {} {:d} {:d} {}{}{}{}{}{}",
                     count == 1 ? "" : fmt::format("{}{}{} x ", count, one_x ? " one x" : "", one_w ? " one w" : ""), m,
                     n, k, transpose_x, transpose_w, Name(dtype),
                     result == dtype ? "" : " to " + std::string(Name(result)), epilogue.bias ? " bias" : "",
                     activation.empty() ? "" : " " + activation,
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

bool IsBatch(const LocalNode& node) { return node.attributes.Has("transpose_y"); }

MatMulProduct ProductOf(const LocalNode& node) {
  MatMulProduct product;
  const auto& [places, sizes] = BatchOf(node);
  product.transpose_x = sizes.transpose_x;
  product.transpose_w = sizes.transpose_w;
  product.m = static_cast<uint64_t>(sizes.m);
  product.n = static_cast<uint64_t>(sizes.n);
  product.k = static_cast<uint64_t>(sizes.k);
  product.dtype = Input(node, 0).dtype;
  product.result = node.outputs[0].dtype;
  product.epilogue = EpilogueOf(node);
  product.mask = MaskOf(node);
  const BatchPlaces::Dimension inner = InnerOf(places);
  product.count = static_cast<uint64_t>(inner.size);
  product.one_x = inner.size > 1 && inner.x_step == 0;
  product.one_w = inner.size > 1 && inner.y_step == 0;
  if (node.attributes.Has("bias_of")) product.bias_operand = BiasOperandOf(node);
  return product;
}

ProductCalls::ProductCalls(const LocalNode& node) {
  const auto [places, each] = BatchOf(node);
  outer_ = places;
  if (outer_.rank > 0) --outer_.rank;
  const int64_t element = SizeOf(Input(node, 0).dtype);
  x_bytes_ = each.m * each.k * element;
  y_bytes_ = each.k * each.n * element;
  z_bytes_ = InnerOf(places).size * each.m * each.n * SizeOf(node.outputs[0].dtype);
}

KernelArguments ProductCalls::At(int64_t call, const KernelArguments& arguments) const {
  const BatchPlaces::Place place = outer_.At(call);
  KernelArguments one = arguments;
  one.inputs[0] = static_cast<const char*>(one.inputs[0]) + place.x * x_bytes_;
  one.inputs[1] = static_cast<const char*>(one.inputs[1]) + place.y * y_bytes_;
  one.outputs[0] = static_cast<char*>(one.outputs[0]) + call * z_bytes_;
  return one;
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

// Describes a node as a matrix product, in the terms of a library.
#ifndef PARTITA_OPS_CUDA_CUBLASLT_MATMUL_PRODUCT_H_
#define PARTITA_OPS_CUDA_CUBLASLT_MATMUL_PRODUCT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "ops/cuda/kernel/cuda_kernel.h"
#include "ops/functors/relu_mask.h"

namespace partita {

// What a product does with the mask of a relu (ops/functors/relu_mask.h): that of its own result, or another's behind
// it.
enum class ReluMask : uint8_t { kNone, kWritten, kRead };

// y = x w, and what is computed along with it.
struct MatMulProduct {
  uint64_t m, n, k;  // of y[m,n]
  bool transpose_x, transpose_w;
  DType dtype, result;  // of the operands, and of y
  NodeEpilogue epilogue;
  std::optional<size_t> bias_operand;  // whose rows are added up, too: 0 is x, 1 is w
  ReluMask mask = ReluMask::kNone;
  uint64_t count = 1;                 // of such products, one behind the other; of several nothing but the products
  bool one_x = false, one_w = false;  // one matrix serves them all

  std::string Key() const;
  MatMulProduct Alone() const;
  MatMulProduct WithoutMask() const;
  // More than the product.
  bool any() const { return epilogue.any() || bias_operand.has_value() || mask != ReluMask::kNone; }
  // A bias is added, or the gradient of one made.
  bool has_bias() const { return epilogue.bias || bias_operand.has_value(); }
  // As the library has it: of y's type, which a node's bias is not where that is bf16.
  int64_t bias_bytes() const {
    return has_bias() ? static_cast<int64_t>(bias_operand == 0 ? m : n) * SizeOf(result) : 0;
  }
  ChannelRows y_rows() const { return {static_cast<int64_t>(m), static_cast<int64_t>(n)}; }
  int64_t mask_bytes() const { return mask == ReluMask::kNone ? 0 : y_rows().rows * MaskBytes(y_rows().channels); }
  // The operand whose rows are summed.
  ChannelRows bias_rows() const { return {static_cast<int64_t>(k), static_cast<int64_t>(bias_operand == 0 ? m : n)}; }
};

// Whether it is a batch_matmul.
bool IsBatch(const LocalNode& node);

// Of batch_matmul those that one call computes.
MatMulProduct ProductOf(const LocalNode& node);

// The calls that compute a node: one, unless matrices serve some products of a batch in a way that no stride says.
class ProductCalls {
 public:
  explicit ProductCalls(const LocalNode& node);

  int64_t count() const { return outer_.count(); }
  // The operands and the result of a call.
  KernelArguments At(int64_t call, const KernelArguments& arguments) const;

 private:
  BatchPlaces outer_;
  int64_t x_bytes_ = 0, y_bytes_ = 0, z_bytes_ = 0;  // of a matrix, and of a call's results
};

// kInvalidArgument: integers, nothing to add up, or more products than the library counts.
absl::Status CheckProduct(const LocalNode& node);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUBLASLT_MATMUL_PRODUCT_H_

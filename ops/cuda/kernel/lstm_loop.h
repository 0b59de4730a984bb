// The loop of an LSTM along its places, as launches: for each a product or two and what happens to the units. Which
// kernel makes the products is the caller's.
#ifndef PARTITA_OPS_CUDA_KERNEL_LSTM_LOOP_H_
#define PARTITA_OPS_CUDA_KERNEL_LSTM_LOOP_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/cuda/kernel/cuda_kernel.h"
#include "ops/cuda/launch/contraction.h"
#include "ops/cuda/launch/lstm.h"
#include "ops/values/index_places.h"

namespace partita {

// y = x w of dense rows, a sample each; y is of the dtype's accumulator.
enum class LstmProduct {
  kGates,               // of the state with w_h
  kProjection,          // of the units' outputs with w_projection
  kStateGradient,       // of dg with the transpose of w_h
  kProjectionGradient,  // of dprojected with the transpose of w_projection
};
launch::MatMulSizes SizesOf(LstmProduct product, const LstmSizes& sizes);

using MultiplyLstm =
    std::function<absl::Status(LstmProduct product, const void* x, const void* w, void* y, CudaQueue queue)>;

class LstmLoop {
 public:
  // Of lstm_steps, lstm_steps_grad or lstm_projected_steps_grad. Refuses a dtype that is no float.
  static absl::StatusOr<LstmLoop> Of(const LocalNode& node);

  const LstmSizes& sizes() const { return sizes_; }
  DType dtype() const { return dtype_; }
  std::vector<LstmProduct> products() const;  // that it needs
  // How often it launches something, products included, at most.
  int launches() const;
  int64_t workspace_bytes() const;

  // Enqueues all places.
  absl::Status Enqueue(const KernelArguments& arguments, const MultiplyLstm& multiply, CudaQueue queue) const;

  // A word that a launch left, in the host's words (ops/host/kernel/sequence_lengths.h).
  absl::Status Explain(uint64_t word) const;

 private:
  absl::Status Forward(const KernelArguments& a, const MultiplyLstm& multiply, CudaQueue queue) const;
  absl::Status Backward(const KernelArguments& a, const MultiplyLstm& multiply, CudaQueue queue) const;

  bool backward_ = false;
  DType dtype_ = DType::kF32;
  LstmSizes sizes_;
  IndexPlaces lengths_;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_LSTM_LOOP_H_

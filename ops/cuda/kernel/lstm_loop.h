// The loop of an LSTM along its places, as launches: one for each product and what follows it. Who multiplies is the
// caller's to say: a library before the launch, or the launch.
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

// How the sums of a product get to the launch that begins with them: enqueues the product, or leaves it to the launch.
using LstmProducts = std::function<absl::StatusOr<launch::LstmSums>(launch::LstmProduct product, const void* x,
                                                                    const void* w, CudaQueue queue)>;

class LstmLoop {
 public:
  // Of lstm_steps, lstm_steps_grad or lstm_projected_steps_grad. Refuses a dtype that is no float.
  static absl::StatusOr<LstmLoop> Of(const LocalNode& node);

  const LstmSizes& sizes() const { return sizes_; }
  DType dtype() const { return dtype_; }
  std::vector<launch::LstmProduct> products() const;  // that it needs
  int library_launches() const;                       // if a library multiplies: its calls and our launches
  int64_t workspace_bytes() const;                    // without that of products

  // Enqueues all places.
  absl::Status Enqueue(const KernelArguments& arguments, const LstmProducts& products, CudaQueue queue) const;

  // A word that a launch left, in the host's words (ops/host/kernel/sequence_lengths.h).
  absl::Status Explain(uint64_t word) const;

 private:
  absl::Status Forward(const KernelArguments& a, const LstmProducts& products, CudaQueue queue) const;
  absl::Status Backward(const KernelArguments& a, const LstmProducts& products, CudaQueue queue) const;

  bool backward_ = false, begins_ = false;  // begins_: with a state h0
  DType dtype_ = DType::kF32;
  LstmSizes sizes_;
  IndexPlaces lengths_;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_LSTM_LOOP_H_

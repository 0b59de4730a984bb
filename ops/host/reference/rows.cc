// Reference kernels of rows that ids choose. An id that is no row is an error of the data, reported with its place in
// the global batch.
#include "ops/host/kernel/ids.h"
#include "ops/host/reference/reference_kernels.h"

namespace partita {

absl::StatusOr<PreparedKernel> ReferenceEmbedding(const LocalNode& node) {
  const Ids ids(node, 1, Input(node, 0));
  const int64_t channels = InputShape(node, 0)[1];
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(ids.Check(a));
    for (int64_t i = 0; i < ids.count(); ++i) {
      const int64_t row = ids.RowAt(a, i);
      T* const y = Out<T>(a, 0) + i * channels;
      for (int64_t c = 0; c < channels; ++c) y[c] = row < 0 ? T(0) : In<T>(a, 0)[row * channels + c];
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<PreparedKernel> ReferenceEmbeddingGrad(const LocalNode& node) {
  const Ids ids(node, 1, node.outputs[0]);
  const int64_t channels = node.outputs[0].shape()[1], elements = node.outputs[0].elements();
  return PreparedFloating(node.outputs[0].dtype, [=]<typename T>(const KernelArguments& a) -> absl::Status {
    RETURN_IF_ERROR(ids.Check(a));
    std::fill_n(Out<T>(a, 0), elements, T(0));
    for (int64_t i = 0; i < ids.count(); ++i) {
      const int64_t row = ids.RowAt(a, i);
      for (int64_t c = 0; row >= 0 && c < channels; ++c) {
        Out<T>(a, 0)[row * channels + c] += In<T>(a, 2)[i * channels + c];
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace partita

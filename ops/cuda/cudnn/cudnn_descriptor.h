// A descriptor of cuDNN's graph: created, its attributes set one after the other, finalized.
#ifndef PARTITA_OPS_CUDA_CUDNN_CUDNN_DESCRIPTOR_H_
#define PARTITA_OPS_CUDA_CUDNN_CUDNN_DESCRIPTOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "ops/cuda/cudnn/cudnn_api.h"
#include "runtime/base/status.h"

namespace partita {

// Owned; destroyed with the last owner.
using CudnnDescriptor = std::shared_ptr<std::remove_pointer_t<cudnnBackendDescriptor_t>>;

// Keeps the first error until Finalize returns it, so that attributes are set in one chain.
class CudnnBuilder {
 public:
  // `what` is for messages: "the convolution".
  CudnnBuilder(const CudnnApi& api, cudnnBackendDescriptorType_t type, std::string what);

  CudnnBuilder& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                    const void* values);
  template <typename T>
  CudnnBuilder& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T& value) {
    return Set(name, type, 1, &value);
  }
  CudnnBuilder& Set(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values) {
    return Set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  CudnnBuilder& Set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
    const cudnnBackendDescriptor_t raw = value.get();
    return Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  }

  // kInvalidArgument: the library does not support what was set.
  absl::StatusOr<CudnnDescriptor> Finalize();

  // For descriptors that the library fills; not finalized.
  absl::StatusOr<CudnnDescriptor> Empty();

 private:
  const CudnnApi& api_;
  const std::string what_;
  absl::Status status_;
  CudnnDescriptor descriptor_;
};

// One INT64 attribute.
absl::StatusOr<int64_t> GetInt64(const CudnnApi& api, const CudnnDescriptor& descriptor,
                                 cudnnBackendAttributeName_t name);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUDNN_CUDNN_DESCRIPTOR_H_

#include "ops/cuda/cudnn/cudnn_descriptor.h"

#include <utility>

namespace partita {

CudnnBuilder::CudnnBuilder(const CudnnApi& api, cudnnBackendDescriptorType_t type, std::string what)
    : api_(api), what_(std::move(what)) {
  cudnnBackendDescriptor_t raw = nullptr;
  status_ =
      CudnnStatus(api_, api_.cudnnBackendCreateDescriptor(type, &raw), "cudnnBackendCreateDescriptor of " + what_);
  if (!status_.ok()) return;
  descriptor_ = CudnnDescriptor(raw, [destroy = api_.cudnnBackendDestroyDescriptor](cudnnBackendDescriptor_t p) {
    if (p != nullptr) destroy(p);
  });
}

CudnnBuilder& CudnnBuilder::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                                const void* values) {
  if (!status_.ok()) return *this;
  status_ = CudnnStatus(api_, api_.cudnnBackendSetAttribute(descriptor_.get(), name, type, count, values),
                        fmt::format("cudnnBackendSetAttribute({}) of {}", static_cast<int>(name), what_));
  return *this;
}

absl::StatusOr<CudnnDescriptor> CudnnBuilder::Finalize() {
  RETURN_IF_ERROR(status_);
  RETURN_IF_ERROR(CudnnStatus(api_, api_.cudnnBackendFinalize(descriptor_.get()), "cudnnBackendFinalize of " + what_));
  return descriptor_;
}

absl::StatusOr<CudnnDescriptor> CudnnBuilder::Empty() {
  RETURN_IF_ERROR(status_);
  return descriptor_;
}

absl::StatusOr<int64_t> GetInt64(const CudnnApi& api, const CudnnDescriptor& descriptor,
                                 cudnnBackendAttributeName_t name) {
  int64_t value = 0, found = 0;
  RETURN_IF_ERROR(CudnnStatus(api,
                              api.cudnnBackendGetAttribute(descriptor.get(), name, CUDNN_TYPE_INT64, 1, &found, &value),
                              fmt::format("cudnnBackendGetAttribute({})", static_cast<int>(name))));
  return value;
}

}  // namespace partita

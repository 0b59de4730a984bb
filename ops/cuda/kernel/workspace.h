// Allocates aligned parts of a kernel's workspace one after the other.
#ifndef PARTITA_OPS_CUDA_KERNEL_WORKSPACE_H_
#define PARTITA_OPS_CUDA_KERNEL_WORKSPACE_H_

#include <cstdint>

#include "ops/values/node_geometry.h"
#include "runtime/base/alignment.h"

namespace partita {

class Workspace {
 public:
  // Without a beginning it only counts.
  explicit Workspace(void* begin) : begin_(static_cast<char*>(begin)) {}

  void* Take(DType dtype, int64_t elements) { return TakeBytes(elements * SizeOf(dtype)); }
  void* TakeBytes(int64_t bytes) {
    const int64_t at = bytes_;
    bytes_ += AlignUp(bytes);
    return begin_ == nullptr ? nullptr : begin_ + at;
  }
  int64_t bytes() const { return bytes_; }

 private:
  char* begin_;
  int64_t bytes_ = 0;
};

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_KERNEL_WORKSPACE_H_

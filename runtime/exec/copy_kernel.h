// Copies boxes of tensors: the packing and unpacking around collectives.
#ifndef PARTITA_RUNTIME_EXEC_COPY_KERNEL_H_
#define PARTITA_RUNTIME_EXEC_COPY_KERNEL_H_

#include <cstdint>
#include <vector>

#include "graph/schedule/schedule.h"
#include "runtime/device/strided_copy.h"
#include "runtime/exec/kernel.h"

namespace partita {

// The offsets of `copy` count from `from` and `to`.
StridedCopy MakeStridedCopy(const BoxCopy& copy, const void* from, void* to);

// Each copy of a launch is one piece of work of the stream.
class CopyKernel : public Kernel {
 public:
  // `arena` is where the launch's offsets count from. It must outlive the kernel.
  CopyKernel(const CopyLaunch& launch, void* arena);
  absl::Status Launch(Stream& stream) override;

 private:
  char* zero_ = nullptr;
  int64_t zero_bytes_ = 0;
  std::vector<StridedCopy> copies_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_COPY_KERNEL_H_

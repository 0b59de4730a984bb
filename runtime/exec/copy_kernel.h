// Copies boxes of tensors: the packing and unpacking around collectives.
#ifndef PARTITA_RUNTIME_EXEC_COPY_KERNEL_H_
#define PARTITA_RUNTIME_EXEC_COPY_KERNEL_H_

#include <cstdint>
#include <vector>

#include "graph/schedule.h"
#include "runtime/exec/kernel.h"

namespace partita {

// Equal runs of bytes at regular distances. Neighbouring dimensions of a box that are one run, or one distance, in both
// tensors are joined, so a block of whole rows is a single run.
struct StridedCopy {
  struct Dimension {
    int64_t size;
    int64_t from_stride, to_stride;  // bytes
  };

  const char* from = nullptr;
  char* to = nullptr;
  int64_t run_bytes = 0;              // 0: nothing to copy
  std::vector<Dimension> dimensions;  // of the runs, the innermost first; empty: one run
};

// The offsets of `copy` count from `from` and `to`.
StridedCopy MakeStridedCopy(const BoxCopy& copy, const void* from, void* to);

// Copies here and now. `index` has at least one entry per dimension; its values do not matter.
void RunStridedCopy(const StridedCopy& copy, std::vector<int64_t>& index);

// On host streams a launch is one task; on others, which cannot run our code, each run is one Stream::Copy.
class CopyKernel : public Kernel {
 public:
  // `arena` is where the launch's offsets count from. It must outlive the kernel.
  CopyKernel(const CopyLaunch& launch, void* arena);
  absl::Status Launch(Stream& stream) override;

 private:
  static absl::Status Run(void* self);

  char* zero_ = nullptr;
  int64_t zero_bytes_ = 0;
  std::vector<StridedCopy> copies_;
  std::vector<int64_t> index_;  // of the run that is copied, so that a step allocates nothing
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_COPY_KERNEL_H_

// Kernels are chosen once for the whole program (docs/design.md 5.4): the process of rank 0 chooses, which may take
// minutes where plans are timed; the others adopt what it chose, then choose alike.
#ifndef PARTITA_RUNTIME_API_JOB_CHOOSE_ONCE_H_
#define PARTITA_RUNTIME_API_JOB_CHOOSE_ONCE_H_

#include <chrono>
#include <functional>

#include "absl/status/status.h"
#include "runtime/api/job/job.h"
#include "runtime/exec/kernel.h"

namespace partita {

// All processes of the job call it. `choose` asks `kernels` for all that the program needs; on rank 0 it runs on a
// separate thread, while the others receive a message every `still_at_it` to keep waiting. Errors: those of `choose`;
// kUnavailable: rank 0 could not choose, or a process is gone.
absl::Status ChooseOnce(Job& job, KernelLibrary& kernels, const std::function<absl::Status()>& choose,
                        std::chrono::milliseconds still_at_it = std::chrono::milliseconds(300));

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_JOB_CHOOSE_ONCE_H_

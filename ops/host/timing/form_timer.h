// Times several kernels for one node on this machine.
#ifndef PARTITA_OPS_HOST_TIMING_FORM_TIMER_H_
#define PARTITA_OPS_HOST_TIMING_FORM_TIMER_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ops/host/kernel/host_kernel.h"
#include "ops/host/timing/host_timing.h"

namespace partita {

// A kernel of a node, by the name of its family.
struct Form {
  std::string name;
  PreparedKernel prepared;
};

// Of each form, on `threads` threads (0: the caller's), the least seconds of its runs, one after the other in turns: of
// kMostRuns; of kEnoughRuns or more no further one once its own have taken kShortSeconds together, since what else the
// machine does disturbs short ones most; of none once they have taken kEnoughSeconds. A form behind the first has no
// further one if its least is kHopeless times that of another, or after a single run kHopelessAtOnce times. All
// operands are in memory of its own, which is given back. `now` is a clock in seconds. Errors: those of a kernel;
// kResourceExhausted: there is no memory or no thread for it.
inline constexpr int kMostRuns = 12, kEnoughRuns = 3;
inline constexpr double kShortSeconds = 0.01, kEnoughSeconds = 0.1;
inline constexpr double kHopeless = 1.5, kHopelessAtOnce = 3;
absl::StatusOr<std::vector<double>> TimeForms(const LocalNode& node, std::span<const Form> forms, int threads,
                                              const std::function<double()>& now);

// The same by the steady clock.
FormTimer TimerOnThreads(int threads);

}  // namespace partita

#endif  // PARTITA_OPS_HOST_TIMING_FORM_TIMER_H_

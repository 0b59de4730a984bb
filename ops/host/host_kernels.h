// The kernels of the host as the executor asks for them: a node's is the first of its op's list (kernel_table.h) that
// takes it and is likely to be fast at it, the rule; or, of a convolution that may be timed, the fastest.
//
// A kernel computes on the thread of the host stream it is launched on, with that thread's OpenMP threads; our code
// allocates nothing in a replay (oneDNN makes a few allocations). Equal inputs give bitwise identical results for the
// same number of threads. A computation rejects data out of range (a label that is not a class) with kInvalidArgument.
#ifndef PARTITA_OPS_HOST_HOST_KERNELS_H_
#define PARTITA_OPS_HOST_HOST_KERNELS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/host/timing/host_timing.h"
#include "runtime/exec/kernel.h"

namespace partita {

struct HostKernelOptions {
  // Only the last kernel of each list, as builds without OpenMP have it.
  bool reference_only = false;
  // If not empty, only kernels of this family: "winograd", "grouped", "onednn", "im2col", "blocked", "fast" or
  // "reference" (a kernel is called <family>_<op>). Tests single out a kernel by it.
  std::string family = "";
  // OpenMP threads of the streams that will run the kernels (HostDeviceOptions::threads): oneDNN plans for a number of
  // threads. 0: as many as the thread has that chooses and creates them.
  int threads = 0;
  // Convolutions are computed by whichever kernel is the fastest here; unset: by the rule's.
  std::optional<HostTiming> timing = std::nullopt;
  // Called behind each computation of a kernel, on its stream: tests plant wrong results by it.
  std::function<void(const LocalNode&, const KernelArguments&)> after_kernel = nullptr;
};

std::unique_ptr<KernelLibrary> MakeHostKernels(const HostKernelOptions& options);

// MakeHostKernels({}).
const KernelLibrary& HostKernels();

// The names of an op's kernels in order of preference; empty for an op without kernels (a state, a move).
std::vector<std::string> HostKernelNames(const std::string& op, const HostKernelOptions& options = {});

// Names of the ops that have kernels, sorted.
std::vector<std::string> HostKernelOps();

}  // namespace partita

#endif  // PARTITA_OPS_HOST_HOST_KERNELS_H_

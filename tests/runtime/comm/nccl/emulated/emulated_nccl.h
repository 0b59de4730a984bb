// NCCL without GPUs that moves and computes: between processes of one machine, as work of the fake CUDA's streams.
//
// The table does what NCCL 2.28 does, and refuses what NCCL refuses or cannot bear; each refusal is a sentence in
// ncclGetLastError and on standard error:
// - ncclCommInitRankConfig returns at once (ncclInProgress) where the configuration does not block, and is done when
//   all ranks have come. Two ranks on one GPU are refused unless NCCL_HOSTID differs between them.
// - A call enqueues its work from a thread of the library where the communicator does not block.
// - Work blocks the thread that runs it until all peers have come to the same operation. If the ranks differ in the
//   order of operations, counts, types, reductions or roots, or a peer is gone, ncclCommGetAsyncError says so, and the
//   work blocks until the communicator is aborted.
// - bf16 is summed in f32 in rank order and rounded once; results are bitwise identical on all ranks.
// - A communicator that is destroyed before ncclCommFinalize is done ends in the background, as late as it can: memory
//   that its graphs used must live until then.
//
// A rank's GPU is the one that is current on the thread that calls ncclCommInitRankConfig.
#ifndef PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_EMULATED_NCCL_H_
#define PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_EMULATED_NCCL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/comm/nccl/nccl_api.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

namespace partita {

namespace emulated_nccl {
struct State;
}

// One at a time: the functions of a table have no argument for it. Thread-safe. Destroyed before the FakeCuda on whose
// streams it runs.
class EmulatedNccl {
 public:
  explicit EmulatedNccl(const FakeCuda& cuda);
  // Reports communicators that were neither destroyed nor aborted, and waits for those that end in the background.
  ~EmulatedNccl();
  EmulatedNccl(const EmulatedNccl&) = delete;

  const NcclApi& api() const { return api_; }

  // Of the library, from now on.
  void set_version(int version);

  // NCCL_ALGO as the latest ncclCommInitRankConfig read it; nothing: it was not set.
  std::optional<std::string> algo() const;

  // The mistakes of the program so far, a sentence each. That a peer is gone is none.
  std::vector<std::string> reports() const;

  // Waits for communicators that end in the background, and reports those whose memory was freed before. A program
  // whose EmulatedNccl is never destroyed calls it when it ends (std::atexit).
  void AwaitEnds();

 private:
  NcclApi api_;
  std::unique_ptr<emulated_nccl::State> state_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_EMULATED_NCCL_H_

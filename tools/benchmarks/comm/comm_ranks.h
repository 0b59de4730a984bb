// The ranks of one kind of communicator, in this process, ready to be measured.
#ifndef PARTITA_TOOLS_BENCHMARKS_COMM_COMM_RANKS_H_
#define PARTITA_TOOLS_BENCHMARKS_COMM_COMM_RANKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/world.h"
#include "runtime/device/device.h"

namespace partita {

struct CommRank {
  Buffer In(int64_t first, int64_t count) const { return Part(*in, first, count); }
  Buffer Out(int64_t first, int64_t count) const { return Part(*out, first, count); }

  std::shared_ptr<Device> device;  // of several ranks, where they share a GPU
  std::shared_ptr<World> world;
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Arena> in, out;  // of f32
  std::unique_ptr<Stream> stream;  // destroyed first: its work uses the rest

 private:
  static Buffer Part(const Arena& arena, int64_t first, int64_t count) {
    return {static_cast<float*>(arena.data()) + first, count, DType::kF32};
  }
};

struct CommRanks {
  std::string backend;  // "local", "tcp", "tls", "shared_memory", "cuda_local", "nccl"
  std::vector<CommRank> ranks;
};

// `elements`: of each of the two buffers. Ranks that wait for others spin as those of a session with `threads` threads
// in all do.
absl::StatusOr<CommRanks> MakeLocalRanks(int ranks, int64_t elements, int64_t threads);
// As ranks that are processes talk: over TCP, as it is or encrypted, or through memory that they share.
enum class ProcessWire { kTcp, kTls, kSharedMemory };
absl::StatusOr<CommRanks> MakeProcessRanks(int ranks, int64_t elements, ProcessWire wire);

// Ranks that share the first GPU; with several GPUs, also ranks on one GPU each, over NCCL. kUnavailable: there is no
// GPU, no driver, or this program was built without CUDA.
absl::StatusOr<std::vector<CommRanks>> MakeCudaRanks(int ranks, int64_t elements);

// Rank `rank` of `world` on `device`, in a group of all `ranks`. Thread-safe for different ranks and worlds.
absl::StatusOr<CommRank> MakeCommRank(std::shared_ptr<Device> device, std::shared_ptr<World> world, int ranks, int rank,
                                      int64_t elements);

}  // namespace partita

#endif  // PARTITA_TOOLS_BENCHMARKS_COMM_COMM_RANKS_H_

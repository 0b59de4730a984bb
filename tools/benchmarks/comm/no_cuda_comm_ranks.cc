// In builds without CUDA the communication benchmark has no GPU.
#include "runtime/base/status.h"
#include "tools/benchmarks/comm/comm_ranks.h"

namespace partita {

absl::StatusOr<std::vector<CommRanks>> MakeCudaRanks(int, int64_t) {
  return Unavailable("this program was built without CUDA");
}

}  // namespace partita

// The functions of NCCL that Partita calls, as a table: filled from the library where there is one, or by a test.
#ifndef PARTITA_RUNTIME_COMM_NCCL_NCCL_API_H_
#define PARTITA_RUNTIME_COMM_NCCL_NCCL_API_H_

#include <nccl.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

#define PARTITA_NCCL_FUNCTIONS(X) \
  X(ncclAllGather)                \
  X(ncclAllReduce)                \
  X(ncclBroadcast)                \
  X(ncclCommAbort)                \
  X(ncclCommDestroy)              \
  X(ncclCommFinalize)             \
  X(ncclCommGetAsyncError)        \
  X(ncclCommInitRankConfig)       \
  X(ncclGetErrorString)           \
  X(ncclGetLastError)             \
  X(ncclGetUniqueId)              \
  X(ncclGetVersion)               \
  X(ncclGroupEnd)                 \
  X(ncclGroupStart)               \
  X(ncclRecv)                     \
  X(ncclReduce)                   \
  X(ncclReduceScatter)            \
  X(ncclSend)

struct NcclApi {
#define PARTITA_NCCL_SLOT(name) decltype(&::name) name = nullptr;
  PARTITA_NCCL_FUNCTIONS(PARTITA_NCCL_SLOT)
#undef PARTITA_NCCL_SLOT
};

// The library of this machine, opened at the first call. kUnavailable: missing, or of a version that CheckNcclVersion
// refuses. Thread-safe.
absl::StatusOr<const NcclApi*> LoadNccl();

// kUnavailable: the library is older than 2.18, which has every function and configuration that is used here, or of
// another major version. An older library reads only the fields of ncclConfig_t that it knows.
absl::Status CheckNcclVersion(const NcclApi& api);

// Converts the result of `call`. A lost peer and a system error are kUnavailable; wrong use is kInternal. `where`:
// "group 3: all_reduce of 7 f32 (sum)".
absl::Status NcclStatus(const NcclApi& api, ncclResult_t result, ncclComm_t comm, const std::string& call,
                        const std::string& where);

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_NCCL_NCCL_API_H_

#include "runtime/comm/nccl/nccl_api.h"

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int kOldestVersion = NCCL_VERSION(2, 18, 0);

std::string VersionText(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

}  // namespace

absl::Status CheckNcclVersion(const NcclApi& api) {
  int version = 0;
  const ncclResult_t result = api.ncclGetVersion(&version);
  if (result != ncclSuccess) return NcclStatus(api, result, nullptr, "ncclGetVersion", "NCCL");
  if (version >= kOldestVersion && version / 10000 == NCCL_MAJOR) return absl::OkStatus();
  return Unavailable("NCCL {} was found; expected {} or a newer {}.x (this program was built with the headers of {})",
                     VersionText(version), VersionText(kOldestVersion), NCCL_MAJOR, VersionText(NCCL_VERSION_CODE));
}

absl::Status NcclStatus(const NcclApi& api, ncclResult_t result, ncclComm_t comm, const std::string& call,
                        const std::string& where) {
  const char* const last = api.ncclGetLastError(comm);
  std::string message = fmt::format("{}: {}: {}", where, call, api.ncclGetErrorString(result));
  if (last != nullptr && *last != '\0') message += fmt::format(" ({})", last);
  const bool ours = result == ncclInvalidArgument || result == ncclInvalidUsage;
  return absl::Status(ours ? absl::StatusCode::kInternal : absl::StatusCode::kUnavailable, message);
}

}  // namespace partita

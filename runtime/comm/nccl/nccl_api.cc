#include "runtime/comm/nccl/nccl_api.h"

#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/library/lazy_library.h"

namespace partita {
namespace {

constexpr int kOldestVersion = NCCL_VERSION(2, 18, 0);

std::string VersionText(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

absl::Status Load(NcclApi& api) {
  std::vector<LibrarySlot> slots;
#define PARTITA_NCCL_SLOT(name) slots.push_back({#name, reinterpret_cast<void**>(&api.name)});
  PARTITA_NCCL_FUNCTIONS(PARTITA_NCCL_SLOT)
#undef PARTITA_NCCL_SLOT
  RETURN_IF_ERROR(LoadLibrary({"NCCL", "libnccl.so.2"}, slots));
  return CheckNcclVersion(api);
}

}  // namespace

absl::StatusOr<const NcclApi*> LoadNccl() {
  static NcclApi api;
  static const auto& loaded = *new absl::Status(Load(api));
  RETURN_IF_ERROR(loaded);
  return &api;
}

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

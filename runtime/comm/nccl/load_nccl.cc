// In a file of its own: a program that defines LoadNccl itself links without this one, and gets its own NCCL.
#include <vector>

#include "runtime/base/status.h"
#include "runtime/comm/nccl/nccl_api.h"
#include "runtime/device/cuda/library/lazy_library.h"

namespace partita {
namespace {

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

}  // namespace partita

#include "runtime/device/cuda/timeline/cupti_api.h"

#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/library/lazy_library.h"

namespace partita {
namespace {

absl::Status Load(CuptiApi& api) {
  std::vector<LibrarySlot> slots;
#define PARTITA_CUPTI_SLOT(name) slots.push_back({#name, reinterpret_cast<void**>(&api.name)});
  PARTITA_CUPTI_FUNCTIONS(PARTITA_CUPTI_SLOT)
#undef PARTITA_CUPTI_SLOT
  // Records of one major version keep their layout: later ones only append.
  return LoadLibrary({"CUPTI", fmt::format("libcupti.so.{}", CUPTI_API_VERSION / 10000)}, slots);
}

}  // namespace

absl::StatusOr<const CuptiApi*> LoadCupti() {
  static CuptiApi api;
  static const auto& loaded = *new absl::Status(Load(api));
  RETURN_IF_ERROR(loaded);
  return &api;
}

absl::Status CuptiStatus(const CuptiApi& api, CUptiResult result, const std::string& call) {
  if (result == CUPTI_SUCCESS) return absl::OkStatus();
  const char* text = nullptr;
  api.cuptiGetResultString(result, &text);
  const std::string message =
      fmt::format("{}: {}", call, text == nullptr ? std::to_string(static_cast<int>(result)) : std::string(text));
  switch (result) {
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_NOT_INITIALIZED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return absl::UnavailableError(message);
    default:
      return absl::InternalError(message);
  }
}

}  // namespace partita

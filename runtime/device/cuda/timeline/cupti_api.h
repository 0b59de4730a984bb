// The functions of CUPTI that Partita calls, as a table: filled from the library where there is one, or by a test.
#ifndef PARTITA_RUNTIME_DEVICE_CUDA_TIMELINE_CUPTI_API_H_
#define PARTITA_RUNTIME_DEVICE_CUDA_TIMELINE_CUPTI_API_H_

#include <cupti.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

#define PARTITA_CUPTI_FUNCTIONS(X)  \
  X(cuptiActivityDisable)           \
  X(cuptiActivityEnable)            \
  X(cuptiActivityFlushAll)          \
  X(cuptiActivityGetNextRecord)     \
  X(cuptiActivityRegisterCallbacks) \
  X(cuptiEnableCallback)            \
  X(cuptiGetGraphNodeId)            \
  X(cuptiGetResultString)           \
  X(cuptiGetTimestamp)              \
  X(cuptiSubscribe)                 \
  X(cuptiUnsubscribe)

struct CuptiApi {
#define PARTITA_CUPTI_SLOT(name) decltype(&::name) name = nullptr;
  PARTITA_CUPTI_FUNCTIONS(PARTITA_CUPTI_SLOT)
#undef PARTITA_CUPTI_SLOT
};

// The library of this machine, opened at the first call. kUnavailable: missing, or of another version than what this
// program was built against. Thread-safe.
absl::StatusOr<const CuptiApi*> LoadCupti();

// What `call` returned. kUnavailable: another profiler has CUPTI, or the user may not profile; else kInternal.
absl::Status CuptiStatus(const CuptiApi& api, CUptiResult result, const std::string& call);

// RETURN_IF_CUPTI_ERROR(api, cuptiActivityFlushAll, 0) calls the function of the table.
#define RETURN_IF_CUPTI_ERROR(api, function, ...) \
  RETURN_IF_ERROR(CuptiStatus(api, (api).function(__VA_ARGS__), #function))

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_CUDA_TIMELINE_CUPTI_API_H_

// The functions of cuBLASLt that Partita calls, as a table: the library's, opened at run time, or a test's.
#ifndef PARTITA_OPS_CUDA_CUBLASLT_CUBLASLT_API_H_
#define PARTITA_OPS_CUDA_CUBLASLT_CUBLASLT_API_H_

#include <cublasLt.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace partita {

#define PARTITA_CUBLASLT_FUNCTIONS(X)     \
  X(cublasLtCreate)                       \
  X(cublasLtDestroy)                      \
  X(cublasLtGetStatusName)                \
  X(cublasLtGetVersion)                   \
  X(cublasLtMatmul)                       \
  X(cublasLtMatmulAlgoCheck)              \
  X(cublasLtMatmulAlgoGetHeuristic)       \
  X(cublasLtMatmulDescCreate)             \
  X(cublasLtMatmulDescDestroy)            \
  X(cublasLtMatmulDescSetAttribute)       \
  X(cublasLtMatmulPreferenceCreate)       \
  X(cublasLtMatmulPreferenceDestroy)      \
  X(cublasLtMatmulPreferenceSetAttribute) \
  X(cublasLtMatrixLayoutCreate)           \
  X(cublasLtMatrixLayoutDestroy)          \
  X(cublasLtMatrixLayoutSetAttribute)

struct CublasLtApi {
#define PARTITA_CUBLASLT_SLOT(name) decltype(&::name) name = nullptr;
  PARTITA_CUBLASLT_FUNCTIONS(PARTITA_CUBLASLT_SLOT)
#undef PARTITA_CUBLASLT_SLOT
};

// kUnavailable: the library was not found or is of another version; says where it was looked for.
absl::StatusOr<CublasLtApi> LoadCublasLt();

// OK, or what `call` answered: kUnavailable for a device that does not work or is not known to the library,
// kResourceExhausted for memory, kInvalidArgument for what the library does not support, else kInternal.
absl::Status CublasLtStatus(const CublasLtApi& api, cublasStatus_t status, const std::string& call);

}  // namespace partita

#endif  // PARTITA_OPS_CUDA_CUBLASLT_CUBLASLT_API_H_

#include "tests/ops/cuda/cublaslt/fake_cublaslt.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/base/check.h"
#include "tests/ops/cuda/cublaslt/host_matmul.h"
#include "tests/ops/cuda/cublaslt/matmul_rules.h"

namespace partita {
namespace {

using fake_cublaslt::Algorithm;
using fake_cublaslt::Alignments;
using fake_cublaslt::Matrix;
using fake_cublaslt::Operands;
using fake_cublaslt::Operation;
using fake_cublaslt::Problem;
using fake_cublaslt::Verdict;

constexpr const char* kError = "a fake's error";

FakeCublasLt* fake = nullptr;

// What the latest error on this thread is called: a refusal says why.
thread_local std::string latest_error = kError;

struct Preference {
  uint64_t workspace = 0;
  uint32_t a = 256, b = 256, c = 256, d = 256;     // alignments
  uint32_t sums = CUBLASLT_REDUCTION_SCHEME_MASK;  // how parts of a sum may be added up
};

cublasStatus_t Refuse(cublasStatus_t status, const std::string& why) {
  fake->refusals.push_back(why);
  latest_error = std::string(status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported: " : "invalid value: ") + why;
  return status;
}

// With the lock held.
cublasStatus_t Call() {
  if (++fake->calls != fake->fail_at) return CUBLAS_STATUS_SUCCESS;
  latest_error = kError;
  return fake->error;
}

#define ENTER()                                        \
  const std::lock_guard<std::mutex> lock(fake->mutex); \
  if (const cublasStatus_t entered = Call(); entered != CUBLAS_STATUS_SUCCESS) return entered

template <typename T, typename Opaque>
cublasStatus_t Make(Opaque** out, T value, std::set<const void*>& live) {
  ENTER();
  if (out == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "there is no place for a descriptor");
  T* const made = new T(std::move(value));
  live.insert(made);
  *out = reinterpret_cast<Opaque*>(made);
  ++fake->live;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T>
cublasStatus_t Drop(const void* raw, std::set<const void*>& live) {
  const std::lock_guard<std::mutex> lock(fake->mutex);
  if (live.erase(raw) == 0) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "what is destroyed does not exist");
  delete static_cast<const T*>(raw);
  --fake->live;
  return CUBLAS_STATUS_SUCCESS;
}

// Null: no such descriptor lives.
template <typename T>
T* Find(const void* raw, const std::set<const void*>& live) {
  return live.count(raw) == 0 ? nullptr : static_cast<T*>(const_cast<void*>(raw));
}

cublasStatus_t Take(void* slot, size_t size, const void* value, size_t bytes) {
  if (value == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "an attribute has no value");
  if (bytes != size) {
    return Refuse(CUBLAS_STATUS_INVALID_VALUE, fmt::format("an attribute of {} bytes is set to {}", size, bytes));
  }
  std::memcpy(slot, value, size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t SetOperation(cublasLtMatmulDesc_t raw, cublasLtMatmulDescAttributes_t name, const void* value,
                            size_t bytes) {
  ENTER();
  auto* const operation = Find<Operation>(raw, fake->operations);
  if (operation == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "the product's descriptor does not exist");
  const auto take = [&](auto& slot) { return Take(&slot, sizeof(slot), value, bytes); };
  switch (name) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(operation->a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(operation->b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(operation->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(operation->bias);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return take(operation->bias_type);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return take(operation->mask);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return take(operation->mask_bits);
    default:
      return Refuse(CUBLAS_STATUS_INVALID_VALUE, fmt::format("attribute {} of a product", static_cast<int>(name)));
  }
}

cublasStatus_t SetMatrix(cublasLtMatrixLayout_t raw, cublasLtMatrixLayoutAttribute_t name, const void* value,
                         size_t bytes) {
  ENTER();
  auto* const matrix = Find<Matrix>(raw, fake->matrices);
  if (matrix == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "a matrix's descriptor does not exist");
  const auto take = [&](auto& slot) { return Take(&slot, sizeof(slot), value, bytes); };
  switch (name) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return take(matrix->batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return take(matrix->stride);
    default:
      return Refuse(CUBLAS_STATUS_INVALID_VALUE, fmt::format("attribute {} of a matrix", static_cast<int>(name)));
  }
}

cublasStatus_t SetPreference(cublasLtMatmulPreference_t raw, cublasLtMatmulPreferenceAttributes_t name,
                             const void* value, size_t bytes) {
  ENTER();
  auto* const preference = Find<Preference>(raw, fake->preferences);
  if (preference == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "the preference does not exist");
  const auto take = [&](auto& slot) { return Take(&slot, sizeof(slot), value, bytes); };
  switch (name) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return take(preference->workspace);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return take(preference->sums);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return take(preference->a);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return take(preference->b);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return take(preference->c);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return take(preference->d);
    default:
      return Refuse(CUBLAS_STATUS_INVALID_VALUE, fmt::format("attribute {} of a preference", static_cast<int>(name)));
  }
}

// What a function is given to say which product it is about, all of it copied and checked.
cublasStatus_t ReadProblem(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
                           cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                           Problem* problem) {
  if (fake->handles.count(handle) == 0) {
    return Refuse(CUBLAS_STATUS_NOT_INITIALIZED, "the handle does not exist, or was destroyed");
  }
  const auto* const known = Find<Operation>(operation, fake->operations);
  if (known == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "the product's descriptor does not exist");
  problem->operation = *known;
  for (const auto& [raw, to] : {std::pair(a, &problem->a), {b, &problem->b}, {c, &problem->c}, {d, &problem->d}}) {
    const auto* const matrix = Find<Matrix>(raw, fake->matrices);
    if (matrix == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "a matrix's descriptor does not exist");
    *to = *matrix;
  }
  const Verdict verdict = CheckProblem(*problem);
  return verdict.ok() ? CUBLAS_STATUS_SUCCESS : Refuse(verdict.status, verdict.why);
}

// Without a word in `refusals`: what this GPU has no algorithm for, as a test wants it.
bool HasAlgorithm(const Operation& operation, const Preference& preference) {
  if (preference.a % 16 != 0 && !fake->unaligned) return false;
  if (operation.has_mask() && !fake->masks) return false;
  return operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT || fake->epilogues;
}

cublasStatus_t AlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                         const cublasLtMatmulAlgo_t* opaque, cublasLtMatmulHeuristicResult_t* result) {
  ENTER();
  Problem problem;
  if (const cublasStatus_t status = ReadProblem(handle, desc, a, b, c, d, &problem); status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  const Algorithm algorithm = Algorithm::Read(*opaque);
  if (const Verdict verdict = CheckAlgorithm(problem, algorithm); !verdict.ok()) {
    return Refuse(verdict.status, verdict.why);
  }
  result->workspaceSize = algorithm.workspace();
  result->state = fake->algorithms_are_known ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                         cublasLtMatmulPreference_t raw, int most, cublasLtMatmulHeuristicResult_t* results,
                         int* found) {
  ENTER();
  Problem problem;
  if (const cublasStatus_t status = ReadProblem(handle, desc, a, b, c, d, &problem); status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  const auto* const preference = Find<Preference>(raw, fake->preferences);
  if (preference == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "the preference does not exist");
  if (most <= 0) return Refuse(CUBLAS_STATUS_INVALID_VALUE, fmt::format("{} algorithms are asked for", most));
  if (!HasAlgorithm(problem.operation, *preference)) {
    latest_error = kError;
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  fake->alignments.push_back(preference->a);
  fake->sums.push_back(preference->sums);
  ++fake->searches;
  *found = 0;
  for (int i = 0; i < std::min(most, fake->algorithms); ++i) {
    const Algorithm algorithm{{preference->a, preference->b, preference->c, preference->d},
                              static_cast<uint64_t>(i),
                              ShapeOf(problem),
                              EpilogueAlignment(problem.operation)};
    if (algorithm.workspace() > preference->workspace) continue;
    cublasLtMatmulHeuristicResult_t& result = results[(*found)++];
    result.algo = algorithm.Write();
    result.workspaceSize = algorithm.workspace();
    result.state = i == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

double ScalarOf(const Operation& operation, const void* value) {
  return operation.scale == CUDA_R_64F ? *static_cast<const double*>(value) : *static_cast<const float*>(value);
}

// What is to be computed, read from the descriptors and scalars as they are now.
cublasStatus_t ReadProduct(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* beta,
                           cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                           cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* opaque, const void* workspace,
                           size_t workspace_bytes, cudaStream_t stream, Problem* problem, Operands* operands) {
  ENTER();
  if (const cublasStatus_t status = ReadProblem(handle, desc, a, b, c, d, problem); status != CUBLAS_STATUS_SUCCESS) {
    return status;
  }
  if (alpha == nullptr || beta == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "a scalar has no address");
  if (opaque == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "no algorithm is given");
  // The library takes it; the work would wait for all other streams.
  if (stream == nullptr) return Refuse(CUBLAS_STATUS_INVALID_VALUE, "the stream is the default stream");
  operands->alpha = ScalarOf(problem->operation, alpha);
  operands->beta = ScalarOf(problem->operation, beta);
  const Algorithm algorithm = Algorithm::Read(*opaque);
  Verdict verdict = CheckAlgorithm(*problem, algorithm);
  if (verdict.ok()) verdict = CheckCall(*problem, algorithm, *operands, workspace, workspace_bytes);
  if (!verdict.ok()) return Refuse(verdict.status, verdict.why);
  const std::string code(reinterpret_cast<const char*>(opaque->data), sizeof(opaque->data));
  if (fake->loaded.insert(code).second && fake->breaks_capture && fake->breaks_capture(stream)) {
    return Refuse(CUBLAS_STATUS_EXECUTION_FAILED, "an algorithm loads its code in a capture");
  }
  fake->algorithms_run.push_back(algorithm.alignments.a);
  fake->places_run.push_back(algorithm.place);
  fake->compute_types.push_back(problem->operation.compute);
  fake->epilogues_run.push_back(problem->operation.epilogue);
  fake->batches_run.push_back(problem->d.batch);
  return CUBLAS_STATUS_SUCCESS;
}

bool Reaches(const Problem& problem, const Operands& operands, const void* workspace, size_t workspace_bytes) {
  if (!fake->reaches) return true;
  auto memory = MemoryOf(problem, operands);
  memory.emplace_back(workspace, static_cast<int64_t>(workspace_bytes));
  return std::ranges::all_of(memory, [](const auto& bytes) { return fake->reaches(bytes.first, bytes.second); });
}

cublasStatus_t Product(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                       cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                       const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                       cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                       size_t workspace_bytes, cudaStream_t stream) {
  Problem problem;
  Operands operands{a, b, c, d, 0, 0};
  const cublasStatus_t status = ReadProduct(handle, desc, alpha, beta, a_layout, b_layout, c_layout, d_layout,
                                            algorithm, workspace, workspace_bytes, stream, &problem, &operands);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const auto run = [problem, operands, workspace, workspace_bytes] {
    if (!Reaches(problem, operands, workspace, workspace_bytes)) return;
    std::memset(workspace, 0xFF, workspace_bytes);
    Compute(problem, operands);
  };
  if (fake->enqueue) {
    fake->enqueue(stream, run);
  } else {
    run();
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

FakeCublasLt::FakeCublasLt() {
  CHECK(fake == nullptr);
  fake = this;
  api_.cublasLtCreate = [](cublasLtHandle_t* handle) { return Make(handle, int{0}, fake->handles); };
  api_.cublasLtDestroy = [](cublasLtHandle_t handle) { return Drop<int>(handle, fake->handles); };
  api_.cublasLtGetStatusName = [](cublasStatus_t) { return latest_error.c_str(); };
  api_.cublasLtGetVersion = [] { return size_t{130100}; };
  api_.cublasLtMatmul = Product;
  api_.cublasLtMatmulAlgoCheck = AlgoCheck;
  api_.cublasLtMatmulAlgoGetHeuristic = Heuristic;
  api_.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t* out, cublasComputeType_t compute, cudaDataType_t scale) {
    return Make(out, Operation{compute, scale}, fake->operations);
  };
  api_.cublasLtMatmulDescDestroy = [](cublasLtMatmulDesc_t p) { return Drop<Operation>(p, fake->operations); };
  api_.cublasLtMatmulDescSetAttribute = SetOperation;
  api_.cublasLtMatmulPreferenceCreate = [](cublasLtMatmulPreference_t* out) {
    return Make(out, Preference{}, fake->preferences);
  };
  api_.cublasLtMatmulPreferenceDestroy = [](cublasLtMatmulPreference_t p) {
    return Drop<Preference>(p, fake->preferences);
  };
  api_.cublasLtMatmulPreferenceSetAttribute = SetPreference;
  api_.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t* out, cudaDataType type, uint64_t rows, uint64_t columns,
                                       int64_t leading) {
    return Make(out, Matrix{type, rows, columns, leading}, fake->matrices);
  };
  api_.cublasLtMatrixLayoutDestroy = [](cublasLtMatrixLayout_t p) { return Drop<Matrix>(p, fake->matrices); };
  api_.cublasLtMatrixLayoutSetAttribute = SetMatrix;
}

FakeCublasLt::~FakeCublasLt() { fake = nullptr; }

}  // namespace partita

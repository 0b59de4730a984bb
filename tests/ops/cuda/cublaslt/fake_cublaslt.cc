#include "tests/ops/cuda/cublaslt/fake_cublaslt.h"

#include <cstring>

#include "runtime/base/bf16.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

FakeCublasLt* fake = nullptr;

struct Operation {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
  const void* mask = nullptr;
  int64_t mask_bits = 0;  // of a column

  bool adds() const {
    return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
           epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
  }
  // Whose sums over what the product adds up go where the bias is.
  bool sums_a() const { return epilogue == CUBLASLT_EPILOGUE_BGRADA; }
  bool sums_b() const { return epilogue == CUBLASLT_EPILOGUE_BGRADB; }
  bool has_bias() const { return adds() || sums_a() || sums_b(); }
  bool clips() const {
    return epilogue == CUBLASLT_EPILOGUE_RELU || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS || writes_mask();
  }
  bool writes_mask() const {
    return epilogue == CUBLASLT_EPILOGUE_RELU_AUX || epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
  }
  bool reads_mask() const { return epilogue == CUBLASLT_EPILOGUE_DRELU; }
  bool has_mask() const { return writes_mask() || reads_mask(); }
};
struct Matrix {
  cudaDataType type;
  int64_t rows, columns, leading;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment = 256;
  uint32_t sums = CUBLASLT_REDUCTION_SCHEME_MASK;  // how parts of a sum may be added up
};

cublasStatus_t Call() { return ++fake->calls == fake->fail_at ? fake->error : CUBLAS_STATUS_SUCCESS; }

template <typename T, typename Opaque>
cublasStatus_t Make(Opaque** out, T value) {
  if (const cublasStatus_t status = Call(); status != CUBLAS_STATUS_SUCCESS) return status;
  *out = reinterpret_cast<Opaque*>(new T(value));
  ++fake->live;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename T, typename Opaque>
cublasStatus_t Drop(Opaque* p) {
  delete reinterpret_cast<T*>(p);
  --fake->live;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t SetOperation(cublasLtMatmulDesc_t raw, cublasLtMatmulDescAttributes_t name, const void* value,
                            size_t bytes) {
  if (const cublasStatus_t status = Call(); status != CUBLAS_STATUS_SUCCESS) return status;
  auto& operation = *reinterpret_cast<Operation*>(raw);
  const auto take = [&](auto& slot) {
    CHECK(bytes == sizeof(slot));
    std::memcpy(&slot, value, bytes);
  };
  if (name == CUBLASLT_MATMUL_DESC_TRANSA) take(operation.a);
  if (name == CUBLASLT_MATMUL_DESC_TRANSB) take(operation.b);
  if (name == CUBLASLT_MATMUL_DESC_EPILOGUE) take(operation.epilogue);
  if (name == CUBLASLT_MATMUL_DESC_BIAS_POINTER) take(operation.bias);
  if (name == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER) take(operation.mask);
  if (name == CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD) take(operation.mask_bits);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t SetPreference(cublasLtMatmulPreference_t raw, cublasLtMatmulPreferenceAttributes_t name,
                             const void* value, size_t bytes) {
  if (const cublasStatus_t status = Call(); status != CUBLAS_STATUS_SUCCESS) return status;
  auto& preference = *reinterpret_cast<Preference*>(raw);
  if (name == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    CHECK(bytes == sizeof(uint64_t));
    std::memcpy(&preference.workspace, value, bytes);
  } else {
    CHECK(bytes == sizeof(uint32_t));
    const bool sums = name == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK;
    std::memcpy(sums ? &preference.sums : &preference.alignment, value, bytes);
  }
  return CUBLAS_STATUS_SUCCESS;
}

size_t WorkspaceOf(const cublasLtMatmulAlgo_t& algorithm) { return algorithm.data[0] == 16 ? 512 : 1024; }

cublasStatus_t AlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t* algorithm,
                         cublasLtMatmulHeuristicResult_t* result) {
  if (const cublasStatus_t status = Call(); status != CUBLAS_STATUS_SUCCESS) return status;
  result->workspaceSize = WorkspaceOf(*algorithm);
  result->state = fake->algorithms_are_known ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                         cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t raw, int most,
                         cublasLtMatmulHeuristicResult_t* results, int* found) {
  if (const cublasStatus_t status = Call(); status != CUBLAS_STATUS_SUCCESS) return status;
  const auto& preference = *reinterpret_cast<Preference*>(raw);
  const auto& operation = *reinterpret_cast<Operation*>(desc);
  CHECK(operation.has_bias() == (operation.bias != nullptr) && operation.has_mask() == (operation.mask != nullptr));
  if (operation.has_mask() && !fake->masks) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT && !fake->epilogues) return CUBLAS_STATUS_NOT_SUPPORTED;
  fake->alignments.push_back(preference.alignment);
  fake->sums.push_back(preference.sums);
  ++fake->searches;
  *found = std::min(most, fake->algorithms);
  for (int i = 0; i < *found; ++i) {
    results[i].algo.data[0] = preference.alignment;
    results[i].algo.data[1] = static_cast<uint64_t>(i);
    results[i].workspaceSize = WorkspaceOf(results[i].algo);
    results[i].state = i == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

// Of the element of row `i` and column `j`. Bits behind the last row are not the caller's: they are set.
void SetBits(const Operation& operation, int64_t rows, int64_t i, int64_t j, bool bit) {
  auto* const column = static_cast<uint8_t*>(const_cast<void*>(operation.mask)) + j * operation.mask_bits / 8;
  const auto set = [column](int64_t at, bool to) {
    const auto flag = static_cast<uint8_t>(1U << (at % 8));
    column[at / 8] = static_cast<uint8_t>(to ? column[at / 8] | flag : column[at / 8] & ~flag);
  };
  set(i, bit);
  for (int64_t at = rows; i == 0 && at < operation.mask_bits; ++at) set(at, true);
}

bool BitAt(const Operation& operation, int64_t i, int64_t j) {
  const auto* const column = static_cast<const uint8_t*>(operation.mask) + j * operation.mask_bits / 8;
  return (column[i / 8] >> (i % 8) & 1) != 0;
}

// T: of the operands, Y: of the result and of a bias; alpha and beta are of type Compute<T>.
template <typename T, typename Y = T>
void Multiply(const Operation& operation, const void* alpha, const void* a_data, const Matrix& a, const void* b_data,
              const Matrix& b, const void* beta, void* d_data, const Matrix& d) {
  const T *pa = static_cast<const T*>(a_data), *pb = static_cast<const T*>(b_data);
  CHECK(*static_cast<const Compute<T>*>(alpha) == 1 && *static_cast<const Compute<T>*>(beta) == 0);
  const bool ta = operation.a == CUBLAS_OP_T, tb = operation.b == CUBLAS_OP_T;
  const int64_t inner = ta ? a.rows : a.columns;
  CHECK((ta ? a.columns : a.rows) == d.rows && (tb ? b.rows : b.columns) == d.columns);
  CHECK((tb ? b.columns : b.rows) == inner);
  for (int64_t i = 0; i < d.rows; ++i) {
    for (int64_t j = 0; j < d.columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k) {
        const auto x = static_cast<double>(ta ? pa[k + i * a.leading] : pa[i + k * a.leading]);
        const auto y = static_cast<double>(tb ? pb[j + k * b.leading] : pb[k + j * b.leading]);
        sum += x * y;
      }
      if (operation.adds()) sum += static_cast<double>(static_cast<const Y*>(operation.bias)[i]);
      if (operation.writes_mask()) SetBits(operation, d.rows, i, j, sum > 0);
      if (operation.clips()) sum = sum < 0 ? 0 : sum;
      if (operation.reads_mask() && !BitAt(operation, i, j)) sum = 0;
      static_cast<Y*>(d_data)[i + j * d.leading] = static_cast<Y>(sum);
    }
  }
  if (!operation.sums_a() && !operation.sums_b()) return;
  const Matrix& summed = operation.sums_a() ? a : b;
  const T* const elements = operation.sums_a() ? pa : pb;
  const bool by_columns = operation.sums_a() ? ta : !tb;  // an inner dimension is a column of the matrix
  for (int64_t c = 0; c < (operation.sums_a() ? d.rows : d.columns); ++c) {
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      sum += static_cast<double>(by_columns ? elements[k + c * summed.leading] : elements[c + k * summed.leading]);
    }
    static_cast<Y*>(const_cast<void*>(operation.bias))[c] = static_cast<Y>(sum);
  }
}

cublasStatus_t Product(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                       cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                       const void* beta, const void* c, cublasLtMatrixLayout_t, void* d,
                       cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                       size_t workspace_bytes, cudaStream_t stream) {
  if (const cublasStatus_t status = Call(); status != CUBLAS_STATUS_SUCCESS) return status;
  CHECK(c == d && stream != nullptr && workspace != nullptr);
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  std::memset(workspace, 0xFF, workspace_bytes);
  const uintptr_t bits =
      reinterpret_cast<uintptr_t>(a) | reinterpret_cast<uintptr_t>(b) | reinterpret_cast<uintptr_t>(d);
  CHECK(bits % algorithm->data[0] == 0);
  fake->algorithms_run.push_back(algorithm->data[0]);
  fake->places_run.push_back(algorithm->data[1]);
  const auto& operation = *reinterpret_cast<Operation*>(desc);
  fake->compute_types.push_back(operation.compute);
  fake->epilogues_run.push_back(operation.epilogue);
  CHECK(!operation.has_bias() || reinterpret_cast<uintptr_t>(operation.bias) % 16 == 0);
  CHECK(!operation.has_mask() || reinterpret_cast<uintptr_t>(operation.mask) % 16 == 0);
  const auto &ma = *reinterpret_cast<Matrix*>(a_layout), &mb = *reinterpret_cast<Matrix*>(b_layout),
             &md = *reinterpret_cast<Matrix*>(d_layout);
  const bool widens = ma.type == CUDA_R_16BF && md.type == CUDA_R_32F;
  CHECK(!operation.has_mask() || (operation.mask_bits % 128 == 0 && operation.mask_bits >= md.rows));
  CHECK(ma.type == mb.type && (ma.type == md.type || widens));
  CHECK(operation.scale == (ma.type == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F));
  if (widens) {
    Multiply<Bf16, float>(operation, alpha, a, ma, b, mb, beta, d, md);
  } else if (ma.type == CUDA_R_16BF) {
    Multiply<Bf16>(operation, alpha, a, ma, b, mb, beta, d, md);
  } else if (ma.type == CUDA_R_64F) {
    Multiply<double>(operation, alpha, a, ma, b, mb, beta, d, md);
  } else {
    Multiply<float>(operation, alpha, a, ma, b, mb, beta, d, md);
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

FakeCublasLt::FakeCublasLt() {
  CHECK(fake == nullptr);
  fake = this;
  api_.cublasLtCreate = [](cublasLtHandle_t* handle) { return Make(handle, int{0}); };
  api_.cublasLtDestroy = [](cublasLtHandle_t handle) { return Drop<int>(handle); };
  api_.cublasLtGetStatusName = [](cublasStatus_t) { return "a fake's error"; };
  api_.cublasLtGetVersion = [] { return size_t{130100}; };
  api_.cublasLtMatmul = Product;
  api_.cublasLtMatmulAlgoCheck = AlgoCheck;
  api_.cublasLtMatmulAlgoGetHeuristic = Heuristic;
  api_.cublasLtMatmulDescCreate = [](cublasLtMatmulDesc_t* out, cublasComputeType_t compute, cudaDataType_t scale) {
    return Make(out, Operation{compute, scale});
  };
  api_.cublasLtMatmulDescDestroy = [](cublasLtMatmulDesc_t p) { return Drop<Operation>(p); };
  api_.cublasLtMatmulDescSetAttribute = SetOperation;
  api_.cublasLtMatmulPreferenceCreate = [](cublasLtMatmulPreference_t* out) { return Make(out, Preference{}); };
  api_.cublasLtMatmulPreferenceDestroy = [](cublasLtMatmulPreference_t p) { return Drop<Preference>(p); };
  api_.cublasLtMatmulPreferenceSetAttribute = SetPreference;
  api_.cublasLtMatrixLayoutCreate = [](cublasLtMatrixLayout_t* out, cudaDataType type, uint64_t rows, uint64_t columns,
                                       int64_t leading) {
    return Make(out, Matrix{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading});
  };
  api_.cublasLtMatrixLayoutDestroy = [](cublasLtMatrixLayout_t p) { return Drop<Matrix>(p); };
}

FakeCublasLt::~FakeCublasLt() { fake = nullptr; }

}  // namespace partita

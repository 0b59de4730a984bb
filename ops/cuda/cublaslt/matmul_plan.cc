#include "ops/cuda/cublaslt/matmul_plan.h"

#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "ops/cuda/kernel/loading_queue.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using CublasLtPreference = std::shared_ptr<cublasLtMatmulPreferenceOpaque_t>;

// What the library has no name for follows as a launch of ours.
absl::StatusOr<cublasLtEpilogue_t> NameOf(const MatMulProduct& product) {
  if (product.bias_operand.has_value()) {
    return *product.bias_operand == 0 ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA;
  }
  if (product.mask == ReluMask::kRead) return CUBLASLT_EPILOGUE_DRELU;
  const NodeEpilogue& epilogue = product.epilogue;
  if (product.mask == ReluMask::kWritten) {
    return epilogue.bias ? CUBLASLT_EPILOGUE_RELU_AUX_BIAS : CUBLASLT_EPILOGUE_RELU_AUX;
  }
  const std::string activation = epilogue.activation_name();
  if (activation == "") return epilogue.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (activation == "relu") return epilogue.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  return InvalidArgument("cuBLASLt has no {}", activation);
}

}  // namespace

absl::StatusOr<CublasLtOperation> MakeOperation(const CublasLtApi& api, const MatMulProduct& product, bool allow_tf32,
                                                const EpilogueAddresses& at) {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  if (product.dtype == DType::kF64) compute = CUBLAS_COMPUTE_64F;
  if (product.dtype == DType::kF32 && allow_tf32) compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  // Of alpha and beta, and of the sums.
  const cudaDataType_t scale_type = product.dtype == DType::kF64 ? CUDA_R_64F : CUDA_R_32F;
  cublasLtMatmulDesc_t raw = nullptr;
  RETURN_IF_ERROR(
      CublasLtStatus(api, api.cublasLtMatmulDescCreate(&raw, compute, scale_type), "cublasLtMatmulDescCreate"));
  CublasLtOperation operation(raw, [api](auto* p) { api.cublasLtMatmulDescDestroy(p); });
  const auto set = [&](cublasLtMatmulDescAttributes_t name, const auto& value) {
    return CublasLtStatus(api, api.cublasLtMatmulDescSetAttribute(raw, name, &value, sizeof(value)),
                          "cublasLtMatmulDescSetAttribute");
  };
  RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_w ? CUBLAS_OP_T : CUBLAS_OP_N));
  RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_x ? CUBLAS_OP_T : CUBLAS_OP_N));
  ASSIGN_OR_RETURN(const cublasLtEpilogue_t epilogue, NameOf(product));
  if (product.any()) RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
  if (product.has_bias()) RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.bias));
  if (product.mask != ReluMask::kNone) {
    const int64_t bits_of_row = MaskBytes(product.y_rows().channels) * 8;
    RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at.mask));
    RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, bits_of_row));
  }
  return operation;
}

absl::Status Multiply(const CublasLtApi& api, cublasLtHandle_t handle, const MatMulPlan& plan,
                      cublasLtMatmulDesc_t operation, const cublasLtMatmulHeuristicResult_t& chosen,
                      const MatMulAddresses& at, CudaQueue queue) {
  CUstream_st* const stream = queue->BeginWork();
  if (stream == nullptr) return LaunchStatus(LaunchError::kQueue);
  if (LoadingQueue::Gave(stream)) return absl::OkStatus();
  const float one = 1, zero = 0;
  const double one64 = 1, zero64 = 0;
  const bool f64 = plan.product.dtype == DType::kF64;
  const void* alpha = f64 ? static_cast<const void*>(&one64) : &one;
  const void* beta = f64 ? static_cast<const void*>(&zero64) : &zero;
  return CublasLtStatus(
      api,
      api.cublasLtMatmul(handle, operation, alpha, at.w, plan.a.get(), at.x, plan.b.get(), beta, at.y, plan.d.get(),
                         at.y, plan.d.get(), &chosen.algo, at.workspace, chosen.workspaceSize, stream),
      "cublasLtMatmul");
}

namespace {

// Builds a plan; the first error ends it.
class Planner {
 public:
  Planner(const CublasLtApi& api, cublasLtHandle_t handle, const MatMulProduct& product, const CublasLtOptions& options,
          PlanCache& cache)
      : api_(api), handle_(handle), product_(product), options_(options), cache_(cache) {}

  absl::StatusOr<std::shared_ptr<const MatMulPlan>> Make() {
    auto plan = std::make_shared<MatMulPlan>();
    plan->product = product_;
    // Algorithms are chosen for a bias where a copy of it would lie.
    const auto* const aligned = reinterpret_cast<const void*>(kVectorBytes);
    ASSIGN_OR_RETURN(plan->operation, MakeOperation(api_, product_, options_.allow_tf32, {aligned, aligned}));
    const MatMulProduct& p = product_;
    ASSIGN_OR_RETURN(plan->a, p.transpose_w ? Layout(p.dtype, p.k, p.n, p.one_w) : Layout(p.dtype, p.n, p.k, p.one_w));
    ASSIGN_OR_RETURN(plan->b, p.transpose_x ? Layout(p.dtype, p.m, p.k, p.one_x) : Layout(p.dtype, p.k, p.m, p.one_x));
    ASSIGN_OR_RETURN(plan->d, Layout(p.result, p.n, p.m, false));
    ASSIGN_OR_RETURN(plan->aligned, Algorithm(*plan, kVectorBytes, options_.timer));
    plan->unaligned = Algorithm(*plan, static_cast<uint32_t>(SizeOf(p.dtype)), nullptr);
    if (!plan->unaligned.ok() && !absl::IsInvalidArgument(plan->unaligned.status())) return plan->unaligned.status();
    RETURN_IF_ERROR(Load(*plan));
    return std::shared_ptr<const MatMulPlan>(plan);
  }

 private:
  static cudaDataType_t TypeOf(DType dtype) {
    if (dtype == DType::kBF16) return CUDA_R_16BF;
    return dtype == DType::kF64 ? CUDA_R_64F : CUDA_R_32F;
  }
  // A dense column-major matrix, or one for each product; `one` serves them all.
  absl::StatusOr<CublasLtMatrix> Layout(DType dtype, uint64_t rows, uint64_t columns, bool one) {
    cublasLtMatrixLayout_t raw = nullptr;
    RETURN_IF_ERROR(CublasLtStatus(
        api_, api_.cublasLtMatrixLayoutCreate(&raw, TypeOf(dtype), rows, columns, static_cast<int64_t>(rows)),
        "cublasLtMatrixLayoutCreate"));
    CublasLtMatrix layout(raw, [api = api_](auto* p) { api.cublasLtMatrixLayoutDestroy(p); });
    if (product_.count == 1) return layout;
    const auto set = [&](cublasLtMatrixLayoutAttribute_t name, const auto& value) {
      return CublasLtStatus(api_, api_.cublasLtMatrixLayoutSetAttribute(raw, name, &value, sizeof(value)),
                            "cublasLtMatrixLayoutSetAttribute");
    };
    RETURN_IF_ERROR(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(product_.count)));
    const int64_t offset = one ? 0 : static_cast<int64_t>(rows * columns);
    RETURN_IF_ERROR(set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, offset));
    return layout;
  }

  absl::StatusOr<CublasLtPreference> Preference(uint32_t alignment) {
    cublasLtMatmulPreference_t raw = nullptr;
    RETURN_IF_ERROR(CublasLtStatus(api_, api_.cublasLtMatmulPreferenceCreate(&raw), "cublasLtMatmulPreferenceCreate"));
    CublasLtPreference preference(raw, [api = api_](auto* p) { api.cublasLtMatmulPreferenceDestroy(p); });
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
      return CublasLtStatus(api_, api_.cublasLtMatmulPreferenceSetAttribute(raw, name, &value, sizeof(value)),
                            "cublasLtMatmulPreferenceSetAttribute");
    };
    RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace));
    for (const auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      RETURN_IF_ERROR(set(name, alignment));
    }
    // Parts of a sum are added up in f32, never in bf16.
    constexpr uint32_t kWideSums = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    if (product_.dtype == DType::kBF16) RETURN_IF_ERROR(set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, kWideSums));
    return preference;
  }

  absl::StatusOr<cublasLtMatmulHeuristicResult_t> Algorithm(const MatMulPlan& plan, uint32_t alignment,
                                                            const PlanTimer& timer) {
    const std::string key =
        fmt::format("cublaslt {} {} product {} tf32 {:d} timed {:d} alignment {}", api_.cublasLtGetVersion(),
                    options_.device, product_.Key(), options_.allow_tf32, timer != nullptr, alignment);
    if (const std::optional<std::string> kept = cache_.Find(key); kept.has_value()) {
      absl::StatusOr<cublasLtMatmulHeuristicResult_t> known = Known(plan, *kept);
      if (known.ok()) return known;
      cache_.Refuse(key, std::string(known.status().message()));
    }
    ASSIGN_OR_RETURN(const std::vector<cublasLtMatmulHeuristicResult_t> candidates, Candidates(plan, alignment));
    ASSIGN_OR_RETURN(const cublasLtMatmulHeuristicResult_t best, Best(plan, candidates, timer));
    cache_.Add(key, std::string(reinterpret_cast<const char*>(best.algo.data), sizeof(best.algo.data)));
    return best;
  }

  // An algorithm that was kept, if the library takes it for this product.
  absl::StatusOr<cublasLtMatmulHeuristicResult_t> Known(const MatMulPlan& plan, const std::string& kept) {
    cublasLtMatmulHeuristicResult_t result{};
    if (kept.size() != sizeof(result.algo.data)) return InvalidArgument("it has {} bytes", kept.size());
    cublasLtMatmulAlgo_t algorithm{};
    std::memcpy(algorithm.data, kept.data(), kept.size());
    RETURN_IF_ERROR(
        CublasLtStatus(api_,
                       api_.cublasLtMatmulAlgoCheck(handle_, plan.operation.get(), plan.a.get(), plan.b.get(),
                                                    plan.d.get(), plan.d.get(), &algorithm, &result),
                       "cublasLtMatmulAlgoCheck"));
    if (result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kMostWorkspace) {
      return InvalidArgument("the library does not take it any more");
    }
    result.algo = algorithm;
    return result;
  }

  // What the heuristics name and can be had, best first; at least one.
  absl::StatusOr<std::vector<cublasLtMatmulHeuristicResult_t>> Candidates(const MatMulPlan& plan, uint32_t alignment) {
    ASSIGN_OR_RETURN(const auto preference, Preference(alignment));
    std::vector<cublasLtMatmulHeuristicResult_t> results(kTimedPlans);
    int found = 0;
    RETURN_IF_ERROR(
        CublasLtStatus(api_,
                       api_.cublasLtMatmulAlgoGetHeuristic(handle_, plan.operation.get(), plan.a.get(), plan.b.get(),
                                                           plan.d.get(), plan.d.get(), preference.get(),
                                                           static_cast<int>(results.size()), results.data(), &found),
                       "cublasLtMatmulAlgoGetHeuristic"));
    results.resize(static_cast<size_t>(std::clamp(found, 0, kTimedPlans)));
    std::erase_if(results, [](const auto& result) {
      return result.state != CUBLAS_STATUS_SUCCESS || result.workspaceSize > kMostWorkspace;
    });
    if (!results.empty()) return results;
    return InvalidArgument("cuBLASLt has no algorithm for a product of {} x {} x {}", product_.m, product_.n,
                           product_.k);
  }

  // The first, or the fastest of those that can be timed.
  absl::StatusOr<cublasLtMatmulHeuristicResult_t> Best(const MatMulPlan& plan,
                                                       const std::vector<cublasLtMatmulHeuristicResult_t>& candidates,
                                                       const PlanTimer& timer) {
    if (timer == nullptr || candidates.size() == 1) return candidates[0];
    std::vector<PlanToTime> plans;
    for (const cublasLtMatmulHeuristicResult_t& candidate : candidates) plans.push_back(ToTime(plan, candidate));
    ASSIGN_OR_RETURN(const FastestPlan fastest, FindFastest(timer, plans));
    return candidates[fastest.place];
  }

  // One that was timed has run before.
  absl::Status Load(const MatMulPlan& plan) {
    if (options_.load == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(options_.load(ToTime(plan, plan.aligned)));
    return plan.unaligned.ok() ? options_.load(ToTime(plan, *plan.unaligned)) : absl::OkStatus();
  }

  // Operands at multiples of 256 bytes.
  PlanToTime ToTime(const MatMulPlan& plan, const cublasLtMatmulHeuristicResult_t& candidate) {
    const MatMulProduct& p = product_;
    const auto rounded = [](int64_t bytes) {
      return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    };
    const auto bytes = [&](uint64_t rows, uint64_t columns, DType dtype) {
      return rounded(static_cast<int64_t>(p.count * rows * columns) * SizeOf(dtype));
    };
    const int64_t x = bytes(p.m, p.k, p.dtype), w = bytes(p.k, p.n, p.dtype), y = bytes(p.m, p.n, p.result);
    const int64_t bias = x + w + y, mask = bias + rounded(p.bias_bytes()), workspace = mask + rounded(p.mask_bytes());
    const auto run = [=, this, &plan](char* memory, CudaQueue queue) -> absl::Status {
      CublasLtOperation operation = plan.operation;
      if (product_.any()) {
        ASSIGN_OR_RETURN(operation, MakeOperation(api_, product_, options_.allow_tf32, {memory + bias, memory + mask}));
      }
      return Multiply(api_, handle_, plan, operation.get(), candidate,
                      {memory, memory + x, memory + x + w, memory + workspace}, queue);
    };
    return {workspace + static_cast<int64_t>(candidate.workspaceSize), run};
  }

  const CublasLtApi& api_;
  cublasLtHandle_t handle_;
  const MatMulProduct product_;
  const CublasLtOptions& options_;
  PlanCache& cache_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const MatMulPlan>> MakeMatMulPlan(const CublasLtApi& api, cublasLtHandle_t handle,
                                                                 const MatMulProduct& product,
                                                                 const CublasLtOptions& options, PlanCache& cache) {
  return Planner(api, handle, product, options, cache).Make();
}

}  // namespace partita

#include "ops/cuda/cublaslt/cublaslt_matmul.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "ops/cuda/launch/arithmetic.h"
#include "ops/cuda/launch/contraction.h"
#include "ops/cuda/launch/reductions.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

template <typename T>
using Handle = std::shared_ptr<T>;

}  // namespace

// Row-major y = x w is column-major y' = w' x', the same bytes read as transposes: cuBLASLt's A is w, its B is x.
struct MatMulProduct {
  uint64_t m, n, k;  // of y[m,n]
  bool transpose_x, transpose_w;
  DType dtype, result;  // of the operands, and of y
  NodeEpilogue epilogue;
  std::optional<size_t> bias_operand;  // whose rows are added up, too: 0 is x, 1 is w

  std::string Key() const {
    const std::string activation = epilogue.activation_name();
    return fmt::format("{} {} {} {:d} {:d} {}{}{}{}{}", m, n, k, transpose_x, transpose_w, Name(dtype),
                       result == dtype ? "" : " to " + std::string(Name(result)), epilogue.bias ? " bias" : "",
                       activation.empty() ? "" : " " + activation,
                       !bias_operand.has_value() ? ""
                       : *bias_operand == 0      ? " bias_grad x"
                                                 : " bias_grad w");
  }
  MatMulProduct Alone() const {
    MatMulProduct product = *this;
    product.epilogue = {};
    product.bias_operand.reset();
    return product;
  }
  // More than the product.
  bool any() const { return epilogue.any() || bias_operand.has_value(); }
  // A bias is added, or the gradient of one made.
  bool has_bias() const { return epilogue.bias || bias_operand.has_value(); }
  // As the library has it: of y's type, which a node's bias is not where that is bf16.
  int64_t bias_bytes() const {
    return has_bias() ? static_cast<int64_t>(bias_operand == 0 ? m : n) * SizeOf(result) : 0;
  }
  // Of which the rows are added up.
  ChannelRows bias_rows() const { return {static_cast<int64_t>(k), static_cast<int64_t>(bias_operand == 0 ? m : n)}; }
};

namespace {

MatMulProduct ProductOf(const LocalNode& node) {
  MatMulProduct product;
  product.transpose_x = node.attributes.Bool("transpose_x");
  product.transpose_w = node.attributes.Bool("transpose_w");
  product.m = static_cast<uint64_t>(node.outputs[0].shape()[0]);
  product.n = static_cast<uint64_t>(node.outputs[0].shape()[1]);
  product.k = static_cast<uint64_t>(InputShape(node, 0)[product.transpose_x ? 0 : 1]);
  product.dtype = Input(node, 0).dtype;
  product.result = node.outputs[0].dtype;
  product.epilogue = EpilogueOf(node);
  if (node.attributes.Has("bias_of")) product.bias_operand = BiasOperandOf(node);
  return product;
}

absl::Status CheckProduct(const LocalNode& node) {
  RETURN_IF_ERROR(RequireFloating(Input(node, 0).dtype));
  if (ProductOf(node).k == 0) return InvalidArgument("the inner dimension is empty");
  return absl::OkStatus();
}

ColumnChunks ChunksOf(const MatMulProduct& product) {
  const ChannelRows rows = product.bias_rows();
  return MakeColumnChunks(1, rows.rows, rows.channels);
}

constexpr uintptr_t kVectorBytes = 16;

bool IsAligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % kVectorBytes == 0; }

bool Aligned(const KernelArguments& a) { return IsAligned(In(a, 0)) && IsAligned(In(a, 1)) && IsAligned(Out(a, 0)); }

inline constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;  // what the library's guide asks for on Hopper

// The library refuses a workspace elsewhere; a plan gives multiples of kAlignment, so we ask for what may be skipped.
constexpr int64_t kWorkspaceAlignment = 256;
constexpr int64_t kMostSkipped = kWorkspaceAlignment - kAlignment;

char* WorkspaceOf(const KernelArguments& a) {
  const auto skipped = -reinterpret_cast<uintptr_t>(a.workspace) % kWorkspaceAlignment;
  return static_cast<char*>(a.workspace) + skipped;
}

}  // namespace

struct MatMulPlan {
  MatMulProduct product;                         // without the node's epilogue, if the library does not take that
  Handle<cublasLtMatmulDescOpaque_t> operation;  // with a bias that is nowhere
  Handle<cublasLtMatrixLayoutOpaque_t> a, b, d;
  // For operands at multiples of 16 bytes, and for any.
  cublasLtMatmulHeuristicResult_t aligned, unaligned;

  // Of WorkspaceOf: the library's. Behind it lies the bias where it has to be copied.
  int64_t library_bytes() const {
    return AlignUp(static_cast<int64_t>(std::max(aligned.workspaceSize, unaligned.workspaceSize)));
  }
  int64_t workspace_bytes() const {
    const int64_t used = library_bytes() + product.bias_bytes();
    return used == 0 ? 0 : used + kMostSkipped;
  }
};

namespace {

// Of `wanted` where the library computes `planned`, for operands at multiples of 16 bytes: a bias is rounded before it,
// what it does not take follows.
int LaunchesOf(const MatMulProduct& wanted, const MatMulProduct& planned) {
  const bool rounds = planned.epilogue.bias && planned.result == DType::kBF16;
  return 1 + (rounds || wanted.any() != planned.any() ? 1 : 0);
}

struct Addresses {
  const void *x, *w;
  void *y, *workspace;
};

// What the library has no name for follows as a launch of ours.
absl::StatusOr<cublasLtEpilogue_t> NameOf(const MatMulProduct& product) {
  if (product.bias_operand.has_value()) {
    return *product.bias_operand == 0 ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA;
  }
  const NodeEpilogue& epilogue = product.epilogue;
  const std::string activation = epilogue.activation_name();
  if (activation == "") return epilogue.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (activation == "relu") return epilogue.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  return InvalidArgument("cuBLASLt has no {}", activation);
}

// What is multiplied and how. The library adds a bias to the rows of its column-major matrix: the channels.
absl::StatusOr<Handle<cublasLtMatmulDescOpaque_t>> OperationOf(const CublasLtApi& api, const MatMulProduct& product,
                                                               bool allow_tf32, const void* bias) {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  if (product.dtype == DType::kF64) compute = CUBLAS_COMPUTE_64F;
  if (product.dtype == DType::kF32 && allow_tf32) compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  // Of alpha and beta, and of the sums.
  const cudaDataType_t scale_type = product.dtype == DType::kF64 ? CUDA_R_64F : CUDA_R_32F;
  cublasLtMatmulDesc_t raw = nullptr;
  RETURN_IF_ERROR(
      CublasLtStatus(api, api.cublasLtMatmulDescCreate(&raw, compute, scale_type), "cublasLtMatmulDescCreate"));
  Handle<cublasLtMatmulDescOpaque_t> operation(raw, [api](auto* p) { api.cublasLtMatmulDescDestroy(p); });
  const auto set = [&](cublasLtMatmulDescAttributes_t name, const auto& value) {
    return CublasLtStatus(api, api.cublasLtMatmulDescSetAttribute(raw, name, &value, sizeof(value)),
                          "cublasLtMatmulDescSetAttribute");
  };
  RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSA, product.transpose_w ? CUBLAS_OP_T : CUBLAS_OP_N));
  RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_TRANSB, product.transpose_x ? CUBLAS_OP_T : CUBLAS_OP_N));
  ASSIGN_OR_RETURN(const cublasLtEpilogue_t epilogue, NameOf(product));
  if (product.any()) RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
  if (product.has_bias()) RETURN_IF_ERROR(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  return operation;
}

// Enqueues y = x w, and the epilogue that `operation` has.
absl::Status Multiply(const CublasLtApi& api, cublasLtHandle_t handle, const MatMulPlan& plan,
                      cublasLtMatmulDesc_t operation, const cublasLtMatmulHeuristicResult_t& chosen,
                      const Addresses& at, CudaQueue queue) {
  CUstream_st* const stream = queue->BeginWork();
  if (stream == nullptr) return LaunchStatus(LaunchError::kQueue);
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
    ASSIGN_OR_RETURN(plan->operation,
                     OperationOf(api_, product_, options_.allow_tf32, reinterpret_cast<const void*>(kVectorBytes)));
    const MatMulProduct& p = product_;
    ASSIGN_OR_RETURN(plan->a, p.transpose_w ? Layout(p.dtype, p.k, p.n) : Layout(p.dtype, p.n, p.k));
    ASSIGN_OR_RETURN(plan->b, p.transpose_x ? Layout(p.dtype, p.m, p.k) : Layout(p.dtype, p.k, p.m));
    ASSIGN_OR_RETURN(plan->d, Layout(p.result, p.n, p.m));
    ASSIGN_OR_RETURN(plan->aligned, Algorithm(*plan, 16));
    ASSIGN_OR_RETURN(plan->unaligned, Algorithm(*plan, static_cast<uint32_t>(SizeOf(p.dtype))));
    return std::shared_ptr<const MatMulPlan>(plan);
  }

 private:
  static cudaDataType_t TypeOf(DType dtype) {
    if (dtype == DType::kBF16) return CUDA_R_16BF;
    return dtype == DType::kF64 ? CUDA_R_64F : CUDA_R_32F;
  }
  // A dense column-major matrix.
  absl::StatusOr<Handle<cublasLtMatrixLayoutOpaque_t>> Layout(DType dtype, uint64_t rows, uint64_t columns) {
    cublasLtMatrixLayout_t raw = nullptr;
    RETURN_IF_ERROR(CublasLtStatus(
        api_, api_.cublasLtMatrixLayoutCreate(&raw, TypeOf(dtype), rows, columns, static_cast<int64_t>(rows)),
        "cublasLtMatrixLayoutCreate"));
    return Handle<cublasLtMatrixLayoutOpaque_t>(raw, [api = api_](auto* p) { api.cublasLtMatrixLayoutDestroy(p); });
  }

  absl::StatusOr<Handle<cublasLtMatmulPreferenceOpaque_t>> Preference(uint32_t alignment) {
    cublasLtMatmulPreference_t raw = nullptr;
    RETURN_IF_ERROR(CublasLtStatus(api_, api_.cublasLtMatmulPreferenceCreate(&raw), "cublasLtMatmulPreferenceCreate"));
    Handle<cublasLtMatmulPreferenceOpaque_t> preference(
        raw, [api = api_](auto* p) { api.cublasLtMatmulPreferenceDestroy(p); });
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

  absl::StatusOr<cublasLtMatmulHeuristicResult_t> Algorithm(const MatMulPlan& plan, uint32_t alignment) {
    const std::string key =
        fmt::format("cublaslt {} {} product {} tf32 {:d} timed {:d} alignment {}", api_.cublasLtGetVersion(),
                    options_.device, product_.Key(), options_.allow_tf32, options_.timer != nullptr, alignment);
    if (const std::optional<std::string> kept = cache_.Find(key); kept.has_value()) {
      absl::StatusOr<cublasLtMatmulHeuristicResult_t> known = Known(plan, *kept);
      if (known.ok()) return known;
      cache_.Refuse(key, std::string(known.status().message()));
    }
    ASSIGN_OR_RETURN(const std::vector<cublasLtMatmulHeuristicResult_t> candidates, Candidates(plan, alignment));
    ASSIGN_OR_RETURN(const cublasLtMatmulHeuristicResult_t best, Best(plan, candidates));
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
                                                       const std::vector<cublasLtMatmulHeuristicResult_t>& candidates) {
    if (options_.timer == nullptr || candidates.size() == 1) return candidates[0];
    std::optional<size_t> best;
    double least = 0;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const absl::StatusOr<double> seconds = Time(plan, candidates[i]);
      if (!seconds.ok() || (best.has_value() && *seconds >= least)) continue;
      best = i;
      least = *seconds;
    }
    if (!best.has_value()) return Unavailable("none of {} algorithms could be timed", candidates.size());
    return candidates[*best];
  }

  // On memory of its own, operands at multiples of 256 bytes: an algorithm for any address takes them as well.
  absl::StatusOr<double> Time(const MatMulPlan& plan, const cublasLtMatmulHeuristicResult_t& candidate) {
    const MatMulProduct& p = product_;
    const auto rounded = [](int64_t bytes) {
      return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
    };
    const auto bytes = [&](uint64_t rows, uint64_t columns, DType dtype) {
      return rounded(static_cast<int64_t>(rows * columns) * SizeOf(dtype));
    };
    const int64_t x = bytes(p.m, p.k, p.dtype), w = bytes(p.k, p.n, p.dtype), y = bytes(p.m, p.n, p.result);
    const int64_t workspace = x + w + y + rounded(p.bias_bytes());
    const auto run = [&](char* memory, CudaQueue queue) -> absl::Status {
      Handle<cublasLtMatmulDescOpaque_t> operation = plan.operation;
      if (p.has_bias()) {
        ASSIGN_OR_RETURN(operation, OperationOf(api_, p, options_.allow_tf32, memory + x + w + y));
      }
      return Multiply(api_, handle_, plan, operation.get(), candidate,
                      {memory, memory + x, memory + x + w, memory + workspace}, queue);
    };
    return options_.timer(workspace + static_cast<int64_t>(candidate.workspaceSize), run);
  }

  const CublasLtApi& api_;
  cublasLtHandle_t handle_;
  const MatMulProduct product_;
  const CublasLtOptions& options_;
  PlanCache& cache_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<CublasLtMatMuls>> CublasLtMatMuls::Create(const CublasLtApi& api,
                                                                         CublasLtOptions options, PlanCache* cache) {
  std::shared_ptr<CublasLtMatMuls> products(new CublasLtMatMuls(api, std::move(options), cache));
  RETURN_IF_ERROR(CublasLtStatus(api, api.cublasLtCreate(&products->handle_), "cublasLtCreate"));
  return products;
}

CublasLtMatMuls::~CublasLtMatMuls() {
  plans_.clear();
  if (handle_ != nullptr) api_.cublasLtDestroy(handle_);
}

absl::StatusOr<CublasLtMatMuls::SharedPlan> CublasLtMatMuls::FindPlan(const LocalNode& node) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const MatMulProduct product = ProductOf(node);
  const auto find = [this](const MatMulProduct& wanted) -> absl::StatusOr<SharedPlan> {
    SharedPlan& kept = plans_[wanted.Key()];
    if (kept == nullptr) {
      ASSIGN_OR_RETURN(kept, Planner(api_, handle_, wanted, options_, *cache_).Make());
    }
    return kept;
  };
  absl::StatusOr<SharedPlan> plan = find(product);
  if (plan.ok() || !product.any()) return plan;
  plan = find(product.Alone());
  if (plan.ok()) plans_[product.Key()] = *plan;
  return plan;
}

absl::StatusOr<PreparedCudaKernel> CublasLtMatMuls::Prepare(const LocalNode& node) {
  RETURN_IF_ERROR(CheckProduct(node));
  ASSIGN_OR_RETURN(const SharedPlan plan, FindPlan(node));
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = plan->workspace_bytes();
  kernel.library_launches = LaunchesOf(ProductOf(node), plan->product);
  if (const MatMulProduct product = ProductOf(node); product.bias_operand.has_value()) {
    const ColumnChunks chunks = ChunksOf(product);
    if (!plan->product.any()) kernel.workspace_bytes = std::max(kernel.workspace_bytes, chunks.partial_bytes(1));
    kernel.bind = [self = shared_from_this(), plan, product](const KernelArguments& a) {
      return plan->product.any() ? self->BindWithBiasGradient(plan, a) : self->BindAndAddRows(plan, product, a);
    };
    return kernel;
  }
  kernel.bind = [self = shared_from_this(), plan,
                 epilogue = EpilogueOf(node)](const KernelArguments& a) -> absl::StatusOr<CudaEnqueue> {
    return plan->product.epilogue.bias ? self->BindWithBias(plan, a) : self->Bind(plan, epilogue, a);
  };
  return kernel;
}

// The library's activation, if it has one, or all of the epilogue behind it.
absl::StatusOr<CudaEnqueue> CublasLtMatMuls::Bind(const SharedPlan& plan, const NodeEpilogue& epilogue,
                                                  const KernelArguments& a) {
  const bool apart = epilogue.any() && !plan->product.epilogue.any();
  return CudaEnqueue([self = shared_from_this(), plan, epilogue, apart, a](CudaQueue queue) -> absl::Status {
    RETURN_IF_ERROR(self->Run(*plan, plan->operation.get(), a, queue));
    if (!apart) return absl::OkStatus();
    const MatMulProduct& p = plan->product;
    const ChannelRows y{static_cast<int64_t>(p.m), static_cast<int64_t>(p.n)};
    return LaunchStatus(launch::AddEpilogue(p.result, y, {In(a, 2), epilogue.activation}, Out(a, 0), queue));
  });
}

absl::StatusOr<CudaEnqueue> CublasLtMatMuls::BindWithBias(const SharedPlan& plan, const KernelArguments& a) {
  const MatMulProduct& p = plan->product;
  const bool copied = p.result == DType::kBF16 || !IsAligned(In(a, 2));
  char* const copy = WorkspaceOf(a) + plan->library_bytes();
  ASSIGN_OR_RETURN(const Handle<cublasLtMatmulDescOpaque_t> operation,
                   OperationOf(api_, p, options_.allow_tf32, copied ? copy : In(a, 2)));
  return CudaEnqueue([self = shared_from_this(), plan, operation, copied, copy, a](CudaQueue queue) -> absl::Status {
    const MatMulProduct& p = plan->product;
    const auto channels = static_cast<int64_t>(p.n);
    if (copied) {
      const DType from = p.result == DType::kBF16 ? DType::kF32 : p.result;
      RETURN_IF_ERROR(LaunchStatus(launch::Cast(from, p.result, In(a, 2), copy, channels, queue)));
    }
    return self->Run(*plan, operation.get(), a, queue);
  });
}

// The library writes the gradient where its vectors can, else it is copied from there.
absl::StatusOr<CudaEnqueue> CublasLtMatMuls::BindWithBiasGradient(const SharedPlan& plan, const KernelArguments& a) {
  const MatMulProduct& p = plan->product;
  const bool copied = !IsAligned(Out(a, 1));
  void* const made = copied ? WorkspaceOf(a) + plan->library_bytes() : Out(a, 1);
  ASSIGN_OR_RETURN(const Handle<cublasLtMatmulDescOpaque_t> operation, OperationOf(api_, p, options_.allow_tf32, made));
  return CudaEnqueue([self = shared_from_this(), plan, operation, copied, made, a](CudaQueue queue) -> absl::Status {
    RETURN_IF_ERROR(self->Run(*plan, operation.get(), a, queue));
    if (!copied) return absl::OkStatus();
    return LaunchStatus(queue->Copy(Out(a, 1), made, plan->product.bias_bytes()));
  });
}

// The product, then the rows by launches of ours.
absl::StatusOr<CudaEnqueue> CublasLtMatMuls::BindAndAddRows(const SharedPlan& plan, const MatMulProduct& product,
                                                            const KernelArguments& a) {
  const ColumnChunks chunks = ChunksOf(product);
  ASSIGN_OR_RETURN(const std::shared_ptr<const FinishCounters> held, FinishCounters::Reserve(chunks.counters(false)));
  return CudaEnqueue([self = shared_from_this(), plan, product, chunks, held, a](CudaQueue queue) -> absl::Status {
    RETURN_IF_ERROR(self->Run(*plan, plan->operation.get(), a, queue));
    return LaunchStatus(launch::SumOverRows(product.dtype, product.result, chunks, In(a, *product.bias_operand), 1,
                                            Out(a, 1), SumScratch{a.workspace, held->first()}, queue));
  });
}

absl::Status CublasLtMatMuls::Run(const MatMulPlan& plan, cublasLtMatmulDesc_t operation,
                                  const KernelArguments& arguments, CudaQueue queue) const {
  const cublasLtMatmulHeuristicResult_t& chosen = Aligned(arguments) ? plan.aligned : plan.unaligned;
  return Multiply(api_, handle_, plan, operation, chosen,
                  {In(arguments, 0), In(arguments, 1), Out(arguments, 0), WorkspaceOf(arguments)}, queue);
}

absl::StatusOr<PreparedCudaKernel> EstimateMatMul(const LocalNode& node) {
  RETURN_IF_ERROR(CheckProduct(node));
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = static_cast<int64_t>(kMostWorkspace) + ProductOf(node).bias_bytes() + kMostSkipped;
  kernel.workspace_estimated = true;
  kernel.library_launches = LaunchesOf(ProductOf(node), ProductOf(node));
  kernel.bind = [](const KernelArguments&) -> absl::StatusOr<CudaEnqueue> {
    return Unavailable("the kernel's GPU is described, it is not here");
  };
  return kernel;
}

}  // namespace partita

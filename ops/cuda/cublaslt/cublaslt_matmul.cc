#include "ops/cuda/cublaslt/cublaslt_matmul.h"

#include <algorithm>

#include "ops/cuda/cublaslt/matmul_plan.h"
#include "ops/cuda/launch/arithmetic.h"
#include "ops/cuda/launch/contraction.h"
#include "ops/cuda/launch/reductions.h"
#include "ops/cuda/launch/relu_mask.h"
#include "ops/cuda/own/own_kernels.h"

namespace partita {
namespace {

ColumnChunks ChunksOf(const MatMulProduct& product) {
  const ChannelRows rows = product.bias_rows();
  return MakeColumnChunks(1, rows.rows, rows.channels);
}

bool IsAligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % kVectorBytes == 0; }

bool Aligned(const KernelArguments& a) { return IsAligned(In(a, 0)) && IsAligned(In(a, 1)) && IsAligned(Out(a, 0)); }

bool Aligned(const ProductCalls& calls, const KernelArguments& a) {
  for (int64_t call = 0; call < calls.count(); ++call) {
    if (!Aligned(calls.At(call, a))) return false;
  }
  return true;
}

// Our own kernel, which takes operands at any address.
absl::StatusOr<PreparedCudaKernel> Reference(const LocalNode& node, const MatMulProduct& product) {
  if (IsBatch(node)) return CudaBatchMatMul(node);
  if (product.bias_operand.has_value()) return CudaMatMulBiasGrad(node);
  if (product.mask == ReluMask::kNone) return CudaMatMul(node);
  return product.mask == ReluMask::kWritten ? CudaMatMulReluMask(node) : CudaMatMulReluGrad(node);
}

char* WorkspaceOf(const KernelArguments& a) {
  const auto skipped = -reinterpret_cast<uintptr_t>(a.workspace) % kWorkspaceAlignment;
  return static_cast<char*>(a.workspace) + skipped;
}

// Of `wanted` where the library computes `planned`, for operands at multiples of 16 bytes: a bias is rounded before it,
// what it does not take follows.
int LaunchesOf(const MatMulProduct& wanted, const MatMulProduct& planned) {
  const bool rounds = planned.epilogue.bias && planned.result == DType::kBF16;
  const bool epilogue = wanted.epilogue.any() != planned.epilogue.any(), mask = wanted.mask != planned.mask;
  const bool rows = wanted.bias_operand != planned.bias_operand;
  return 1 + (rounds ? 1 : 0) + (epilogue ? 1 : 0) + (mask ? 1 : 0) + (rows ? 1 : 0);
}

// The mask that the library is to write or read; null: none.
void* MaskOf(const MatMulProduct& planned, const KernelArguments& a) {
  if (planned.mask == ReluMask::kNone) return nullptr;
  return planned.mask == ReluMask::kWritten ? Out(a, 1) : const_cast<void*>(In(a, 2));
}

// What the library does not take of `wanted`.
absl::Status Complete(const MatMulProduct& wanted, const MatMulProduct& planned, const KernelArguments& a,
                      CudaQueue queue) {
  const DType dtype = wanted.result;
  const ChannelRows y = wanted.y_rows();
  if (wanted.epilogue.any() && !planned.epilogue.any()) {
    const launch::EpilogueLaunch epilogue{wanted.epilogue.bias ? In(a, 2) : nullptr, wanted.epilogue.activation};
    RETURN_IF_ERROR(LaunchStatus(launch::AddEpilogue(dtype, y, epilogue, Out(a, 0), queue)));
  }
  if (wanted.mask == planned.mask) return absl::OkStatus();
  if (wanted.mask == ReluMask::kRead) return LaunchStatus(launch::ApplyReluMask(dtype, y, In(a, 2), Out(a, 0), queue));
  return LaunchStatus(launch::WriteReluMask(dtype, y, Out(a, 0), Out(a, 1), queue));
}

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

absl::StatusOr<CublasLtMatMuls::SharedPlan> CublasLtMatMuls::FindPlan(const MatMulProduct& product) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto find = [this](const MatMulProduct& wanted) -> absl::StatusOr<SharedPlan> {
    SharedPlan& kept = plans_[wanted.Key()];
    if (kept == nullptr) {
      ASSIGN_OR_RETURN(kept, MakeMatMulPlan(api_, handle_, wanted, options_, *cache_));
    }
    return kept;
  };
  absl::StatusOr<SharedPlan> plan = find(product);
  if (!plan.ok() && product.mask == ReluMask::kWritten) plan = find(product.WithoutMask());
  if (!plan.ok() && product.any()) plan = find(product.Alone());
  if (plan.ok()) plans_[product.Key()] = *plan;
  return plan;
}

absl::StatusOr<PreparedCudaKernel> CublasLtMatMuls::Prepare(const LocalNode& node) {
  RETURN_IF_ERROR(CheckProduct(node));
  ASSIGN_OR_RETURN(const SharedPlan plan, FindPlan(ProductOf(node)));
  PreparedCudaKernel kernel = PrepareWith(plan, node);
  if (plan->unaligned.ok()) return kernel;
  ASSIGN_OR_RETURN(const PreparedCudaKernel reference, Reference(node, ProductOf(node)));
  kernel.workspace_bytes = std::max(kernel.workspace_bytes, reference.workspace_bytes);
  kernel.bind = [calls = ProductCalls(node), bind = kernel.bind, reference](const KernelArguments& a) {
    return Aligned(calls, a) ? bind(a) : reference.bind(a);
  };
  return kernel;
}

PreparedCudaKernel CublasLtMatMuls::PrepareWith(const SharedPlan& plan, const LocalNode& node) {
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
  if (const ProductCalls calls(node); calls.count() > 1) {
    kernel.library_launches = static_cast<int>(calls.count());
    kernel.bind = [self = shared_from_this(), plan, calls](const KernelArguments& a) -> absl::StatusOr<CudaEnqueue> {
      return CudaEnqueue([self, plan, calls, a](CudaQueue queue) -> absl::Status {
        for (int64_t call = 0; call < calls.count(); ++call) {
          RETURN_IF_ERROR(self->Run(*plan, plan->operation.get(), calls.At(call, a), queue));
        }
        return absl::OkStatus();
      });
    };
    return kernel;
  }
  kernel.bind = [self = shared_from_this(), plan, wanted = ProductOf(node)](const KernelArguments& a) {
    return self->Bind(plan, wanted, a);
  };
  return kernel;
}

// What the library takes of the epilogue, a copy of the bias before it where it wants one, and the rest behind it.
absl::StatusOr<CudaEnqueue> CublasLtMatMuls::Bind(const SharedPlan& plan, const MatMulProduct& wanted,
                                                  const KernelArguments& a) {
  const MatMulProduct& p = plan->product;
  const bool copied = p.epilogue.bias && (p.result == DType::kBF16 || !IsAligned(In(a, 2)));
  char* const copy = WorkspaceOf(a) + plan->library_bytes();
  void* const mask = MaskOf(p, a);
  if (!IsAligned(mask)) return InvalidArgument("the mask of a relu lies off {} bytes", kVectorBytes);
  CublasLtOperation operation = plan->operation;
  if (p.has_bias() || mask != nullptr) {
    ASSIGN_OR_RETURN(operation, MakeOperation(api_, p, options_.allow_tf32, {copied ? copy : In(a, 2), mask}));
  }
  return CudaEnqueue(
      [self = shared_from_this(), plan, wanted, operation, copied, copy, a](CudaQueue queue) -> absl::Status {
        const MatMulProduct& p = plan->product;
        if (copied) {
          const DType from = p.result == DType::kBF16 ? DType::kF32 : p.result;
          RETURN_IF_ERROR(LaunchStatus(launch::Cast(from, p.result, In(a, 2), copy, p.y_rows().channels, queue)));
        }
        RETURN_IF_ERROR(self->Run(*plan, operation.get(), a, queue));
        return Complete(wanted, p, a, queue);
      });
}

// The library writes the gradient where its vectors can, else it is copied from there.
absl::StatusOr<CudaEnqueue> CublasLtMatMuls::BindWithBiasGradient(const SharedPlan& plan, const KernelArguments& a) {
  const MatMulProduct& p = plan->product;
  const bool copied = !IsAligned(Out(a, 1));
  void* const made = copied ? WorkspaceOf(a) + plan->library_bytes() : Out(a, 1);
  ASSIGN_OR_RETURN(const CublasLtOperation operation, MakeOperation(api_, p, options_.allow_tf32, {made}));
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
  const bool aligned = Aligned(arguments);
  if (!aligned) RETURN_IF_ERROR(plan.unaligned.status());
  const cublasLtMatmulHeuristicResult_t& chosen = aligned ? plan.aligned : *plan.unaligned;
  return Multiply(api_, handle_, plan, operation, chosen,
                  {In(arguments, 0), In(arguments, 1), Out(arguments, 0), WorkspaceOf(arguments)}, queue);
}

absl::StatusOr<PreparedCudaKernel> EstimateMatMul(const LocalNode& node) {
  RETURN_IF_ERROR(CheckProduct(node));
  PreparedCudaKernel kernel;
  kernel.workspace_bytes = static_cast<int64_t>(kMostWorkspace) + ProductOf(node).bias_bytes() + kMostSkipped;
  kernel.workspace_estimated = true;
  const auto calls = static_cast<int>(ProductCalls(node).count());
  kernel.library_launches = calls * LaunchesOf(ProductOf(node), ProductOf(node));
  kernel.bind = [](const KernelArguments&) -> absl::StatusOr<CudaEnqueue> {
    return Unavailable("the kernel's GPU is described, it is not here");
  };
  return kernel;
}

}  // namespace partita

#include "ops/host/host_kernels.h"

#include <algorithm>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/host/fast/fast_kernels.h"
#include "ops/host/host_kernel.h"
#include "ops/host/onednn/onednn_kernels.h"
#include "ops/host/parallel.h"
#include "ops/host/reference/reference_kernels.h"
#include "ops/host/widened.h"
#include "runtime/base/check.h"
#include "runtime/device/host/host_stream.h"

// Kernels that builds without OpenMP and oneDNN (the thread sanitizer's) leave out.
#ifdef PARTITA_NO_OPENMP
#define FAST(...)
#else
#define FAST(...) {__VA_ARGS__},
#endif

namespace partita {
namespace {

using enum Bf16Nodes;
using KernelTable = std::map<std::string, std::vector<HostKernelEntry>>;

// A kernel that cannot run a node says why; the next one is asked. The last takes everything.
const KernelTable& Table() {
  static const KernelTable& table = *new KernelTable{
      {"constant", {{"reference", ReferenceConstant, kTaken}}},
      {"cast", {FAST("fast", FastCast, kTaken){"reference", ReferenceCast, kTaken}}},
      {"reshape", {{"reference", ReferenceReshape, kTaken}}},
      {"conv2d", {FAST("onednn", OneDnnConv2d, kTaken) FAST("im2col", Im2ColConv2d){"reference", ReferenceConv2d}}},
      {"conv2d_epilogue",
       {FAST("onednn", OneDnnConv2d, kTaken) FAST("im2col", Im2ColConv2d){"reference", ReferenceConv2d}}},
      {"conv2d_input_grad",
       {FAST("onednn", OneDnnConv2dInputGrad, kTaken)
            FAST("im2col", Im2ColConv2dInputGrad){"reference", ReferenceConv2dInputGrad}}},
      {"conv2d_weight_grad",
       {FAST("onednn", OneDnnConv2dWeightGrad, kTaken)
            FAST("im2col", Im2ColConv2dWeightGrad){"reference", ReferenceConv2dWeightGrad}}},
      {"matmul", {FAST("onednn", OneDnnMatMul, kTaken) FAST("blocked", BlockedMatMul){"reference", ReferenceMatMul}}},
      {"matmul_epilogue",
       {FAST("onednn", OneDnnMatMul, kTaken) FAST("blocked", BlockedMatMul){"reference", ReferenceMatMul}}},
      {"bias", {FAST("fast", FastBias){"reference", ReferenceBias}}},
      {"bias_grad", {FAST("fast", FastBiasGrad){"reference", ReferenceBiasGrad}}},
      {"relu", {FAST("fast", FastRelu){"reference", ReferenceRelu}}},
      {"relu_grad", {FAST("fast", FastReluGrad){"reference", ReferenceReluGrad}}},
      {"sigmoid", {{"reference", ReferenceSigmoid}}},
      {"sigmoid_grad", {{"reference", ReferenceSigmoidGrad}}},
      {"add", {FAST("fast", FastAdd){"reference", ReferenceAdd}}},
      {"mul", {FAST("fast", FastMul){"reference", ReferenceMul}}},
      {"dropout", {FAST("fast", FastDropout){"reference", ReferenceDropout}}},
      {"concat", {FAST("fast", FastConcat, kTaken){"reference", ReferenceConcat, kTaken}}},
      {"slice", {FAST("fast", FastSlice, kTaken){"reference", ReferenceSlice, kTaken}}},
      {"slice_grad", {FAST("fast", FastSliceGrad, kTaken){"reference", ReferenceSliceGrad, kTaken}}},
      {"max_pool", {FAST("fast", FastMaxPool){"reference", ReferenceMaxPool}}},
      {"max_pool_grad", {FAST("fast", FastMaxPoolGrad){"reference", ReferenceMaxPoolGrad}}},
      {"average_pool", {FAST("fast", FastAveragePool){"reference", ReferenceAveragePool}}},
      {"average_pool_grad", {FAST("fast", FastAveragePoolGrad){"reference", ReferenceAveragePoolGrad}}},
      {"global_average_pool", {FAST("fast", FastGlobalAveragePool){"reference", ReferenceGlobalAveragePool}}},
      {"global_average_pool_grad",
       {FAST("fast", FastGlobalAveragePoolGrad){"reference", ReferenceGlobalAveragePoolGrad}}},
      {"halo_exchange_adjoint", {{"reference", ReferenceHaloExchangeAdjoint}}},
      {"batch_norm_statistics", {FAST("fast", FastBatchNormStatistics){"reference", ReferenceBatchNormStatistics}}},
      {"batch_norm_normalize", {FAST("fast", FastBatchNormNormalize){"reference", ReferenceBatchNormNormalize}}},
      {"batch_norm_inference", {FAST("fast", FastBatchNormInference){"reference", ReferenceBatchNormInference}}},
      {"batch_norm_running", {{"reference", ReferenceBatchNormRunning}}},
      {"batch_norm_gradient_sums",
       {FAST("fast", FastBatchNormGradientSums){"reference", ReferenceBatchNormGradientSums}}},
      {"batch_norm_normalize_input_grad",
       {FAST("fast", FastBatchNormNormalizeInputGrad){"reference", ReferenceBatchNormNormalizeInputGrad}}},
      {"batch_norm_statistics_grad",
       {FAST("fast", FastBatchNormStatisticsGrad){"reference", ReferenceBatchNormStatisticsGrad}}},
      {"batch_norm_input_grad", {FAST("fast", FastBatchNormInputGrad){"reference", ReferenceBatchNormInputGrad}}},
      {"log_softmax", {FAST("fast", FastLogSoftmax){"reference", ReferenceLogSoftmax}}},
      {"log_softmax_grad", {FAST("fast", FastLogSoftmaxGrad){"reference", ReferenceLogSoftmaxGrad}}},
      {"softmax_cross_entropy", {FAST("fast", FastSoftmaxCrossEntropy){"reference", ReferenceSoftmaxCrossEntropy}}},
      {"softmax_cross_entropy_grad",
       {FAST("fast", FastSoftmaxCrossEntropyGrad){"reference", ReferenceSoftmaxCrossEntropyGrad}}},
      {"row_maximum", {{"reference", ReferenceRowMaximum}}},
      {"row_exponentials", {{"reference", ReferenceRowExponentials}}},
      {"row_exponentials_grad", {{"reference", ReferenceRowExponentialsGrad}}},
      {"log_softmax_normalize", {{"reference", ReferenceLogSoftmaxNormalize}}},
      {"log_softmax_normalize_grad", {{"reference", ReferenceLogSoftmaxNormalizeGrad}}},
      {"cross_entropy", {{"reference", ReferenceCrossEntropy}}},
      {"cross_entropy_logits_grad", {{"reference", ReferenceCrossEntropyLogitsGrad}}},
      {"cross_entropy_sum_grad", {{"reference", ReferenceCrossEntropySumGrad}}},
      {"accuracy", {{"reference", ReferenceAccuracy}}},
      {"learning_rate", {{"reference", ReferenceLearningRate}}},
      {"increment", {{"reference", ReferenceIncrement}}},
      {"sum_of_squares", {FAST("fast", FastSumOfSquares){"reference", ReferenceSumOfSquares}}},
      {"clip_scale", {{"reference", ReferenceClipScale}}},
      {"sgd", {FAST("fast", FastSgd){"reference", ReferenceSgd}}},
      {"sgd_momentum", {FAST("fast", FastSgdMomentum){"reference", ReferenceSgdMomentum}}},
  };
  return table;
}

std::vector<HostKernelEntry> Entries(const std::string& op, const HostKernelOptions& options) {
  const auto found = Table().find(op);
  if (found == Table().end()) return {};
  std::vector<HostKernelEntry> entries = found->second;
  if (options.reference_only) entries.erase(entries.begin(), entries.end() - 1);
  if (!options.family.empty()) {
    std::erase_if(entries, [&](const HostKernelEntry& entry) { return entry.name != options.family; });
  }
  return entries;
}

// The part of the arguments that belongs to one of several nodes launched as one.
KernelArguments ArgumentsOf(const KernelArguments& all, int members, int member) {
  const auto part = [&](const auto& addresses) {
    const auto count = static_cast<std::ptrdiff_t>(addresses.size()) / members;
    return std::decay_t<decltype(addresses)>(addresses.begin() + member * count,
                                             addresses.begin() + (member + 1) * count);
  };
  return {part(all.inputs), part(all.outputs), all.workspace, all.seed, all.fault};
}

// bf16 by the kernel itself if it can, else in f32.
absl::StatusOr<PreparedKernel> PrepareAlone(const HostKernelEntry& entry, const LocalNode& node) {
  if (!HasBf16(node)) return entry.prepare(node);
  if (entry.bf16 == kTaken) {
    absl::StatusOr<PreparedKernel> prepared = entry.prepare(node);
    if (prepared.ok()) return prepared;
  }
  return PrepareWidened(entry.prepare, node);
}

// One after the other, by the same kernel as alone.
absl::StatusOr<PreparedKernel> Prepare(const HostKernelEntry& entry, const LocalNode& node) {
  if (node.members == 1) return PrepareAlone(entry, node);
  PreparedKernel all;
  std::vector<PreparedKernel> members;
  for (int m = 0; m < node.members; ++m) {
    ASSIGN_OR_RETURN(PreparedKernel member, PrepareAlone(entry, MemberOf(node, m)));
    all.workspace_bytes = std::max(all.workspace_bytes, member.workspace_bytes);
    all.widened = member.widened;
    members.push_back(std::move(member));
  }
  all.bind = [members = std::move(members)](const KernelArguments& arguments) -> absl::StatusOr<Computation> {
    const int count = static_cast<int>(members.size());
    std::vector<Computation> computations;
    for (int m = 0; m < count; ++m) {
      ASSIGN_OR_RETURN(Computation computation, members[m].bind(ArgumentsOf(arguments, count, m)));
      computations.push_back(std::move(computation));
    }
    return Computation([computations = std::move(computations)]() -> absl::Status {
      for (const Computation& compute : computations) RETURN_IF_ERROR(compute());
      return absl::OkStatus();
    });
  };
  return all;
}

class HostKernel : public Kernel {
 public:
  HostKernel(std::string node, Computation compute) : node_(std::move(node)), compute_(std::move(compute)) {}

  absl::Status Launch(Stream& stream) override {
    HostStream* host_stream = dynamic_cast<HostStream*>(&stream);
    CHECK(host_stream != nullptr);
    return host_stream->Enqueue({Run, this});
  }

 private:
  static absl::Status Run(void* self) {
    const auto& kernel = *static_cast<HostKernel*>(self);
    const absl::Status status = kernel.compute_();
    return status.ok() ? status : WithContext("node '" + kernel.node_ + "'", status);
  }

  const std::string node_;
  const Computation compute_;
};

class HostKernelLibrary : public KernelLibrary {
 public:
  explicit HostKernelLibrary(const HostKernelOptions& options) : options_(options) {}

  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override {
    const ThreadScope threads(options_.threads);
    std::string refusals;
    for (const HostKernelEntry& entry : Entries(node.op->name, options_)) {
      const absl::StatusOr<PreparedKernel> prepared = Prepare(entry, node);
      if (prepared.ok()) return KernelChoice{ChoiceName(node, entry, *prepared), prepared->workspace_bytes, true};
      refusals += fmt::format("; {}: {}", KernelName(node, entry), std::string(prepared.status().message()));
    }
    if (refusals.empty()) refusals = "; the op has no kernels";
    return InvalidArgument("node '{}': no host kernel computes {}{}", node.name, node.op->name, refusals);
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice& choice,
                                                 KernelArguments arguments) const override {
    const ThreadScope threads(options_.threads);
    for (const HostKernelEntry& entry : Entries(node.op->name, options_)) {
      if (choice.kernel.rfind(KernelName(node, entry), 0) != 0) continue;
      ASSIGN_OR_RETURN(const PreparedKernel prepared, Prepare(entry, node));
      if (ChoiceName(node, entry, prepared) != choice.kernel) continue;
      ASSIGN_OR_RETURN(Computation compute, prepared.bind(arguments));
      return std::make_unique<HostKernel>(node.name, std::move(compute));
    }
    return InvalidArgument("node '{}': the host has no kernel '{}' for {}", node.name, choice.kernel, node.op->name);
  }

 private:
  static std::string KernelName(const LocalNode& node, const HostKernelEntry& entry) {
    return std::string(entry.name) + "_" + node.op->name;
  }

  // "onednn_conv2d", or "onednn_conv2d_in_f32" of a bf16 node.
  static std::string ChoiceName(const LocalNode& node, const HostKernelEntry& entry, const PreparedKernel& prepared) {
    return KernelName(node, entry) + (prepared.widened ? "_in_f32" : "");
  }

  const HostKernelOptions options_;
};

}  // namespace

std::unique_ptr<KernelLibrary> MakeHostKernels(const HostKernelOptions& options) {
  return std::make_unique<HostKernelLibrary>(options);
}

const KernelLibrary& HostKernels() {
  static const KernelLibrary& library = *MakeHostKernels({}).release();
  return library;
}

std::vector<std::string> HostKernelNames(const std::string& op, const HostKernelOptions& options) {
  std::vector<std::string> names;
  for (const HostKernelEntry& entry : Entries(op, options)) {
    names.push_back(std::string(entry.name) + "_" + op);
  }
  return names;
}

std::vector<std::string> HostKernelOps() {
  std::vector<std::string> ops;
  for (const auto& [op, entries] : Table()) ops.push_back(op);
  return ops;
}

}  // namespace partita

#include "ops/cuda/cuda_kernels.h"

#include <utility>

#include "graph/ir/op_definition.h"
#include "ops/cuda/counting_queue.h"
#include "ops/cuda/kernel/loading_queue.h"
#include "ops/cuda/stream_queue.h"
#include "ops/values/columns.h"
#include "runtime/base/check.h"

namespace partita {
namespace {

std::string KernelName(const std::string& op, const CudaKernelEntry& entry) {
  return std::string(entry.family) + "_" + op;
}

// `refusals` of the kernels before it: "; name: reason" for each.
KernelChoice ChoiceOf(const std::string& name, const PreparedCudaKernel& prepared, const std::string& refusals) {
  std::string remark = refusals + (prepared.workspace_estimated ? "; workspace estimated" : "");
  if (!prepared.remark.empty()) remark += "; " + prepared.remark;
  return {name, prepared.workspace_bytes, prepared.deterministic, remark.empty() ? "" : remark.substr(2)};
}

// What a kernel of our own enqueues is counted; what a library's does is known to who calls the library.
absl::StatusOr<int> LaunchesOf(const PreparedCudaKernel& prepared, const KernelArguments& arguments) {
  if (prepared.library_launches > 0) return prepared.library_launches;
  ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared.bind(arguments));
  CountingQueue queue;
  RETURN_IF_ERROR(enqueue(&queue));
  return queue.launches();
}

class CudaKernel : public Kernel {
 public:
  CudaKernel(std::string node, CudaEnqueue enqueue, std::function<absl::Status(uint64_t)> explain)
      : node_(std::move(node)), enqueue_(std::move(enqueue)), explain_(std::move(explain)) {}

  absl::Status Launch(Stream& stream) override {
    CudaStream* const cuda_stream = dynamic_cast<CudaStream*>(&stream);
    CHECK(cuda_stream != nullptr);
    StreamQueue queue(*cuda_stream);
    const absl::Status status = enqueue_(&queue);
    return WithContext("node '" + node_ + "'", queue.status().ok() ? status : queue.status());
  }

  absl::Status Fault(uint64_t word) const override { return explain_ ? explain_(word) : Kernel::Fault(word); }

 private:
  const std::string node_;
  const CudaEnqueue enqueue_;
  const std::function<absl::Status(uint64_t)> explain_;
};

class CudaKernelLibrary : public KernelLibrary {
 public:
  explicit CudaKernelLibrary(CudaKernelOptions options) : options_(std::move(options)) {
    if (options_.foreign == nullptr) options_.foreign = std::make_shared<NoForeignKernels>("libraries are not used");
  }

  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override {
    std::string refusals;
    for (const CudaKernelEntry& entry : CudaKernelEntries(node.op->name)) {
      if (!Allowed(entry)) continue;
      const std::string name = KernelName(node.op->name, entry);
      const absl::StatusOr<PreparedCudaKernel> prepared = entry.prepare(node, *options_.foreign);
      if (prepared.ok()) return ChoiceOf(name, *prepared, refusals);
      refusals += fmt::format("; {}: {}", name, std::string(prepared.status().message()));
    }
    if (refusals.empty()) refusals = "; the op has no kernels";
    return InvalidArgument("node '{}': no CUDA kernel computes {}{}", node.name, node.op->name, refusals);
  }

  bool TakesColumns(const LocalNode& node, const KernelChoice& choice, size_t operand) const override {
    for (const CudaKernelEntry& entry : CudaKernelEntries(node.op->name)) {
      if (KernelName(node.op->name, entry) == choice.kernel) return entry.columns.Take(node, operand);
    }
    return false;
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice& choice,
                                                 KernelArguments arguments) const override {
    ASSIGN_OR_RETURN(const PreparedCudaKernel prepared, Prepare(node, choice));
    ASSIGN_OR_RETURN(CudaEnqueue enqueue, prepared.bind(AtColumns(node, std::move(arguments))));
    RETURN_IF_ERROR(Load(enqueue));
    return std::make_unique<CudaKernel>(node.name, std::move(enqueue), prepared.explain);
  }

  absl::StatusOr<KernelDetails> Describe(const LocalNode& node, const KernelChoice& choice,
                                         const KernelArguments& arguments) const override {
    ASSIGN_OR_RETURN(const PreparedCudaKernel prepared, Prepare(node, choice));
    KernelDetails details;
    ASSIGN_OR_RETURN(details.launches, LaunchesOf(prepared, AtColumns(node, arguments)));
    if (prepared.engine) details.engine = prepared.engine();
    if (options_.peaks) details.roofline = RooflineOf(node, *options_.peaks, options_.allow_tf32);
    return details;
  }

 private:
  absl::StatusOr<PreparedCudaKernel> Prepare(const LocalNode& node, const KernelChoice& choice) const {
    for (const CudaKernelEntry& entry : CudaKernelEntries(node.op->name)) {
      if (!Allowed(entry) || KernelName(node.op->name, entry) != choice.kernel) continue;
      return entry.prepare(node, *options_.foreign);
    }
    return InvalidArgument("node '{}': CUDA has no kernel '{}' for {}", node.name, choice.kernel, node.op->name);
  }

  // What it launches of our own.
  absl::Status Load(const CudaEnqueue& enqueue) const {
    if (!options_.load) return absl::OkStatus();
    LoadingQueue queue(options_.load);
    const absl::Status status = enqueue(&queue);
    return queue.status().ok() ? status : queue.status();
  }

  bool Allowed(const CudaKernelEntry& entry) const {
    return options_.family.empty() || options_.family == entry.family;
  }

  CudaKernelOptions options_;
};

}  // namespace

std::unique_ptr<KernelLibrary> MakeCudaKernels(CudaKernelOptions options) {
  return std::make_unique<CudaKernelLibrary>(std::move(options));
}

std::vector<std::string> CudaKernelNames(const std::string& op) {
  std::vector<std::string> names;
  for (const CudaKernelEntry& entry : CudaKernelEntries(op)) names.push_back(KernelName(op, entry));
  return names;
}

}  // namespace partita

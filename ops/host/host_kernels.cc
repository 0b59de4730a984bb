#include "ops/host/host_kernels.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/widened.h"
#include "ops/host/kernel_table.h"
#include "ops/host/timing/convolution_signature.h"
#include "ops/host/timing/timed_choice.h"
#include "ops/values/columns.h"
#include "runtime/base/check.h"
#include "runtime/device/host/host_stream.h"
#include "runtime/device/host/kernel_team.h"

namespace partita {
namespace {

std::vector<HostKernelEntry> Entries(const std::string& op, const HostKernelOptions& options) {
  std::vector<HostKernelEntry> entries = HostKernelEntries(op);
  if (options.reference_only && !entries.empty()) entries.erase(entries.begin(), entries.end() - 1);
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
  return {part(all.inputs), part(all.outputs), all.workspace, all.seed, all.fault, all.refused};
}

// bf16 by the kernel itself if it can, else in f32 if it may.
absl::StatusOr<PreparedKernel> PrepareAlone(const HostKernelEntry& entry, const LocalNode& node) {
  if (!HasBf16(node)) return entry.prepare(node);
  if (entry.bf16 == Bf16Nodes::kRefused) return InvalidArgument("dtype is bf16, allowed is f32");
  if (entry.bf16 == Bf16Nodes::kTaken) {
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
    all.worthwhile.Update(member.worthwhile);
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

// Sets all bits of a box of a dense tensor, so that floats are NaN and integers -1, which is no id and no class.
void FillWithNaN(const LocalTensor& tensor, const Box& within, void* data) {
  const int64_t element = SizeOf(tensor.dtype);
  const size_t rank = within.size.size();
  if (rank == 0) {
    std::memset(data, 0xff, static_cast<size_t>(element));
    return;
  }
  const int64_t row = tensor.shape().back();
  for (int64_t r = 0; row > 0 && r < tensor.elements() / row; ++r) {
    int64_t place = tensor.box.offset.back() - within.offset.back(), stride = within.size.back(), rest = r;
    for (size_t d = rank - 1; d-- > 0;) {
      const int64_t index = rest % tensor.shape()[d];
      rest /= tensor.shape()[d];
      place += (tensor.box.offset[d] - within.offset[d] + index) * stride;
      stride *= within.size[d];
    }
    std::memset(static_cast<char*>(data) + place * element, 0xff, static_cast<size_t>(row * element));
  }
}

// Where its data are wrong (kInvalidArgument), it leaves a word, its outputs become NaN, and the step runs on: no rank
// waits for this one, and a loss that is NaN keeps the update from being applied (docs/design.md 5.24).
class HostKernel : public Kernel {
 public:
  // `arguments`: those of the node.
  HostKernel(const LocalNode& node, const KernelArguments& arguments, Computation compute)
      : node_(node.name), compute_(std::move(compute)), fault_(arguments.fault) {
    for (size_t o = 0; o < arguments.outputs.size(); ++o) {
      const size_t place = arguments.inputs.size() + o;
      const LocalTensor& tensor = node.outputs[o];
      const bool wider = !node.within.empty() && !node.within[place].size.empty();
      outputs_.push_back({tensor, wider ? node.within[place] : tensor.box, arguments.outputs[o]});
    }
  }

  absl::Status Launch(Stream& stream) override {
    HostStream* host_stream = dynamic_cast<HostStream*>(&stream);
    CHECK(host_stream != nullptr);
    return host_stream->Enqueue({Run, this});
  }

  absl::Status Fault(uint64_t /*word*/) const override { return wrong_data_; }

 private:
  static absl::Status Run(void* self) {
    auto& kernel = *static_cast<HostKernel*>(self);
    absl::Status status = StartKernelTeam();
    if (status.ok()) status = kernel.compute_();
    if (status.ok()) [[likely]]
      return status;
    if (kernel.fault_ == nullptr || !absl::IsInvalidArgument(status)) {
      return WithContext("node '" + kernel.node_ + "'", status);
    }
    kernel.wrong_data_ = status;
    *kernel.fault_ = 1;
    for (const Output& output : kernel.outputs_) {
      if (output.data != nullptr) FillWithNaN(output.tensor, output.within, output.data);
    }
    return absl::OkStatus();
  }

  struct Output {
    LocalTensor tensor;
    Box within;
    void* data;
  };

  const std::string node_;
  const Computation compute_;
  uint64_t* const fault_;
  std::vector<Output> outputs_;
  absl::Status wrong_data_;  // of the last step that met any
};

class HostKernelLibrary : public KernelLibrary {
 public:
  explicit HostKernelLibrary(const HostKernelOptions& options) : options_(options) {
    if (options_.timing) timed_ = std::make_unique<TimedChoice>(*options_.timing, options_.threads);
  }

  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override {
    const ThreadScope threads(options_.threads);
    if (timed_ == nullptr) return ChooseByRule(node);
    if (const auto signature = ConvolutionSignature(node)) return ChooseTimed(node, *signature);
    return ChooseLikeTheWhole(node);
  }

  std::string Choices() const override { return timed_ == nullptr ? "" : timed_->Choices(); }

  absl::Status Adopt(const std::string& choices) override {
    return timed_ == nullptr ? KernelLibrary::Adopt(choices) : timed_->Adopt(choices);
  }

  bool TakesColumns(const LocalNode& node, const KernelChoice& choice, size_t operand) const override {
    for (const HostKernelEntry& entry : Entries(node.op->name, options_)) {
      if (choice.kernel.rfind(KernelName(node, entry), 0) == 0) return entry.columns.Take(node, operand);
    }
    return false;
  }

  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice& choice,
                                                 KernelArguments arguments) const override {
    const ThreadScope threads(options_.threads);
    for (const HostKernelEntry& entry : Entries(node.op->name, options_)) {
      if (choice.kernel.rfind(KernelName(node, entry), 0) != 0) continue;
      ASSIGN_OR_RETURN(const PreparedKernel prepared, Prepare(entry, node));
      if (ChoiceName(node, entry, prepared) != choice.kernel) continue;
      ASSIGN_OR_RETURN(Computation compute, prepared.bind(AtColumns(node, arguments)));
      if (options_.after_kernel) compute = Followed(std::move(compute), node, arguments);
      return std::make_unique<HostKernel>(node, arguments, std::move(compute));
    }
    return InvalidArgument("node '{}': the host has no kernel '{}' for {}", node.name, choice.kernel, node.op->name);
  }

 private:
  Computation Followed(Computation compute, const LocalNode& node, KernelArguments arguments) const {
    return [compute = std::move(compute), after = options_.after_kernel, node,
            arguments = std::move(arguments)]() -> absl::Status {
      RETURN_IF_ERROR(compute());
      after(node, arguments);
      return absl::OkStatus();
    };
  }

  absl::StatusOr<KernelChoice> ChooseByRule(const LocalNode& node) const {
    std::string refusals;
    for (const HostKernelEntry& entry : Entries(node.op->name, options_)) {
      const absl::StatusOr<PreparedKernel> prepared = Prepare(entry, node);
      const absl::Status taken = prepared.ok() ? prepared->worthwhile : prepared.status();
      if (taken.ok()) return KernelChoice{ChoiceName(node, entry, *prepared), prepared->workspace_bytes, true};
      refusals += fmt::format("; {}: {}", KernelName(node, entry), std::string(taken.message()));
    }
    if (refusals.empty()) refusals = "; the op has no kernels";
    return InvalidArgument("node '{}': no host kernel computes {}{}", node.name, node.op->name, refusals);
  }

  absl::StatusOr<KernelChoice> ChooseTimed(const LocalNode& node, const std::string& of_node) const {
    const std::vector<HostKernelEntry> entries = Entries(node.op->name, options_);
    std::string signature = of_node + ";";
    for (const HostKernelEntry& entry : entries) signature += std::string(" ") + entry.name;
    if (const auto known = timed_->Find(signature)) {
      absl::StatusOr<KernelChoice> choice = ChooseNamed(node, known->form);
      if (choice.ok()) return Remembered(node, *known, *std::move(choice));
      timed_->Refuse(signature, std::string(choice.status().message()));
    }
    ASSIGN_OR_RETURN(const KernelChoice rule, ChooseByRule(node));
    const TimedChoice::Choice chosen = timed_->Choose(signature, node, FormsOf(node, entries, rule));
    ASSIGN_OR_RETURN(KernelChoice choice, ChooseNamed(node, chosen.form));
    return Remembered(node, chosen, std::move(choice));
  }

  // All kernels that compute the node, the rule's first; the reference where it is that alone.
  static std::vector<Form> FormsOf(const LocalNode& node, const std::vector<HostKernelEntry>& entries,
                                   const KernelChoice& rule) {
    std::vector<Form> forms;
    for (const HostKernelEntry& entry : entries) {
      const bool first = KernelName(node, entry) == rule.kernel;
      if (!first && &entry == &entries.back()) continue;
      absl::StatusOr<PreparedKernel> prepared = Prepare(entry, node);
      if (prepared.ok()) forms.insert(first ? forms.begin() : forms.end(), Form{entry.name, *std::move(prepared)});
    }
    return forms;
  }

  absl::StatusOr<KernelChoice> ChooseNamed(const LocalNode& node, const std::string& name) const {
    for (const HostKernelEntry& entry : Entries(node.op->name, options_)) {
      if (entry.name != name) continue;
      ASSIGN_OR_RETURN(const PreparedKernel prepared, Prepare(entry, node));
      return KernelChoice{ChoiceName(node, entry, prepared), prepared.workspace_bytes, true};
    }
    return InvalidArgument("there is no kernel '{}'", name);
  }

  KernelChoice Remembered(const LocalNode& node, const TimedChoice::Choice& chosen, KernelChoice choice) const {
    choice.remark = chosen.remark;
    const std::lock_guard lock(mutex_);
    forms_[node.name] = chosen.form;
    return choice;
  }

  // A part of a node that was chosen just now is computed by the same kernel where that can, or the node stays whole.
  absl::StatusOr<KernelChoice> ChooseLikeTheWhole(const LocalNode& node) const {
    std::string form;
    if (!node.within.empty()) {
      const std::lock_guard lock(mutex_);
      const auto whole = forms_.find(node.name);
      if (whole != forms_.end()) form = whole->second;
    }
    if (!form.empty()) {
      absl::StatusOr<KernelChoice> choice = ChooseNamed(node, form);
      if (choice.ok()) return choice;
    }
    return ChooseByRule(node);
  }

  static std::string KernelName(const LocalNode& node, const HostKernelEntry& entry) {
    return std::string(entry.name) + "_" + node.op->name;
  }

  // "onednn_conv2d", or "onednn_conv2d_in_f32" of a bf16 node.
  static std::string ChoiceName(const LocalNode& node, const HostKernelEntry& entry, const PreparedKernel& prepared) {
    return KernelName(node, entry) + (prepared.widened ? "_in_f32" : "");
  }

  const HostKernelOptions options_;
  std::unique_ptr<TimedChoice> timed_;  // null: by the rule
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> forms_;  // of a node whose kernel was timed, by its name
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

}  // namespace partita

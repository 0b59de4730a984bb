#include "graph/lower/group_updates.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

const LocalKernel* Joinable(const LocalLaunch& launch) {
  const auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  return kernel == nullptr || kernel->node.op->together.empty() ? nullptr : kernel;
}

// Kernels that become one.
struct Members {
  std::vector<LocalLaunch> launches;
  std::vector<TensorId> shared;

  bool Takes(const LocalLaunch& launch, const LocalKernel& kernel, const std::vector<TensorId>& its_shared) const {
    const auto& first = std::get<LocalKernel>(launches.front().work).node;
    const bool alike = first.op->members_differ || first.attributes == kernel.node.attributes;
    return first.op == kernel.node.op && alike && shared == its_shared &&
           first.outputs[0].dtype == kernel.node.outputs[0].dtype && launches.front().phase == launch.phase;
  }
};

// All members have as many outputs, so that one that is not rounded beside some that are has an empty one for it.
void MakeOutputsAlike(std::vector<LocalLaunch>& members) {
  size_t most = 0;
  for (LocalLaunch& member : members) most = std::max(most, std::get<LocalKernel>(member.work).outputs.size());
  for (LocalLaunch& member : members) {
    auto& kernel = std::get<LocalKernel>(member.work);
    kernel.node.outputs.resize(most, {DType::kBF16, {0}, WholeBox({0})});
    kernel.outputs.resize(most);
  }
}

bool AttributesDiffer(const std::vector<LocalLaunch>& members) {
  const Attributes& first = std::get<LocalKernel>(members.front().work).node.attributes;
  return std::ranges::any_of(
      members, [&](const LocalLaunch& member) { return std::get<LocalKernel>(member.work).node.attributes != first; });
}

LocalLaunch Join(std::vector<LocalLaunch> members) {
  MakeOutputsAlike(members);
  const bool differ = AttributesDiffer(members);
  LocalLaunch joint = std::move(members.front());
  auto& kernel = std::get<LocalKernel>(joint.work);
  if (differ) kernel.node.member_attributes = {kernel.node.attributes};
  for (size_t m = 1; m < members.size(); ++m) {
    LocalLaunch& member = members[m];
    auto& work = std::get<LocalKernel>(member.work);
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(kernel.node.inputs, work.node.inputs);
    append(kernel.node.outputs, work.node.outputs);
    append(kernel.inputs, work.inputs);
    append(kernel.outputs, work.outputs);
    append(joint.in_place, member.in_place);
    if (differ) kernel.node.member_attributes.push_back(std::move(work.node.attributes));
  }
  kernel.node.members = static_cast<int>(members.size());
  if (members.size() > 1) joint.name += fmt::format(" and {} more", members.size() - 1);
  kernel.node.name = joint.name;
  return joint;
}

class Grouping {
 public:
  Grouping(LocalProgram& program, const KernelCatalogue& kernels)
      : program_(program), kernels_(kernels), touched_(program.tensors.size(), kNot) {}

  absl::Status Run() {
    int left = 0;
    for (const LocalLaunch& launch : program_.launches) left += Joinable(launch) != nullptr;
    std::vector<LocalLaunch> launches;
    std::swap(launches, program_.launches);
    program_.launches.reserve(launches.size());
    for (LocalLaunch& launch : launches) {
      if (Conflicts(launch)) RETURN_IF_ERROR(Flush());
      if (Joinable(launch) == nullptr) {
        program_.launches.push_back(std::move(launch));
        continue;
      }
      Collect(std::move(launch));
      if (--left == 0) RETURN_IF_ERROR(Flush());
    }
    return absl::OkStatus();
  }

 private:
  enum Touch : uint8_t { kNot, kRead, kWritten };

  TensorId WholeOf(TensorId tensor) const {
    const TensorId inside = program_.tensors[tensor].inside;
    return inside < 0 ? tensor : inside;
  }

  // Whether it must come behind kernels that are still collected.
  bool Conflicts(const LocalLaunch& launch) const {
    bool conflicts = false;
    VisitTensors(launch, [&](TensorId tensor, bool write) {
      const Touch touch = touched_[WholeOf(tensor)];
      conflicts = conflicts || touch == kWritten || (write && touch == kRead);
    });
    return conflicts;
  }

  void Collect(LocalLaunch launch) {
    VisitTensors(launch, [&](TensorId tensor, bool write) {
      Touch& touch = touched_[WholeOf(tensor)];
      if (touch == kNot) marked_.push_back(WholeOf(tensor));
      touch = write ? kWritten : std::max(touch, kRead);
    });
    const LocalKernel& kernel = *Joinable(launch);
    std::vector<TensorId> shared;
    for (const int input : kernel.node.op->together) {
      const bool given = input < static_cast<int>(kernel.inputs.size());
      shared.push_back(given ? kernel.inputs[input].tensor : kNoTensor);
    }
    for (Members& members : collected_) {
      if (!members.Takes(launch, kernel, shared)) continue;
      members.launches.push_back(std::move(launch));
      return;
    }
    Members& members = collected_.emplace_back();
    members.launches.push_back(std::move(launch));
    members.shared = std::move(shared);
  }

  absl::Status Flush() {
    for (Members& members : collected_) {
      LocalLaunch joint = Join(std::move(members.launches));
      auto& kernel = std::get<LocalKernel>(joint.work);
      ASSIGN_OR_RETURN(kernel.choice, kernels_.Choose(kernel.node));
      kernel.workspace = program_.AddWorkspace(kernel.choice, joint.name);
      touched_.resize(program_.tensors.size(), kNot);
      program_.launches.push_back(std::move(joint));
    }
    collected_.clear();
    for (const TensorId tensor : marked_) touched_[tensor] = kNot;
    marked_.clear();
    return absl::OkStatus();
  }

  LocalProgram& program_;
  const KernelCatalogue& kernels_;
  std::vector<Members> collected_;
  std::vector<Touch> touched_;    // by tensor: what the collected kernels do with it
  std::vector<TensorId> marked_;  // not kNot
};

}  // namespace

absl::Status GroupUpdates(LocalProgram& program, const KernelCatalogue& kernels) {
  return Grouping(program, kernels).Run();
}

}  // namespace partita

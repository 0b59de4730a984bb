#include "graph/lower/group_updates.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/ir/op_definition.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

const KernelLaunch* Joinable(const LocalLaunch& launch) {
  const auto* const kernel = std::get_if<KernelLaunch>(&launch.launch.work);
  return kernel == nullptr || kernel->node.op->together.empty() ? nullptr : kernel;
}

// The tensors of a kernel's inputs; -1: absent or empty.
std::vector<TensorId> InputTensors(const LocalLaunch& launch, const KernelLaunch& kernel) {
  std::vector<TensorId> tensors;
  size_t next = 0;
  for (const int64_t input : kernel.inputs) tensors.push_back(input < 0 ? -1 : launch.operands[next++]);
  return tensors;
}

// Kernels that become one.
struct Members {
  std::vector<LocalLaunch> launches;
  std::vector<TensorId> shared;

  bool Takes(const LocalLaunch& launch, const KernelLaunch& kernel, const std::vector<TensorId>& its_shared) const {
    const auto& first = std::get<KernelLaunch>(launches.front().launch.work).node;
    return first.op == kernel.node.op && first.attributes == kernel.node.attributes && shared == its_shared &&
           first.outputs[0].dtype == kernel.node.outputs[0].dtype &&
           launches.front().launch.phase == launch.launch.phase;
  }
};

LocalLaunch Join(std::vector<LocalLaunch> members) {
  LocalLaunch joint = std::move(members.front());
  auto& kernel = std::get<KernelLaunch>(joint.launch.work);
  std::vector<TensorId> inputs, outputs;
  const auto split = [&](const LocalLaunch& member) {
    const auto& work = std::get<KernelLaunch>(member.launch.work);
    size_t next = 0;  // workspace comes last: the joint kernel has its own
    for (const int64_t input : work.inputs) {
      if (input >= 0) inputs.push_back(member.operands[next++]);
    }
    for (const int64_t output : work.outputs) {
      if (output >= 0) outputs.push_back(member.operands[next++]);
    }
  };
  split(joint);
  for (size_t m = 1; m < members.size(); ++m) {
    LocalLaunch& member = members[m];
    split(member);
    auto& work = std::get<KernelLaunch>(member.launch.work);
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(kernel.node.inputs, work.node.inputs);
    append(kernel.node.outputs, work.node.outputs);
    append(kernel.inputs, work.inputs);
    append(kernel.outputs, work.outputs);
    append(joint.in_place, member.in_place);
  }
  kernel.node.members = static_cast<int>(members.size());
  if (members.size() > 1) joint.launch.name += fmt::format(" and {} more", members.size() - 1);
  kernel.node.name = joint.launch.name;
  kernel.workspace = -1;
  joint.operands = std::move(inputs);
  joint.operands.insert(joint.operands.end(), outputs.begin(), outputs.end());
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
    const KernelLaunch& kernel = *Joinable(launch);
    const std::vector<TensorId> inputs = InputTensors(launch, kernel);
    std::vector<TensorId> shared;
    for (const int input : kernel.node.op->together) {
      shared.push_back(input < static_cast<int>(inputs.size()) ? inputs[input] : -1);
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
      auto& kernel = std::get<KernelLaunch>(joint.launch.work);
      ASSIGN_OR_RETURN(kernel.choice, kernels_.Choose(kernel.node));
      if (kernel.choice.workspace_bytes > 0) {
        kernel.workspace = 0;
        joint.operands.push_back(program_.AddTensor(
            {kernel.choice.workspace_bytes, MemoryKind::kWorkspace, joint.launch.name + "/workspace", -1, 0}));
        touched_.push_back(kNot);
      }
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

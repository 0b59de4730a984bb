#include "graph/prove/operands_apart.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/prove/access_log.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

bool Meet(const Access& a, const Access& b) {
  const int64_t begin = std::max(a.range.offset, b.range.offset), end = std::min(a.end(), b.end());
  return begin < end && !Apart(a.columns, b.columns, begin, end);
}

absl::Status Refuse(const Schedule& schedule, int launch, const Access& a, const Access& b) {
  const auto name = [&](const Access& access) { return schedule.tensors[access.tensor].name; };
  return Internal("launch {} {} '{}' at bytes [{}, {}) and writes '{}' at [{}, {}), and may not do so in place",
                  DescribeLaunch(schedule, launch), a.write ? "writes" : "reads", name(a), a.range.offset, a.end(),
                  name(b), b.range.offset, b.end());
}

// Whether the work may write the same bytes that it reads, if they are a whole operand of both.
bool MayBeInPlace(const Launch& launch) {
  if (const auto* const collective = std::get_if<CollectiveLaunch>(&launch.work)) {
    return collective->kind == CollectiveKind::kAllReduce || collective->kind == CollectiveKind::kReduce;
  }
  return std::holds_alternative<KernelLaunch>(launch.work);
}

bool InPlace(const OpDefinition& op, size_t input, size_t output) {
  return std::ranges::find(op.in_place, std::pair(static_cast<int>(input), static_cast<int>(output))) !=
         op.in_place.end();
}

// Every input that lies where an output does is one whose place the op's output may take.
absl::Status CheckPairs(const Schedule& schedule, int launch, const KernelLaunch& kernel) {
  std::unordered_map<int64_t, size_t> outputs;  // by address
  for (size_t o = 0; o < kernel.outputs.size(); ++o) {
    if (kernel.outputs[o] >= 0) outputs[kernel.outputs[o]] = o;
  }
  const auto members = static_cast<size_t>(kernel.node.members);
  const size_t reads = kernel.inputs.size() / members, writes = kernel.outputs.size() / members;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    if (kernel.inputs[i] < 0) continue;
    const auto found = outputs.find(kernel.inputs[i]);
    const bool workspace = kernel.inputs[i] == kernel.workspace;
    if (found == outputs.end() && !workspace) continue;
    if (!workspace && i / reads == found->second / writes && kernel.node.op != nullptr &&
        InPlace(*kernel.node.op, i % reads, found->second % writes)) {
      continue;
    }
    return Internal("launch {} writes what it reads at byte {}, and its op may not do so in the place of operand {}",
                    DescribeLaunch(schedule, launch), kernel.inputs[i], i % reads);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckOperandsApart(const Schedule& schedule, int launch) {
  const Launch& work = schedule.launches[launch];
  std::vector<const Access*> accesses;  // by address
  for (const Access& access : work.accesses) {
    if (access.tensor != kNoTensor) accesses.push_back(&access);
  }
  std::ranges::stable_sort(accesses, {}, [](const Access* access) { return access->range.offset; });
  const bool in_place = MayBeInPlace(work);
  bool pairs = false;
  std::vector<const Access*> open;  // those that reach behind where the next begins
  for (const Access* const access : accesses) {
    std::erase_if(open, [&](const Access* before) { return before->end() <= access->range.offset; });
    for (const Access* const before : open) {
      if ((!before->write && !access->write) || !Meet(*before, *access)) continue;
      const bool same = before->tensor == access->tensor && before->origin == access->origin;
      if (same && (before->write == access->write || before->gaps || access->gaps)) continue;
      const bool replaced = in_place && before->write != access->write && before->range == access->range &&
                            before->columns == access->columns;
      pairs = pairs || replaced;
      if (replaced) continue;
      return access->write ? Refuse(schedule, launch, *before, *access) : Refuse(schedule, launch, *access, *before);
    }
    open.push_back(access);
  }
  const auto* const kernel = std::get_if<KernelLaunch>(&work.work);
  return pairs && kernel != nullptr ? CheckPairs(schedule, launch, *kernel) : absl::OkStatus();
}

}  // namespace partita

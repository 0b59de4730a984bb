#include "graph/lower/view_columns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ir/op_definition.h"
#include "graph/lower/tensor_uses.h"

namespace partita {
namespace {

// A tensor that is to be columns of another one. Sizes in elements of the last dimension.
struct Columns {
  TensorId tensor = kNoTensor;
  TensorId rows = kNoTensor;  // what it becomes columns of
  int64_t first = 0;
  int64_t width = 0;
  int64_t pitch = 0;
};

// True if the sizes are equal but for the last.
bool SameRows(const Shape& a, const Shape& b) {
  return !a.empty() && a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin());
}

const LocalKernel* KernelOf(const LocalLaunch& launch, Role role) {
  const auto* const kernel = std::get_if<LocalKernel>(&launch.work);
  return kernel != nullptr && kernel->node.op->role == role && kernel->node.within.empty() ? kernel : nullptr;
}

Operand& OperandOf(LocalKernel& kernel, size_t place) {
  const size_t inputs = kernel.inputs.size();
  return place < inputs ? kernel.inputs[place] : kernel.outputs[place - inputs];
}

std::optional<Columns> ColumnsOfSlice(const LocalKernel& slice) {
  const Shape& x = slice.node.inputs[0]->shape();
  const Shape& y = slice.node.outputs[0].shape();
  if (!SameRows(x, y) || slice.inputs[0].tensor == kNoTensor || slice.outputs[0].tensor == kNoTensor) return {};
  return Columns{slice.outputs[0].tensor, slice.inputs[0].tensor, slice.node.attributes.Ints("begin").back(), y.back(),
                 x.back()};
}

// Empty: not along the last dimension, or nothing.
std::vector<Columns> ColumnsOfConcat(const LocalKernel& concat) {
  const Shape& whole = concat.node.outputs[0].shape();
  const bool last = concat.node.attributes.Int("axis") + 1 == static_cast<int64_t>(whole.size());
  if (!last || concat.outputs[0].tensor == kNoTensor) return {};
  std::vector<Columns> all;
  int64_t first = 0;
  for (size_t i = 0; i < concat.inputs.size(); ++i) {
    const int64_t width = concat.node.inputs[i]->shape().back();
    if (width > 0) all.push_back({concat.inputs[i].tensor, concat.outputs[0].tensor, first, width, whole.back()});
    first += width;
  }
  return all;
}

class ColumnViewing {
 public:
  ColumnViewing(LocalProgram& program, const KernelCatalogue& kernels)
      : program_(program), kernels_(kernels), uses_(program) {}

  // What is within something else first: who reads a slice of a slice, or makes an input of a concat that is an input
  // of another, is then moved on.
  void Run() {
    const int count = static_cast<int>(program_.launches.size());
    for (int l = count; l-- > 0;) {
      if (const auto* const slice = KernelOf(program_.launches[l], Role::kSlice)) ViewSlice(l, *slice);
    }
    for (int l = 0; l < count; ++l) {
      if (const auto* const concat = KernelOf(program_.launches[l], Role::kConcat)) ViewConcat(l, *concat);
    }
    Forget();
    int l = 0;
    std::erase_if(program_.launches, [&](const LocalLaunch&) { return uses_.dropped(l++); });
  }

 private:
  using Changed = std::map<int, LocalKernel>;  // by launch

  // The rows are made before the slice, once for all, so that what reads the slice may read them later.
  void ViewSlice(int l, const LocalKernel& slice) {
    const std::optional<Columns> columns = ColumnsOfSlice(slice);
    if (!columns || uses_.shares_bytes(columns->rows) || uses_.last_write(columns->rows) >= l) return;
    if (uses_.OnlyWriter(columns->tensor) != l) return;
    Changed changed;
    if (!Take(*columns, l, changed) || changed.empty()) return;  // what nobody reads is there to be looked at
    if (Choose(changed)) Commit(l, {*columns}, std::move(changed));
  }

  // All inputs are made by kernels before it, and of the rows the concat is the only maker.
  void ViewConcat(int l, const LocalKernel& concat) {
    const std::vector<Columns> all = ColumnsOfConcat(concat);
    if (all.empty() || uses_.shares_bytes(all[0].rows) || uses_.OnlyWriter(all[0].rows) != l) return;
    Changed changed;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto same = [&](const Columns& other) { return other.tensor == all[i].tensor; };
      const int made = uses_.last_write(all[i].tensor);
      if (made < 0 || made >= l || std::any_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), same)) return;
      if (!Take(all[i], l, changed)) return;
    }
    if (!Choose(changed)) return;
    Commit(l, all, std::move(changed));
    unobserved_.push_back(all[0].rows);
  }

  // Whether every user of the tensor but launch l takes it as these columns; they come into `changed`.
  bool Take(const Columns& columns, int l, Changed& changed) const {
    if (!uses_.ByKernelsAlone(columns.tensor)) return false;
    return std::ranges::all_of(uses_.of(columns.tensor), [&](const TensorUse& use) {
      if (use.launch == l) return true;
      const auto& kernel = std::get<LocalKernel>(program_.launches[use.launch].work);
      return TakeOperand(columns, use, changed.try_emplace(use.launch, kernel).first->second);
    });
  }

  bool TakeOperand(const Columns& columns, const TensorUse& use, LocalKernel& kernel) const {
    LocalNode& node = kernel.node;
    if (node.members > 1 || !kernels_.TakesColumns(node, kernel.choice, use.operand)) return false;
    if (node.within.empty()) {
      for (const auto& input : node.inputs) node.within.push_back(input ? input->box : Box{});
      for (const LocalTensor& output : node.outputs) node.within.push_back(output.box);
    }
    Box& within = node.within[use.operand];
    // The whole tensor, or columns of it; not another part, nor rows that were made others.
    if (!SameRows(within.size, node.operand(use.operand)->shape()) || within.size.back() != columns.width) return false;
    within.size.back() = columns.pitch;
    within.offset.back() -= columns.first;
    OperandOf(kernel, use.operand).tensor = columns.rows;
    return true;
  }

  // Whether the same kernels are chosen for the changed nodes.
  bool Choose(Changed& changed) const {
    return std::ranges::all_of(changed, [&](auto& entry) {
      LocalKernel& kernel = entry.second;
      absl::StatusOr<KernelChoice> choice = kernels_.Choose(kernel.node);
      if (!choice.ok() || choice->kernel != kernel.choice.kernel) return false;
      kernel.choice = *std::move(choice);
      return true;
    });
  }

  void Commit(int dropped, const std::vector<Columns>& all, Changed changed) {
    for (auto& [l, kernel] : changed) {
      LocalLaunch& launch = program_.launches[l];
      std::erase_if(launch.in_place, [&](const InPlace& pair) {
        return std::ranges::any_of(all, [&](const Columns& columns) {
          return pair.from == columns.tensor || pair.to == columns.tensor || pair.from == columns.rows;
        });
      });
      const int64_t workspace = kernel.workspace == kNoTensor ? 0 : program_.tensors[kernel.workspace].bytes;
      if (workspace != kernel.choice.workspace_bytes) {
        kernel.workspace = program_.AddWorkspace(kernel.choice, launch.name);
      }
      launch.work = std::move(kernel);
    }
    uses_.Drop(dropped, program_.launches[dropped]);
    for (const Columns& columns : all) {
      uses_.Move(columns.tensor, columns.rows);
      unobserved_.push_back(columns.tensor);
    }
  }

  void Forget() {
    std::ranges::sort(unobserved_);
    for (TensorId& tensor : program_.tensor_of) {
      if (std::ranges::binary_search(unobserved_, tensor)) tensor = kNoTensor;
    }
  }

  LocalProgram& program_;
  const KernelCatalogue& kernels_;
  TensorUses uses_;
  std::vector<TensorId> unobserved_;
};

bool CopiesColumns(const LocalLaunch& launch) {
  return KernelOf(launch, Role::kSlice) != nullptr || KernelOf(launch, Role::kConcat) != nullptr;
}

}  // namespace

void ViewColumns(LocalProgram& program, const KernelCatalogue& kernels) {
  if (std::ranges::any_of(program.launches, CopiesColumns)) ColumnViewing(program, kernels).Run();
}

}  // namespace partita

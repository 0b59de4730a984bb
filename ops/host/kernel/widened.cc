#include "ops/host/kernel/widened.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/target_clones.h"
#include "runtime/base/alignment.h"

namespace partita {

PARTITA_TARGET_CLONES void WidenRun(const Bf16* from, float* to, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

PARTITA_TARGET_CLONES void RoundRun(const float* from, Bf16* to, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) to[i] = Bf16(from[i]);
}

namespace {

// The elements of a tensor in the memory that it lies in, as runs of one length.
class Runs {
 public:
  Runs(const Box& tensor, const Box& memory) {
    length_ = 1;
    size_t whole = tensor.size.size();  // dimensions from here on are whole
    while (whole > 0 && tensor.size[whole - 1] == memory.size[whole - 1]) length_ *= memory.size[--whole];
    if (whole > 0) length_ *= tensor.size[--whole];
    if (tensor.elements() == 0) return;
    const int64_t count = tensor.elements() / length_;
    for (int64_t i = 0; i < count; ++i) starts_.push_back(Start(tensor, memory, i * length_));
  }

  // Calls f(begin in the memory, begin in the tensor, length) for pieces of all runs, on all threads.
  template <typename F>
  void ForAll(const F& f) const {
    if (starts_.size() == 1) {
      ParallelRange(length_, [&](int64_t begin, int64_t end) { f(starts_[0] + begin, begin, end - begin); });
    } else {
      const auto count = static_cast<int64_t>(starts_.size());
      ParallelFor(count, count * length_, [&](int64_t i) { f(starts_[i], i * length_, length_); });
    }
  }

 private:
  // Where element `index` of the tensor lies in the memory.
  static int64_t Start(const Box& tensor, const Box& memory, int64_t index) {
    int64_t at = 0, stride = 1;
    for (size_t d = tensor.size.size(); d-- > 0;) {
      at += stride * (tensor.offset[d] - memory.offset[d] + index % tensor.size[d]);
      index /= tensor.size[d];
      stride *= memory.size[d];
    }
    return at;
  }

  int64_t length_ = 0;
  std::vector<int64_t> starts_;
};

// One bf16 operand and its f32 form in the workspace: memory like its own, but dense of what is columns of wider rows.
struct Staged {
  size_t index;    // among the inputs or the outputs
  int64_t offset;  // of the f32 form
  bool dense;
  Runs runs;

  // Calls f(begin in its memory, begin in the f32 form, length).
  template <typename F>
  void ForAll(const F& f) const {
    runs.ForAll([&](int64_t memory, int64_t tensor, int64_t n) { f(memory, dense ? tensor : memory, n); });
  }
};

struct Staging {
  std::vector<Staged> inputs, outputs;
  int64_t bytes = 0;
};

// Makes the node f32 and says what has to be staged for it, from byte `offset` of the workspace on.
Staging StageInF32(LocalNode& node, int64_t offset) {
  Staging staging;
  const auto stage = [&](LocalTensor& tensor, size_t index, size_t operand, std::vector<Staged>& list) {
    if (tensor.dtype != DType::kBF16) return;
    tensor.dtype = DType::kF32;
    const bool dense = node.HasColumns(operand);
    Box memory = node.within.empty() ? tensor.box : node.within[operand];
    if (dense) memory.offset.back() = tensor.box.offset.back();  // the address is that of its first element
    list.push_back({index, offset, dense, Runs(tensor.box, memory)});
    if (dense) node.within[operand] = tensor.box;
    offset += AlignUp((dense ? tensor.box : memory).elements() * SizeOf(DType::kF32));
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i]) stage(*node.inputs[i], i, i, staging.inputs);
  }
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    stage(node.outputs[o], o, node.inputs.size() + o, staging.outputs);
  }
  staging.bytes = offset;
  return staging;
}

// What the kernel sees: an operand without elements has no address here either.
KernelArguments InF32(const Staging& staging, const KernelArguments& a) {
  KernelArguments wide = a;
  for (const Staged& input : staging.inputs) {
    if (a.inputs[input.index] != nullptr) wide.inputs[input.index] = Scratch<float>(a, input.offset);
  }
  for (const Staged& output : staging.outputs) {
    if (a.outputs[output.index] != nullptr) wide.outputs[output.index] = Scratch<float>(a, output.offset);
  }
  return wide;
}

void WidenInputs(const Staging& staging, const KernelArguments& a) {
  for (const Staged& input : staging.inputs) {
    input.ForAll([&](int64_t from, int64_t to, int64_t n) {
      WidenRun(In<Bf16>(a, input.index) + from, Scratch<float>(a, input.offset) + to, n);
    });
  }
}

void RoundOutputs(const Staging& staging, const KernelArguments& a) {
  for (const Staged& output : staging.outputs) {
    output.ForAll([&](int64_t to, int64_t from, int64_t n) {
      RoundRun(Scratch<float>(a, output.offset) + from, Out<Bf16>(a, output.index) + to, n);
    });
  }
}

}  // namespace

bool HasBf16(const LocalNode& node) {
  const auto narrow = [](const LocalTensor& tensor) { return tensor.dtype == DType::kBF16; };
  return std::ranges::any_of(node.outputs, narrow) ||
         std::ranges::any_of(node.inputs, [&](const auto& input) { return input && narrow(*input); });
}

absl::StatusOr<PreparedKernel> PrepareWidened(HostKernelFactory prepare, const LocalNode& node) {
  LocalNode wide = node;
  StageInF32(wide, 0);
  ASSIGN_OR_RETURN(const PreparedKernel kernel, prepare(wide));
  wide = node;
  const auto staging = std::make_shared<const Staging>(StageInF32(wide, AlignUp(kernel.workspace_bytes)));
  const auto bind = [kernel, staging](const KernelArguments& a) -> absl::StatusOr<Computation> {
    ASSIGN_OR_RETURN(Computation compute, kernel.bind(InF32(*staging, a)));
    return Computation([staging, a, compute = std::move(compute)]() -> absl::Status {
      WidenInputs(*staging, a);
      RETURN_IF_ERROR(compute());
      RoundOutputs(*staging, a);
      return absl::OkStatus();
    });
  };
  return PreparedKernel{staging->bytes, bind, true};
}

}  // namespace partita

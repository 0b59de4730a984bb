#include "tests/ops/host/kernel_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <set>

#include "graph/ir/op_definition.h"
#include "ops/host/grouped/grouped_kernels.h"
#include "ops/host/host_kernels.h"
#include "ops/registry.h"
#include "runtime/base/bf16.h"
#include "runtime/base/check.h"
#include "runtime/base/philox.h"
#include "runtime/base/status.h"
#include "runtime/device/host/host_device.h"

namespace partita {
namespace {

constexpr int64_t kGuard = 64;  // bytes before and behind a block
constexpr unsigned char kGuardByte = 0xA5;

// Memory of a tensor or workspace between guard bytes; all bits set at birth, which is NaN and -1. It lies at no larger
// power of 2 than a plan's memory does.
class Block {
 public:
  Block(int64_t bytes, int64_t misalignment) : bytes_(bytes), misalignment_(misalignment) {
    const int64_t size = (bytes + 3 * kGuard + 255) / 256 * 256;
    memory_.reset(static_cast<unsigned char*>(std::aligned_alloc(256, size)));
    std::memset(memory_.get(), kGuardByte, size);
    if (bytes > 0) std::memset(data(), 0xFF, bytes);
  }

  void* data() const { return memory_.get() + kGuard + misalignment_; }

  bool intact() const {
    for (int64_t i = 0; i < kGuard + misalignment_; ++i) {
      if (memory_.get()[i] != kGuardByte) return false;
    }
    for (int64_t i = 0; i < kGuard; ++i) {
      if (memory_.get()[kGuard + misalignment_ + bytes_ + i] != kGuardByte) return false;
    }
    return true;
  }

 private:
  struct Free {
    void operator()(unsigned char* p) const { std::free(p); }
  };
  int64_t bytes_, misalignment_;
  std::unique_ptr<unsigned char, Free> memory_;
};

template <typename To, typename From>
void Convert(const From* from, int64_t elements, To* to) {
  for (int64_t i = 0; i < elements; ++i) to[i] = static_cast<To>(from[i]);
}

void Write(const Values& values, DType dtype, void* to) {
  const int64_t n = static_cast<int64_t>(values.size());
  if (dtype == DType::kF32) Convert(values.data(), n, static_cast<float*>(to));
  if (dtype == DType::kF64) Convert(values.data(), n, static_cast<double*>(to));
  if (dtype == DType::kI32) Convert(values.data(), n, static_cast<int32_t*>(to));
  if (dtype == DType::kU8) Convert(values.data(), n, static_cast<uint8_t*>(to));
  if (dtype == DType::kBF16) Convert(values.data(), n, static_cast<Bf16*>(to));
}

Values Read(const void* from, DType dtype, int64_t n) {
  Values values(n);
  if (dtype == DType::kF32) Convert(static_cast<const float*>(from), n, values.data());
  if (dtype == DType::kF64) Convert(static_cast<const double*>(from), n, values.data());
  if (dtype == DType::kI32) Convert(static_cast<const int32_t*>(from), n, values.data());
  if (dtype == DType::kU8) Convert(static_cast<const uint8_t*>(from), n, values.data());
  if (dtype == DType::kBF16) Convert(static_cast<const Bf16*>(from), n, values.data());
  return values;
}

absl::Status RunOnStream(Kernel& kernel, int threads) {
  HostDevice device(HostDeviceOptions{.threads = threads});
  ASSIGN_OR_RETURN(const std::unique_ptr<Stream> stream, device.CreateStream("test"));
  RETURN_IF_ERROR(kernel.Launch(*stream));
  return stream->Synchronize();
}

// What lies in the memory of an operand: the tensor, or the larger one of which it is a part.
LocalTensor MemoryOf(const LocalNode& node, size_t operand, LocalTensor tensor) {
  if (!node.within.empty()) tensor.box = node.within[operand];
  return tensor;
}

LocalTensor OutputMemory(const LocalNode& node, size_t output) {
  return MemoryOf(node, node.inputs.size() + output, node.outputs[output]);
}

// The blocks of a run and the kernel's view of them.
struct Buffers {
  std::vector<std::unique_ptr<Block>> inputs, outputs;
  std::unique_ptr<Block> workspace;
  KernelArguments arguments;
};

Buffers MakeBuffers(const LocalNode& node, const std::vector<Values>& inputs, const RunOptions& options,
                    int64_t workspace_bytes) {
  Buffers buffers;
  const auto misalignment = [&](DType dtype) {
    return options.misalignment + (options.off_by_one ? SizeOf(dtype) : 0);
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const bool present = node.inputs[i].has_value() && node.inputs[i]->elements() > 0;
    const int64_t bytes = present ? MemoryOf(node, i, *node.inputs[i]).bytes() : 0;
    const DType dtype = node.inputs[i].has_value() ? node.inputs[i]->dtype : DType::kF32;
    buffers.inputs.push_back(std::make_unique<Block>(bytes, misalignment(dtype)));
    if (present) Write(inputs[i], dtype, buffers.inputs[i]->data());
    buffers.arguments.inputs.push_back(present ? buffers.inputs[i]->data() : nullptr);
  }
  for (size_t o = 0; o < node.outputs.size(); ++o) {
    const LocalTensor output = OutputMemory(node, o);
    buffers.outputs.push_back(std::make_unique<Block>(output.bytes(), misalignment(output.dtype)));
    buffers.arguments.outputs.push_back(output.elements() > 0 ? buffers.outputs.back()->data() : nullptr);
  }
  const size_t members = static_cast<size_t>(node.members);
  for (size_t m = 0; m < members && options.in_place; ++m) {
    const size_t inputs_before = m * node.inputs.size() / members, outputs_before = m * node.outputs.size() / members;
    for (const auto& [input, output] : node.op->in_place) {
      buffers.arguments.outputs[outputs_before + output] =
          const_cast<void*>(buffers.arguments.inputs[inputs_before + input]);
    }
  }
  buffers.workspace = std::make_unique<Block>(workspace_bytes, 0);
  buffers.arguments.workspace = workspace_bytes > 0 ? buffers.workspace->data() : nullptr;
  buffers.arguments.seed = options.seed;
  return buffers;
}

}  // namespace

LocalNode WholeNode(const std::string& op, const Attributes& attributes,
                    const std::vector<std::optional<TensorType>>& inputs) {
  LocalNode node;
  node.name = "node";
  node.op = Ops().Find(op);
  CHECK(node.op != nullptr);
  const absl::StatusOr<Attributes> complete = CompleteAttributes(*node.op, attributes);
  EXPECT_TRUE(complete.ok()) << op << ": " << complete.status();
  node.attributes = *complete;
  NodeView view{node.attributes, {}, {}};
  for (const auto& input : inputs) {
    view.inputs.push_back(input.has_value() ? &*input : nullptr);
    node.inputs.push_back(std::nullopt);
    if (input.has_value()) node.inputs.back() = LocalTensor{input->dtype, input->shape, WholeBox(input->shape)};
  }
  const absl::StatusOr<std::vector<TensorType>> outputs = node.op->shape(view);
  EXPECT_TRUE(outputs.ok()) << op << ": " << outputs.status();
  for (const TensorType& output : *outputs) {
    node.outputs.push_back({output.dtype, output.shape, WholeBox(output.shape)});
  }
  return node;
}

LocalNode Together(const std::vector<LocalNode>& nodes) {
  LocalNode all = nodes.front();
  for (size_t m = 1; m < nodes.size(); ++m) {
    all.inputs.insert(all.inputs.end(), nodes[m].inputs.begin(), nodes[m].inputs.end());
    all.outputs.insert(all.outputs.end(), nodes[m].outputs.begin(), nodes[m].outputs.end());
  }
  for (const LocalNode& node : nodes) {
    if (node.op->members_differ) all.member_attributes.push_back(node.attributes);
  }
  all.members = static_cast<int>(nodes.size());
  return all;
}

bool HasAxesApart(const LocalNode& node) {
  const std::set<std::string> ops = {"sum", "mean", "sum_grad", "expand", "expand_like"};
  if (ops.count(node.op->name) == 0) return false;
  const IntList& axes = node.attributes.Ints("axes");
  return !axes.empty() && axes.back() - axes.front() + 1 > static_cast<int64_t>(axes.size());
}

bool HasGrouped(const LocalNode& node) {
  const std::string& op = node.op->name;
  const absl::StatusOr<PreparedKernel> prepared = op == "conv2d_input_grad"    ? GroupedConv2dInputGrad(node)
                                                  : op == "conv2d_weight_grad" ? GroupedConv2dWeightGrad(node)
                                                                               : GroupedConv2d(node);
  return prepared.ok() && prepared->worthwhile.ok();
}

LocalNode InF64(LocalNode node) {
  const auto widen = [](LocalTensor& tensor) {
    if (tensor.dtype == DType::kF32) tensor.dtype = DType::kF64;
  };
  for (auto& input : node.inputs) {
    if (input.has_value()) widen(*input);
  }
  for (LocalTensor& output : node.outputs) widen(output);
  return node;
}

LocalNode InBf16(LocalNode node) {
  const bool normalizes = node.op->name.rfind("batch_norm", 0) == 0;
  const size_t declared = node.op->inputs.size();
  NodeView view{node.attributes, {}, {}};
  std::vector<TensorType> types(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    view.inputs.push_back(nullptr);
    if (!node.inputs[i].has_value()) continue;
    LocalTensor& tensor = *node.inputs[i];
    const InputDefinition& input = node.op->inputs[std::min(i, declared - 1)];
    const bool wide = input.wide || (normalizes && tensor.global != node.inputs[0]->global);
    if (tensor.dtype == DType::kF32 && !wide) tensor.dtype = DType::kBF16;
    types[i] = {tensor.dtype, tensor.global};
    view.inputs.back() = &types[i];
  }
  const absl::StatusOr<std::vector<TensorType>> outputs = node.op->shape(view);
  EXPECT_TRUE(outputs.ok()) << node.op->name << ": " << outputs.status();
  for (size_t o = 0; o < node.outputs.size(); ++o) node.outputs[o].dtype = (*outputs)[o].dtype;
  return node;
}

std::vector<Values> Stored(const LocalNode& node, std::vector<Values> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!node.inputs[i].has_value() || node.inputs[i]->dtype != DType::kBF16) continue;
    for (double& value : inputs[i]) value = static_cast<double>(Bf16(value));
  }
  return inputs;
}

double RoundingOnGpu(const LocalNode& node, size_t output) {
  const bool recurs = node.op->name.rfind("lstm", 0) == 0 && node.outputs[0].dtype == DType::kBF16;
  if (recurs) return 0x1p-6;
  if (node.outputs[output].dtype != DType::kBF16) return 0;
  return node.op->name == "conv2d_input_grad_sum" ? 0x1p-7 : 0x1p-8;  // its terms are rounded before their sum is
}

void Narrow(LocalTensor& tensor, int dimension, int64_t begin, int64_t end) {
  tensor.box.offset[dimension] = begin;
  tensor.box.size[dimension] = end - begin;
}

Values Part(const Values& whole, const LocalTensor& part) {
  Values result;
  for (int64_t i = 0; i < Elements(part.global); ++i) {
    int64_t rest = i;
    bool inside = true;
    for (int d = static_cast<int>(part.global.size()) - 1; d >= 0; --d) {
      const int64_t index = rest % part.global[d];
      inside = inside && index >= part.box.offset[d] && index < part.box.offset[d] + part.box.size[d];
      rest /= part.global[d];
    }
    if (inside) result.push_back(whole[i]);
  }
  return result;
}

absl::StatusOr<std::vector<Values>> RunOnBuffers(const LocalNode& node, const std::vector<Values>& inputs,
                                                 const RunOptions& options, int64_t workspace_bytes,
                                                 const std::string& kernel,
                                                 const std::function<absl::Status(const KernelArguments&)>& run) {
  const Buffers buffers = MakeBuffers(node, inputs, options, workspace_bytes);
  RETURN_IF_ERROR(run(buffers.arguments));
  std::vector<Values> results;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    EXPECT_TRUE(buffers.outputs[i]->intact()) << kernel << " wrote beyond output " << i;
    results.push_back(Read(buffers.arguments.outputs[i], node.outputs[i].dtype, OutputMemory(node, i).elements()));
  }
  EXPECT_TRUE(buffers.workspace->intact()) << kernel << " wrote beyond its workspace";
  return results;
}

absl::StatusOr<std::vector<Values>> RunKernel(const LocalNode& node, const std::vector<Values>& inputs,
                                              const RunOptions& options) {
  const std::unique_ptr<KernelLibrary> library =
      MakeHostKernels({options.reference_only, options.family, options.threads});
  ASSIGN_OR_RETURN(const KernelChoice choice, library->Choose(node));
  return RunOnBuffers(node, inputs, options, choice.workspace_bytes, choice.kernel,
                      [&](const KernelArguments& arguments) -> absl::Status {
                        ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel,
                                         library->Create(node, choice, arguments));
                        return RunOnStream(*kernel, options.threads);
                      });
}

std::vector<Values> Outputs(const LocalNode& node, const std::vector<Values>& inputs, const RunOptions& options) {
  absl::StatusOr<std::vector<Values>> result = RunKernel(node, inputs, options);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return std::vector<Values>(node.outputs.size());
  return *std::move(result);
}

double Distance(const Values& a, const Values& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, largest = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return std::numeric_limits<double>::infinity();
    if (std::isnan(a[i]) || a[i] == b[i]) continue;
    difference = std::max(difference, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return difference / largest;
}

Values RandomValues(int64_t elements, uint64_t seed) {
  Values values(elements);
  for (int64_t i = 0; i < elements; ++i) values[i] = static_cast<float>(Normal(seed, 0, static_cast<uint64_t>(i)));
  return values;
}

namespace {

// Whether it takes an output in its place and is a state: the direction of an update replaces the gradient, which is
// none.
bool IsUpdatedState(const LocalNode& node, int input) {
  return std::ranges::count(node.op->in_place, input, &std::pair<int, int>::first) > 0 &&
         node.op->inputs[static_cast<size_t>(input)].name != "g";
}

}  // namespace

std::vector<Values> NotApplied(const LocalNode& node, std::vector<Values> inputs) {
  const std::vector<InputDefinition>& declared = node.op->inputs;
  const auto gate = std::ranges::find(declared, true, &InputDefinition::gate) - declared.begin();
  const size_t stride = node.inputs.size() / static_cast<size_t>(node.members);
  const bool has_gate = static_cast<size_t>(gate) < std::min(declared.size(), stride);
  if (!has_gate || !node.inputs[gate].has_value()) return {};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto own = static_cast<int>(i % stride);
    if (own == gate) {
      inputs[i] = {0};
    } else if (!IsUpdatedState(node, own) && node.inputs[i].has_value() && IsFloating(node.inputs[i]->dtype)) {
      std::ranges::fill(inputs[i], std::numeric_limits<double>::quiet_NaN());
    }
  }
  return inputs;
}

void ExpectKept(const LocalNode& node, const std::vector<Values>& inputs, const std::vector<Values>& outputs) {
  const auto members = static_cast<size_t>(node.members);
  for (size_t m = 0; m < members; ++m) {
    for (const auto& [from, to] : node.op->in_place) {
      if (!IsUpdatedState(node, from)) continue;
      Values expected = inputs[m * node.inputs.size() / members + static_cast<size_t>(from)];
      for (double& value : expected) value = static_cast<float>(value);
      EXPECT_EQ(outputs[m * node.outputs.size() / members + static_cast<size_t>(to)], expected)
          << node.op->name << " member " << m << " output " << to;
    }
  }
}

}  // namespace partita

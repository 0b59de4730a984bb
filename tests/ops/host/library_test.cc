// The library around the kernels: choice, refusals, errors of data, allocations.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "graph/ir/op_definition.h"
#include "ops/host/host_kernels.h"
#include "runtime/device/host/host_device.h"
#include "tests/ops/host/kernel_case.h"

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

// None is inlined: gcc warns of a free() that it sees without the malloc(), and the other way round.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace partita {
namespace {

using testing::Test;

LocalNode Relu() { return WholeNode("relu", {}, {TensorType{DType::kF32, {3, 4}}}); }

TEST(HostKernels, ChoosesTheFirstThatTakesTheNode) {
  const std::vector<std::string> names = HostKernelNames("relu");
  EXPECT_EQ(HostKernels().Choose(Relu())->kernel, names.front());
  EXPECT_EQ(HostKernels().Choose(InF64(Relu()))->kernel, "reference_relu");
  EXPECT_EQ(MakeHostKernels({.reference_only = true})->Choose(Relu())->kernel, "reference_relu");
}

TEST(HostKernels, ErrorNamesTheNodeAndEveryRefusal) {
  LocalNode node = Relu();
  node.inputs[0]->dtype = node.outputs[0].dtype = DType::kI32;
  const std::string message(HostKernels().Choose(node).status().message());
  EXPECT_NE(message.find("node 'node'"), std::string::npos) << message;
  for (const std::string& kernel : HostKernelNames("relu")) {
    EXPECT_NE(message.find(kernel + ": dtype is i32, allowed"), std::string::npos) << message;
  }
}

TEST(HostKernels, RefusesAnOpWithoutKernelsAndAnUnknownKernel) {
  LocalNode node = WholeNode("input", {{"dtype", std::string("f32")}, {"shape", IntList{2}}}, {});
  EXPECT_EQ(HostKernels().Choose(node).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(HostKernels().Create(Relu(), {"no_such_relu", 0, true}, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(HostKernels, LabelThatIsNoClassIsNamedWithItsSample) {
  for (const bool reference : {false, true}) {
    for (const std::string op : {"softmax_cross_entropy", "accuracy"}) {
      LocalNode node = WholeNode(op, {}, {TensorType{DType::kF32, {4, 3}}, TensorType{DType::kI32, {4}}, std::nullopt});
      Narrow(*node.inputs[0], 0, 2, 4);
      Narrow(*node.inputs[1], 0, 2, 4);
      for (const double label : {3.0, -1.0}) {
        const auto result = RunKernel(node, {Values(6, 0), {0, label}, {}}, {.reference_only = reference});
        ASSERT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
        const std::string message(result.status().message());
        EXPECT_NE(message.find("sample 3 of the batch"), std::string::npos) << message;
        EXPECT_NE(message.find("allowed are 0 to 2"), std::string::npos) << message;
      }
    }
  }
}

// Of sequences with its place, and of a micro-batch with its sample in the whole batch.
TEST(HostKernels, LabelOfAPlaceThatIsNoClassIsNamedWithIt) {
  LocalNode node = WholeNode("softmax_cross_entropy", {},
                             {TensorType{DType::kF32, {4, 2, 3}}, TensorType{DType::kI32, {4, 2}}, std::nullopt});
  node.micro_batch = 2;
  for (const std::string& kernel : HostKernelNames(node.op->name)) {
    const RunOptions options{.family = kernel.substr(0, kernel.find('_'))};
    const auto result = RunKernel(node, {Values(24, 0), {0, 1, 2, 0, 0, 5, 0, 0}, {}}, options);
    const std::string message(result.status().message());
    EXPECT_NE(message.find("sample 10 of the batch has label 5 at place 1, allowed are 0 to 2"), std::string::npos)
        << kernel << ": " << message;
  }
}

// Heap allocations of one replay, after some that make threads and their queues.
int64_t AllocationsOfReplay(const KernelCase& c, const KernelLibrary& library) {
  const absl::StatusOr<KernelChoice> choice = library.Choose(c.node);
  if (!choice.ok()) return 0;               // refuses the node
  std::vector<std::vector<double>> memory;  // as doubles: large and aligned enough for every dtype
  KernelArguments arguments;
  for (size_t i = 0; i < c.node.inputs.size(); ++i) {
    memory.emplace_back(c.inputs[i].size() + 1, 0.0);
    arguments.inputs.push_back(c.node.inputs[i].has_value() ? memory.back().data() : nullptr);
  }
  for (const LocalTensor& output : c.node.outputs) {
    memory.emplace_back(output.elements() + 1, 0.0);
    arguments.outputs.push_back(memory.back().data());
  }
  memory.emplace_back(choice->workspace_bytes / 8 + 1, 0.0);
  arguments.workspace = memory.back().data();
  const auto kernel = library.Create(c.node, *choice, arguments);
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  HostDevice device(HostDeviceOptions{.threads = 2});
  const std::unique_ptr<Stream> stream = *device.CreateStream("test");
  Stream* const streams[] = {stream.get()};
  EXPECT_TRUE(device.BeginCapture(streams).ok());
  EXPECT_TRUE((*kernel)->Launch(*stream).ok());
  const std::unique_ptr<CapturedStep> step = *device.EndCapture();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(step->Launch().ok() && step->Wait().ok());
  const int64_t before = allocations;
  EXPECT_TRUE(step->Launch().ok() && step->Wait().ok());
  return allocations - before;
}

// oneDNN makes allocations of its own; all other kernels none.
TEST(HostKernels, ReplayAllocatesNothing) {
  for (const std::string family : {"winograd", "grouped", "im2col", "blocked", "fast", "reference"}) {
    const std::unique_ptr<KernelLibrary> library = MakeHostKernels({.family = family});
    for (const KernelCase& c : AllCases()) EXPECT_EQ(AllocationsOfReplay(c, *library), 0) << family << " " << c.name;
  }
}

}  // namespace
}  // namespace partita

// The library of GPU kernels without a GPU: choices, refusals, and launches on a CudaStream over a fake CUDA.
#include "ops/cuda/cuda_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/ir/op_definition.h"
#include "ops/cuda/cuda_libraries.h"
#include "ops/cuda/launch/loss.h"
#include "runtime/device/cuda/cuda_device.h"
#include "tests/ops/host/kernel_case.h"
#include "tests/runtime/device/cuda/fake_cuda.h"

// cuBLASLt forgets what it has allocated when it finds no driver.
extern "C" const char* __lsan_default_suppressions() { return "leak:cublasLtCreate\n"; }

namespace partita {
namespace {

LocalNode Relu(DType dtype) {
  LocalNode node = WholeNode("relu", {}, {TensorType{DType::kF32, {2, 3}}});
  node.name = "activation";
  node.inputs[0]->dtype = node.outputs[0].dtype = dtype;
  return node;
}

LocalNode Reshape() {
  LocalNode node = WholeNode("reshape", {{"shape", IntList{6}}}, {TensorType{DType::kF32, {2, 3}}});
  node.name = "flat";
  return node;
}

LocalNode Product() {
  LocalNode node = WholeNode("matmul", {}, {TensorType{DType::kF32, {2, 3}}, TensorType{DType::kF32, {3, 4}}});
  node.name = "dense";
  return node;
}

TEST(CudaKernels, NamesAreInOrderOfPreference) {
  EXPECT_EQ(CudaKernelNames("conv2d"), (std::vector<std::string>{"cudnn_conv2d", "reference_conv2d"}));
  EXPECT_EQ(CudaKernelNames("matmul"), (std::vector<std::string>{"cublaslt_matmul", "reference_matmul"}));
  EXPECT_EQ(CudaKernelNames("relu"), std::vector<std::string>{"own_relu"});
  EXPECT_TRUE(CudaKernelNames("input").empty());
}

TEST(CudaKernels, TheReferenceTakesWhatALibraryRefuses) {
  const auto kernels = MakeCudaKernels({});
  const auto choice = kernels->Choose(Product());
  ASSERT_TRUE(choice.ok()) << choice.status();
  EXPECT_EQ(choice->kernel, "reference_matmul");
  EXPECT_TRUE(choice->deterministic);
}

// Products of few rows are short: an LSTM's launches multiply by themselves. Others, and TF32, are a library's, as are
// rows that are no vectors.
TEST(CudaKernels, AnLstmOfFewRowsNeedsNoLibrary) {
  class InTf32 : public NoForeignKernels {
   public:
    InTf32() : NoForeignKernels("not here") {}
    bool allows_tf32() const override { return true; }
  };
  const auto chosen = [](int64_t samples, int64_t units, DType dtype, CudaKernelOptions options = {}) {
    const TensorType g{dtype, {samples, 3, 4 * units}}, w{dtype, {units, 4 * units}};
    const LocalNode node = WholeNode("lstm_steps", {}, {g, w, std::nullopt, std::nullopt, std::nullopt, std::nullopt});
    const auto choice = MakeCudaKernels(std::move(options))->Choose(node);
    EXPECT_TRUE(choice.ok()) << choice.status();
    return choice.value_or(KernelChoice{});
  };
  EXPECT_EQ(chosen(128, 4, DType::kF32).kernel, "own_lstm_steps");
  EXPECT_EQ(chosen(129, 4, DType::kF32).kernel, "reference_lstm_steps");
  EXPECT_EQ(chosen(129, 4, DType::kF32).remark,
            "own_lstm_steps: the block has 129 samples; a library multiplies more than 128 faster; "
            "cublaslt_lstm_steps: libraries are not used");
  EXPECT_EQ(chosen(1, 5, DType::kF32).kernel, "reference_lstm_steps");
  EXPECT_EQ(chosen(1, 4, DType::kBF16).kernel, "reference_lstm_steps");
  const auto foreign = std::make_shared<InTf32>();
  EXPECT_EQ(chosen(1, 8, DType::kF32, {.foreign = foreign}).kernel, "reference_lstm_steps");
  EXPECT_EQ(chosen(1, 8, DType::kBF16, {.foreign = foreign}).kernel, "own_lstm_steps");
}

TEST(CudaKernels, ARefusalNamesNodeAndReasons) {
  EXPECT_EQ(MakeCudaKernels({})->Choose(Relu(DType::kI32)).status().message(),
            "node 'activation': no CUDA kernel computes relu; own_relu: dtype is i32, allowed are f32, f64 and bf16");
  EXPECT_EQ(MakeCudaKernels({.family = "cublaslt"})->Choose(Product()).status().message(),
            "node 'dense': no CUDA kernel computes matmul; cublaslt_matmul: libraries are not used");
  EXPECT_EQ(MakeCudaKernels({.family = "cudnn"})->Choose(Product()).status().message(),
            "node 'dense': no CUDA kernel computes matmul; the op has no kernels");
  EXPECT_EQ(MakeCudaKernels({})->Create(Product(), {"onednn_matmul", 0, true}, {}).status().message(),
            "node 'dense': CUDA has no kernel 'onednn_matmul' for matmul");
}

// A device, a stream and memory over the fake; then the node is launched once. `calls`: those before all is given back.
absl::Status LaunchOnce(const FakeCuda& fake, const LocalNode& node, std::vector<float>* result,
                        size_t* calls = nullptr) {
  ASSIGN_OR_RETURN(const auto device, CudaDevice::Create({.api = &fake.api()}));
  ASSIGN_OR_RETURN(const auto stream, device->CreateStream("test"));
  ASSIGN_OR_RETURN(const auto arena, device->Allocate(512));
  const std::vector<float> x = {1, -2, 3, -4, 5, -6};
  char* const data = static_cast<char*>(arena->data());
  RETURN_IF_ERROR(stream->Copy(data, x.data(), 24));
  const auto kernels = MakeCudaKernels({});
  ASSIGN_OR_RETURN(const KernelChoice choice, kernels->Choose(node));
  ASSIGN_OR_RETURN(const auto kernel, kernels->Create(node, choice, {{data}, {data + 256}, nullptr, 0}));
  RETURN_IF_ERROR(kernel->Launch(*stream));
  result->resize(6);
  RETURN_IF_ERROR(stream->Copy(result->data(), data + 256, 24));
  RETURN_IF_ERROR(stream->Synchronize());
  if (calls != nullptr) *calls = fake.calls.size();
  return absl::OkStatus();
}

TEST(CudaKernels, ALaunchGoesToTheStream) {
  FakeCuda fake;
  std::vector<float> result;
  ASSERT_TRUE(LaunchOnce(fake, Reshape(), &result).ok());
  EXPECT_EQ(result, (std::vector<float>{1, -2, 3, -4, 5, -6}));
  // The fake knows no __global__ function of ours: it gets the launch, and refuses it.
  const absl::Status refused = LaunchOnce(fake, Relu(DType::kF32), &result);
  EXPECT_FALSE(refused.ok());
  EXPECT_EQ(refused.message().rfind("node 'activation': ", 0), 0u) << refused;
  EXPECT_EQ(std::count(fake.calls.begin(), fake.calls.end(), "cudaLaunchKernel"), 1);
}

// Addresses as an arena gives them, which is nowhere.
KernelArguments Nowhere(const LocalNode& node) {
  KernelArguments arguments;
  uintptr_t place = uintptr_t{1} << 40;
  const auto next = [&place](const LocalTensor* tensor) {
    place += 1 << 20;
    return tensor == nullptr || tensor->elements() == 0 ? nullptr : reinterpret_cast<void*>(place);
  };
  for (const auto& input : node.inputs) arguments.inputs.push_back(next(input ? &*input : nullptr));
  for (const LocalTensor& output : node.outputs) arguments.outputs.push_back(next(&output));
  arguments.workspace = next(&node.outputs[0]);
  return arguments;
}

KernelDetails DetailsOf(const LocalNode& node, const KernelArguments& arguments, CudaKernelOptions options = {}) {
  const auto kernels = MakeCudaKernels(std::move(options));
  const auto choice = kernels->Choose(node);
  EXPECT_TRUE(choice.ok()) << choice.status();
  const auto details = kernels->Describe(node, choice.value_or(KernelChoice{}), arguments);
  EXPECT_TRUE(details.ok()) << details.status();
  return details.value_or(KernelDetails{});
}

// Counted by enqueuing, without a device.
TEST(CudaKernels, TellTheirLaunches) {
  EXPECT_EQ(DetailsOf(Relu(DType::kF32), Nowhere(Relu(DType::kF32))).launches, 1);
  const LocalNode accuracy =
      WholeNode("accuracy", {}, {TensorType{DType::kF32, {8, 50}}, TensorType{DType::kI32, {8}}, std::nullopt});
  EXPECT_EQ(DetailsOf(accuracy, Nowhere(accuracy)).launches, 2);  // rows, then their sum
  KernelArguments in_place = Nowhere(Reshape());
  EXPECT_EQ(DetailsOf(Reshape(), in_place).launches, 1);
  in_place.outputs[0] = const_cast<void*>(in_place.inputs[0]);
  EXPECT_EQ(DetailsOf(Reshape(), in_place).launches, 0);
}

TEST(CudaKernels, EveryKernelOfOursCanBeCounted) {
  for (const KernelCase& c : AllCases()) {
    if (!MakeCudaKernels({})->Choose(c.node).ok()) continue;
    const bool walks = c.node.op->name.rfind("lstm", 0) == 0;  // place by place
    const int64_t most = 16 + (walks ? 4 * c.node.inputs[0]->shape()[1] : 0);
    EXPECT_LE(DetailsOf(c.node, Nowhere(c.node)).launches, most) << c.name;
  }
}

// A capture loads nothing, so all that a kernel launches is loaded when it is created.
TEST(CudaKernels, EveryKernelCanBeCaptured) {
  FakeCuda fake;
  fake.lazy = true;
  const auto device = CudaDevice::Create({.api = &fake.api()});
  ASSERT_TRUE(device.ok()) << device.status();
  const auto stream = (*device)->CreateStream("test");
  const auto kernels = MakeCudaKernels({.load = [&](const void* function) {
    fake.Register(function, [](dim3, dim3, void**) { return [] {}; });  // others cannot be launched
    return (*device)->context().Load(function);
  }});
  int captured = 0;
  for (const KernelCase& c : AllCases()) {
    const auto choice = kernels->Choose(c.node);
    if (!choice.ok()) continue;
    const auto kernel = kernels->Create(c.node, *choice, Nowhere(c.node));
    ASSERT_TRUE(kernel.ok()) << c.name << ": " << kernel.status();
    Stream* const streams[] = {stream->get()};
    ASSERT_TRUE((*device)->BeginCapture(streams).ok());
    EXPECT_TRUE((*kernel)->Launch(**stream).ok()) << c.name;
    EXPECT_TRUE((*device)->EndCapture().ok()) << c.name;
    ++captured;
  }
  EXPECT_GE(captured, 300);
  const auto without = MakeCudaKernels({.load = [](const void*) { return Unavailable("it has no code"); }});
  EXPECT_EQ(
      without->Create(Relu(DType::kF32), *without->Choose(Relu(DType::kF32)), Nowhere(Relu(DType::kF32))).status(),
      Unavailable("it has no code"));
}

TEST(CudaKernels, TellTheLeastTimeIfTheLimitsAreKnown) {
  EXPECT_FALSE(DetailsOf(Product(), Nowhere(Product())).roofline.has_value());
  const auto known = DetailsOf(Product(), Nowhere(Product()), {.peaks = GpuPeaks{.f32 = 48, .memory_bytes = 26}});
  ASSERT_TRUE(known.roofline.has_value());
  EXPECT_EQ(known.roofline->seconds(), 4);  // 104 bytes
  EXPECT_FALSE(known.roofline->compute_bound());
}

// What a kernel leaves for the host is told in the host's words.
TEST(CudaKernels, AWordIsExplainedByItsKernel) {
  const auto kernels = MakeCudaKernels({});
  const auto fault = [&](const LocalNode& node, uint64_t word) {
    const auto kernel = kernels->Create(node, *kernels->Choose(node), {{nullptr, nullptr}, {nullptr}, nullptr, 0});
    return (*kernel)->Fault(word);
  };
  LocalNode accuracy =
      WholeNode("accuracy", {}, {TensorType{DType::kF32, {8, 5}}, TensorType{DType::kI32, {8}}, std::nullopt});
  Narrow(*accuracy.inputs[0], 0, 4, 8);
  Narrow(*accuracy.inputs[1], 0, 4, 8);
  EXPECT_EQ(fault(accuracy, launch::LabelFault{3, -2}.Word()),
            absl::InvalidArgumentError("sample 7 of the batch has label -2, allowed are 0 to 4"));
  LocalNode loss = WholeNode("softmax_cross_entropy", {},
                             {TensorType{DType::kF32, {8, 3, 5}}, TensorType{DType::kI32, {8, 3}}, std::nullopt});
  loss.micro_batch = 1;
  EXPECT_EQ(fault(loss, launch::LabelFault{7, 9}.Word()),
            absl::InvalidArgumentError("sample 10 of the batch has label 9 at place 1, allowed are 0 to 4"));
  LocalNode embedding = WholeNode("embedding", {}, {TensorType{DType::kF32, {9, 5}}, TensorType{DType::kI32, {8, 3}}});
  Narrow(*embedding.inputs[1], 0, 4, 8);
  EXPECT_EQ(fault(embedding, launch::LabelFault{7, 9}.Word()),
            absl::InvalidArgumentError("sample 6 of the batch has id 9 at place 1, allowed are 0 to 8"));
  EXPECT_EQ(fault(Relu(DType::kF32), 1), absl::InternalError("a kernel reports fault 1"));
}

// Whatever call of CUDA fails: an error, nothing lost, no crash.
TEST(CudaKernels, EveryCallMayFail) {
  size_t calls = 0;
  std::vector<float> result;
  {
    FakeCuda fake;
    ASSERT_TRUE(LaunchOnce(fake, Reshape(), &result, &calls).ok());
  }
  ASSERT_GT(calls, 5u);
  for (size_t n = 1; n <= calls; ++n) {
    FakeCuda fake;
    fake.FailAt(static_cast<int64_t>(n), cudaErrorLaunchFailure);
    const absl::Status status = LaunchOnce(fake, Reshape(), &result);
    EXPECT_FALSE(status.ok()) << n << " " << fake.calls[n - 1];
    EXPECT_EQ(fake.live(), 0) << n;
  }
}

// Where a library is missing or does not work with the device, its kernels say why and the reference is taken.
TEST(CudaKernels, LibrariesThatCannotBeUsedSayWhy) {
  FakeCuda fake;
  const auto device = CudaDevice::Create({.api = &fake.api()});
  ASSERT_TRUE(device.ok()) << device.status();
  PlanCache plans;
  const auto foreign = OpenCudaLibraries(**device, {}, &plans);
  const auto refused = MakeCudaKernels({.family = "cublaslt", .foreign = foreign})->Choose(Product());
  if (refused.ok()) GTEST_SKIP() << "there is a GPU";
  EXPECT_NE(refused.status().message().find("cublas"), std::string::npos) << refused.status();
  const auto choice = MakeCudaKernels({.foreign = foreign})->Choose(Product());
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->kernel, "reference_matmul");
}

}  // namespace
}  // namespace partita

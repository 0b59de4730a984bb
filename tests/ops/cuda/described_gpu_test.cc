// What the libraries say of a GPU that is not here: their own answers where they are installed, else why not.
#include "ops/cuda/described_gpu.h"

#include <gmock/gmock.h>

#include "graph/ir/op_definition.h"
#include "ops/cuda/cublaslt/cublaslt_api.h"
#include "ops/cuda/cuda_kernels.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A convolution as large networks have them.
LocalNode Convolution(DType dtype) {
  LocalNode node = WholeNode("conv2d", {{"stride", IntList{1, 1}}, {"padding", IntList{1, 1, 1, 1}}},
                             {TensorType{DType::kF32, {64, 56, 56, 128}}, TensorType{DType::kF32, {128, 3, 3, 128}}});
  for (auto& input : node.inputs) input->dtype = dtype;
  node.outputs[0].dtype = dtype;
  return node;
}

KernelChoice Chosen(const LocalNode& node, const CudaLibraryOptions& options = {}) {
  PlanCache plans;
  const auto choice = MakeCudaKernels({.foreign = DescribeCudaLibraries(H200(), options, &plans)})->Choose(node);
  EXPECT_TRUE(choice.ok()) << choice.status();
  return choice.value_or(KernelChoice{});
}

TEST(DescribedGpu, OfOneGpuThereIsOneMemory) {
  EXPECT_THAT(H200().cudnn, HasSubstr(fmt::format("\"totalGlobalMem\":{},", H200().memory_bytes)));
}

TEST(DescribedGpu, ConvolutionsAreThoseOfCudnn) {
  const bool installed = LoadCudnn().ok();
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const bool tf32 : {false, true}) {
      const KernelChoice choice = Chosen(Convolution(dtype), {.allow_tf32 = tf32});
      EXPECT_EQ(choice.kernel, installed ? "cudnn_conv2d" : "reference_conv2d") << choice.remark;
      EXPECT_TRUE(choice.deterministic);
      if (installed) {
        EXPECT_THAT(choice.remark, IsEmpty());
      } else {
        EXPECT_THAT(choice.remark, HasSubstr("cudnn_conv2d: cuDNN is missing"));
      }
    }
  }
}

// The engine that was chosen and its notes: in bf16 it is on tensor cores, in f32 without TF32 it is not.
TEST(DescribedGpu, ConvolutionsNameTheirEngines) {
  if (!LoadCudnn().ok()) GTEST_SKIP() << LoadCudnn().status().message();
  PlanCache plans;
  const auto kernels = MakeCudaKernels({.foreign = DescribeCudaLibraries(H200(), {}, &plans)});
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const LocalNode node = Convolution(dtype);
    const auto choice = kernels->Choose(node);
    ASSERT_TRUE(choice.ok()) << choice.status();
    const auto details = kernels->Describe(node, *choice, {});
    ASSERT_TRUE(details.ok()) << details.status();
    EXPECT_EQ(details->launches, 1);
    EXPECT_THAT(details->engine, ::testing::MatchesRegex("engine [0-9]+(: .*)?"));
    EXPECT_EQ(details->engine.find("TENSOR_CORE") != std::string::npos, dtype == DType::kBF16) << details->engine;
  }
}

// Of every direction and epilogue, with kernels of ours where the library refuses.
TEST(DescribedGpu, EveryConvolutionHasAKernel) {
  int of_cudnn = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name.rfind("conv2d", 0) != 0 || c.node.outputs[0].dtype != DType::kF32) continue;
    const KernelChoice choice = Chosen(c.node);
    const bool foreign = choice.kernel == "cudnn_" + c.node.op->name;
    EXPECT_EQ(choice.remark.empty(), foreign) << c.name << ": " << choice.remark;
    of_cudnn += foreign ? 1 : 0;
  }
  EXPECT_EQ(of_cudnn > 0, LoadCudnn().ok());
}

TEST(DescribedGpu, TheWorkspaceOfAProductIsAnEstimate) {
  LocalNode node = WholeNode("matmul", {}, {TensorType{DType::kF32, {2, 3}}, TensorType{DType::kF32, {3, 4}}});
  const KernelChoice choice = Chosen(node);
  if (!LoadCublasLt().ok()) {
    EXPECT_EQ(choice.kernel, "reference_matmul");
    EXPECT_THAT(choice.remark, HasSubstr("cublaslt_matmul: cuBLASLt is missing"));
    return;
  }
  EXPECT_EQ(choice.kernel, "cublaslt_matmul");
  EXPECT_EQ(choice.remark, "workspace estimated");
  EXPECT_EQ(choice.workspace_bytes, (int64_t{32} << 20) + 192);
  PlanCache plans;
  const auto kernels = MakeCudaKernels({.foreign = DescribeCudaLibraries(H200(), {}, &plans)});
  EXPECT_EQ(kernels->Create(node, choice, {}).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace partita

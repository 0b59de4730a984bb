// Matrix products through a fake cuBLASLt, which computes what the descriptors say.
#include <gtest/gtest.h>

#include "graph/op_definition.h"
#include "ops/cuda/cublaslt_matmul.h"
#include "tests/ops/cuda/fake_cublaslt.h"
#include "tests/ops/cuda/host_queue.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

absl::StatusOr<std::vector<Values>> Computed(const CublasLtApi& api, const LocalNode& node,
                                             const std::vector<Values>& inputs, const RunOptions& options = {},
                                             bool tf32 = false, bool refuse = false) {
  ASSIGN_OR_RETURN(const std::shared_ptr<CublasLtMatMuls> products, CublasLtMatMuls::Create(api, tf32));
  ASSIGN_OR_RETURN(const PreparedCudaKernel prepared, products->Prepare(node));
  return RunOnBuffers(node, inputs, options, prepared.workspace_bytes, "cublaslt",
                      [&](const KernelArguments& arguments) -> absl::Status {
                        ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared.bind(arguments));
                        HostQueue queue;
                        queue.refuse = refuse;
                        return enqueue(&queue);
                      });
}

LocalNode Product(int64_t m, int64_t n, int64_t k) {
  return WholeNode("matmul", {}, {TensorType{DType::kF32, {m, k}}, TensorType{DType::kF32, {k, n}}});
}

// Row-major operands, each as it lies or transposed, as the column-major library reads them.
TEST(CublasLtMatMul, EveryTransposeEqualsTheHost) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "matmul") continue;
    for (const LocalNode& node : {c.node, InF64(c.node)}) {
      FakeCublasLt fake;
      const auto found = Computed(fake.api(), node, c.inputs);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_LE(Distance((*found)[0], Outputs(InF64(c.node), c.inputs, {.reference_only = true})[0]), 2e-6) << c.name;
      EXPECT_EQ(fake.live, 0);
      ++tried;
    }
  }
  EXPECT_GE(tried, 32);
}

TEST(CublasLtMatMul, TheAlgorithmSuitsTheAddresses) {
  const LocalNode node = Product(5, 6, 7);
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(42, 2)};
  FakeCublasLt fake;
  ASSERT_TRUE(Computed(fake.api(), node, inputs).ok());
  ASSERT_TRUE(Computed(fake.api(), node, inputs, {.misalignment = 4}).ok());
  EXPECT_EQ(fake.algorithms_run, (std::vector<uint64_t>{16, 4}));
  EXPECT_EQ(fake.alignments, (std::vector<uint32_t>{16, 4, 16, 4}));
}

TEST(CublasLtMatMul, TF32IsUsedOnlyWhereItIsAllowed) {
  const LocalNode node = Product(2, 3, 4);
  const std::vector<Values> inputs = {RandomValues(8, 1), RandomValues(12, 2)};
  FakeCublasLt fake;
  ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, false).ok());
  ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, true).ok());
  ASSERT_TRUE(Computed(fake.api(), InF64(node), inputs, {}, true).ok());
  EXPECT_EQ(fake.compute_types,
            (std::vector<cublasComputeType_t>{CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F}));
}

// Equal products are planned once, so that they get the same algorithm.
TEST(CublasLtMatMul, APlanIsKept) {
  FakeCublasLt fake;
  const auto products = CublasLtMatMuls::Create(fake.api(), false);
  ASSERT_TRUE(products.ok());
  ASSERT_TRUE((*products)->Prepare(Product(2, 3, 4)).ok());
  const int calls = fake.calls;
  const auto again = (*products)->Prepare(Product(2, 3, 4));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(fake.calls, calls);
  EXPECT_EQ(again->workspace_bytes, 1024);
  EXPECT_TRUE(again->deterministic);
}

TEST(CublasLtMatMul, RefusesWhatItCannotDo) {
  FakeCublasLt fake;
  const auto products = CublasLtMatMuls::Create(fake.api(), false);
  ASSERT_TRUE(products.ok());
  LocalNode empty = Product(2, 3, 4);
  Narrow(*empty.inputs[0], 1, 2, 2);
  Narrow(*empty.inputs[1], 0, 2, 2);
  EXPECT_EQ((*products)->Prepare(empty).status().message(), "the inner dimension is empty");
  fake.algorithms = 1;  // the one that is not to be had
  EXPECT_EQ((*products)->Prepare(Product(2, 3, 4)).status().message(),
            "cuBLASLt has no algorithm for a product of 2 x 3 x 4");
  EXPECT_EQ(Computed(fake.api(), Product(2, 3, 5), {Values(10), Values(15)}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CublasLtMatMul, EveryCallMayFail) {
  const LocalNode node = Product(2, 3, 4);
  const std::vector<Values> inputs = {RandomValues(8, 1), RandomValues(12, 2)};
  int calls = 0;
  {
    FakeCublasLt fake;
    ASSERT_TRUE(Computed(fake.api(), node, inputs).ok());
    calls = fake.calls;
  }
  ASSERT_GT(calls, 15);
  for (int n = 1; n <= calls; ++n) {
    FakeCublasLt fake;
    fake.fail_at = n;
    const auto result = Computed(fake.api(), node, inputs);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal) << n;
    EXPECT_NE(result.status().message().find("answers a fake's error"), std::string::npos) << result.status();
    EXPECT_EQ(fake.live, 0) << n;
  }
  FakeCublasLt fake;
  EXPECT_FALSE(Computed(fake.api(), node, inputs, {}, false, true).ok());
  fake.fail_at = fake.calls + 1;
  fake.error = CUBLAS_STATUS_NOT_INITIALIZED;
  EXPECT_EQ(Computed(fake.api(), node, inputs).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace partita

// The steps of an LSTM on the products of a fake cuBLASLt.
#include <gtest/gtest.h>

#include "graph/ir/op_definition.h"
#include "ops/cuda/cublaslt/cublaslt_matmul.h"
#include "runtime/base/status.h"
#include "tests/ops/cuda/cublaslt/fake_cublaslt.h"
#include "tests/ops/cuda/kernel/host_queue.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

bool IsLstm(const KernelCase& c) { return c.node.op->name.rfind("lstm", 0) == 0; }

absl::StatusOr<std::vector<Values>> Computed(const CublasLtApi& api, const LocalNode& node,
                                             const std::vector<Values>& inputs) {
  PlanCache cache;
  ASSIGN_OR_RETURN(const std::shared_ptr<CublasLtMatMuls> products, CublasLtMatMuls::Create(api, {}, &cache));
  ASSIGN_OR_RETURN(const PreparedCudaKernel prepared, products->PrepareLstm(node));
  const auto run = [&](const KernelArguments& arguments) -> absl::Status {
    ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared.bind(arguments));
    HostQueue queue;
    queue.launches_allowed = prepared.library_launches;
    return enqueue(&queue);
  };
  return RunOnBuffers(node, inputs, {}, prepared.workspace_bytes, "cublaslt", run);
}

TEST(CublasLtLstm, EqualsTheHost) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (!IsLstm(c)) continue;
    for (const LocalNode& node : {c.node, InF64(c.node), InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const std::vector<Values> expected = Outputs(InF64(c.node), inputs, {.reference_only = true});
      FakeCublasLt fake;
      const auto found = Computed(fake.api(), node, inputs);
      ASSERT_TRUE(found.ok()) << c.name << ": " << found.status();
      for (size_t o = 0; o < expected.size(); ++o) {
        EXPECT_LE(Distance((*found)[o], expected[o]), 5e-6 + RoundingOnGpu(node, o)) << c.name << " output " << o;
      }
      EXPECT_EQ(fake.live, 0);
      ++tried;
    }
  }
  EXPECT_GE(tried, 48);
}

// One plan serves all places: a product for each, and none for a state that is zero.
TEST(CublasLtLstm, PlansAProductOnce) {
  const TensorType g{DType::kF32, {2, 5, 12}}, w{DType::kF32, {3, 12}};
  const LocalNode node = WholeNode("lstm_steps", {}, {g, w, std::nullopt, std::nullopt, std::nullopt, std::nullopt});
  FakeCublasLt fake;
  ASSERT_TRUE(Computed(fake.api(), node, SuitableInputs(node, 1)).ok());
  EXPECT_EQ(fake.searches, 2);  // at aligned addresses, and at any
  EXPECT_EQ(fake.algorithms_run.size(), 4u);
}

// The next kernel is asked, ours.
TEST(CublasLtLstm, NeedsAlgorithmsForAnyAddress) {
  const TensorType g{DType::kF32, {2, 5, 12}}, w{DType::kF32, {3, 12}};
  FakeCublasLt fake;
  fake.unaligned = false;
  PlanCache cache;
  const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
  ASSERT_TRUE(products.ok());
  const LocalNode node = WholeNode("lstm_steps", {}, {g, w, std::nullopt, std::nullopt, std::nullopt, std::nullopt});
  EXPECT_EQ((*products)->PrepareLstm(node).status().code(), absl::StatusCode::kInvalidArgument);
}

// An estimate asks for no less than the kernel.
TEST(CublasLtLstm, IsEstimatedWithoutALibrary) {
  const TensorType g{DType::kF32, {2, 5, 12}}, w{DType::kF32, {2, 12}}, projection{DType::kF32, {3, 2}};
  const LocalNode node = WholeNode("lstm_steps", {}, {g, w, projection, std::nullopt, std::nullopt, std::nullopt});
  FakeCublasLt fake;
  PlanCache cache;
  const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
  ASSERT_TRUE(products.ok());
  const auto estimated = EstimateLstm(node), prepared = (*products)->PrepareLstm(node);
  ASSERT_TRUE(estimated.ok() && prepared.ok());
  EXPECT_GE(estimated->workspace_bytes, prepared->workspace_bytes);
  EXPECT_TRUE(estimated->workspace_estimated);
}

}  // namespace
}  // namespace partita

// Batches of products through a fake cuBLASLt, and what the fake refuses of batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <tuple>

#include "graph/ir/op_definition.h"
#include "tests/ops/cuda/cublaslt/computed.h"
#include "tests/ops/cuda/cublaslt/fake_cublaslt.h"
#include "tests/ops/cuda/cublaslt/matmul_rules.h"
#include "tests/ops/cuda/kernel/times_of_each.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

using fake_cublaslt::Problem;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kInvalid = CUBLAS_STATUS_INVALID_VALUE;
constexpr auto kNot = CUBLAS_STATUS_NOT_SUPPORTED;

LocalNode ThreeProducts() {
  return WholeNode("batch_matmul", {}, {TensorType{DType::kF32, {3, 5, 7}}, TensorType{DType::kF32, {3, 7, 6}}});
}

// One call computes all products, each operand as it lies or transposed.
TEST(CublasLtBatch, EveryTransposeEqualsTheHost) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "batch_matmul") continue;
    const Shape& z = c.node.outputs[0].global;
    const auto products = static_cast<int32_t>(Elements(z) / z[z.size() - 2] / z.back());
    for (const LocalNode& node : {c.node, InF64(c.node), InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const Values expected = Outputs(InF64(c.node), inputs, {.reference_only = true})[0];
      const double rounding = node.outputs[0].dtype == DType::kBF16 ? 0x1p-8 : 0;
      for (const int64_t misalignment : {0, 8}) {
        FakeCublasLt fake;
        const auto found = Computed(fake.api(), node, inputs, {.misalignment = misalignment});
        ASSERT_TRUE(found.ok()) << c.name << ": " << found.status();
        EXPECT_LE(Distance((*found)[0], expected), 2e-6 + rounding) << c.name;
        EXPECT_EQ(std::accumulate(fake.batches_run.begin(), fake.batches_run.end(), 0), products) << c.name;
        EXPECT_EQ(fake.live, 0);
        ++tried;
      }
    }
  }
  EXPECT_EQ(tried, (24 + 10) * 3 * 2);
}

// By a stride of 0; where one matrix serves the heads of each sample alone, by a call for each sample.
TEST(CublasLtBatch, OneMatrixServesSeveralProducts) {
  const auto f32 = [](Shape shape) { return TensorType{DType::kF32, std::move(shape)}; };
  const std::vector<std::tuple<Shape, Shape, std::vector<int32_t>>> all = {
      {{2, 3, 5, 7}, {2, 3, 7, 6}, {6}},    {{2, 3, 5, 7}, {7, 6}, {6}},          {{5, 7}, {2, 3, 7, 6}, {6}},
      {{2, 3, 5, 7}, {2, 1, 7, 6}, {3, 3}}, {{1, 3, 5, 7}, {2, 1, 7, 6}, {3, 3}}, {{3, 5, 7}, {2, 3, 7, 6}, {3, 3}}};
  for (const auto& [x, y, batches] : all) {
    const LocalNode node = WholeNode("batch_matmul", {}, {f32(x), f32(y)});
    FakeCublasLt fake;
    PlanCache cache;
    const std::vector<Values> inputs = SuitableInputs(node, 1);
    ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, {}, &cache).ok());
    EXPECT_EQ(fake.batches_run, batches);
    const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
    ASSERT_TRUE(products.ok());
    EXPECT_EQ((*products)->Prepare(node)->library_launches, static_cast<int>(batches.size()));
    EXPECT_EQ(EstimateMatMul(node)->library_launches, static_cast<int>(batches.size()));
  }
}

// A plan is of a number of products; all of them are timed.
TEST(CublasLtBatch, PlansAreOfANumberOfProducts) {
  FakeCublasLt fake;
  PlanCache cache;
  const TensorType x{DType::kF32, {5, 7}}, w{DType::kF32, {7, 6}};
  const std::vector<Values> three = {RandomValues(105, 1), RandomValues(126, 2)};
  ASSERT_TRUE(Computed(fake.api(), ThreeProducts(), three, {}, {}, &cache).ok());
  ASSERT_TRUE(Computed(fake.api(), ThreeProducts(), three, {}, {}, &cache).ok());
  EXPECT_EQ(fake.searches, 2);  // for aligned operands, and for any
  ASSERT_TRUE(Computed(fake.api(), Product(5, 6, 7), {RandomValues(35, 1), RandomValues(42, 2)}, {}, {}, &cache).ok());
  EXPECT_EQ(fake.searches, 4);
  std::vector<int64_t> bytes;
  const PlanTimer timer = TimesOfEach([&](const PlanToTime& plan) -> absl::StatusOr<double> {
    bytes.push_back(plan.bytes);
    return 1.0;
  });
  fake.algorithms = 3;
  ASSERT_TRUE(Computed(fake.api(), ThreeProducts(), three, {}, {.timer = timer}).ok());
  // x, w and y of three products, each rounded up to 256 bytes, and what an algorithm needs besides.
  EXPECT_THAT(bytes, Each(::testing::Ge(3 * 512 + 512)));
}

TEST(CublasLtBatch, RefusesWhatItCannotDo) {
  FakeCublasLt fake;
  PlanCache cache;
  const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
  ASSERT_TRUE(products.ok());
  LocalNode empty = ThreeProducts();
  Narrow(*empty.inputs[0], 2, 2, 2);
  Narrow(*empty.inputs[1], 1, 2, 2);
  EXPECT_EQ((*products)->Prepare(empty).status().message(), "the inner dimension is empty");
  const int64_t many = int64_t{1} << 31;
  const TensorType one{DType::kF32, {many, 1, 1}};
  EXPECT_EQ((*products)->Prepare(WholeNode("batch_matmul", {}, {one, one})).status().message(),
            "there are 2147483648 products; at most 2147483647 are allowed");
  EXPECT_TRUE(fake.refusals.empty());
}

TEST(CublasLtBatch, AnyCallMayFail) {
  const std::vector<Values> inputs = {RandomValues(105, 1), RandomValues(126, 2)};
  int failed = 0;
  for (int n = 1;; ++n) {
    FakeCublasLt fake;
    fake.fail_at = n;
    const auto found = Computed(fake.api(), ThreeProducts(), inputs);
    EXPECT_EQ(fake.live, 0);
    if (fake.calls < n) break;
    EXPECT_EQ(found.status().code(), absl::StatusCode::kInternal) << n;
    ++failed;
  }
  EXPECT_GE(failed, 6);  // two attributes of each of three matrices
}

// D[3,6,5] = A[3,6,7] B[3,7,5].
Problem Right() {
  return {{CUBLAS_COMPUTE_32F, CUDA_R_32F},
          {CUDA_R_32F, 6, 7, 6, 3, 42},
          {CUDA_R_32F, 7, 5, 7, 3, 35},
          {CUDA_R_32F, 6, 5, 6, 3, 30},
          {CUDA_R_32F, 6, 5, 6, 3, 30}};
}

template <typename F>
void ExpectRefused(const F& change, cublasStatus_t status, const std::string& why) {
  Problem problem = Right();
  change(problem);
  const fake_cublaslt::Verdict verdict = CheckProblem(problem);
  EXPECT_EQ(verdict.status, status) << why;
  EXPECT_THAT(verdict.why, HasSubstr(why));
}

TEST(FakeCublasLtRules, RefuseBatchesThatDoNotFit) {
  EXPECT_TRUE(CheckProblem(Right()).ok());
  ExpectRefused([](Problem& p) { p.a.batch = 0; }, kInvalid, "A has 0 matrices");
  ExpectRefused([](Problem& p) { p.b.batch = -1; }, kInvalid, "B has -1 matrices");
  ExpectRefused([](Problem& p) { p.b.batch = 1; }, kInvalid, "B has 1 matrices, D 3");
  ExpectRefused([](Problem& p) { p.c.batch = 4; }, kInvalid, "C has 4 matrices, D 3");
  ExpectRefused([](Problem& p) { p.a.stride = -42; }, kInvalid, "the matrices of A are -42 elements apart");
  ExpectRefused([](Problem& p) { p.d.stride = 29; }, kInvalid, "the matrices of D are 29 elements apart and take 30");
  ExpectRefused([](Problem& p) { p.operation.epilogue = CUBLASLT_EPILOGUE_RELU; }, kNot, "an epilogue of several");
}

// Bytes from the first to the last matrix, those between two included.
TEST(FakeCublasLtRules, ABatchReachesToItsLastMatrix) {
  Problem problem = Right();
  problem.b.stride = 40;
  float a[126], b[115], d[90];
  const auto memory = MemoryOf(problem, {a, b, d, d, 1, 0});
  using Bytes = std::pair<const void*, int64_t>;
  EXPECT_THAT(memory, ElementsAre(Bytes(a, 126 * 4), Bytes(b, (80 + 35) * 4), Bytes(d, 90 * 4)));
}

// The library itself answers likewise, also without a GPU.
TEST(FakeCublasLtRules, RefuseAttributesOfAnotherSize) {
  FakeCublasLt fake;
  std::vector<CublasLtApi> apis = {fake.api()};
  if (const absl::StatusOr<CublasLtApi> library = LoadCublasLt(); library.ok()) apis.push_back(*library);
  for (const CublasLtApi& api : apis) {
    cublasLtMatrixLayout_t layout = nullptr;
    ASSERT_EQ(api.cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 6, 7, 6), CUBLAS_STATUS_SUCCESS);
    const int64_t value = 3;
    const auto set = [&](int name, const void* from, size_t bytes) {
      return api.cublasLtMatrixLayoutSetAttribute(layout, static_cast<cublasLtMatrixLayoutAttribute_t>(name), from,
                                                  bytes);
    };
    EXPECT_EQ(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &value, 4), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &value, 8), kInvalid);
    EXPECT_EQ(set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &value, 8), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &value, 4), kInvalid);
    EXPECT_EQ(set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, nullptr, 8), kInvalid);
    EXPECT_EQ(set(999, &value, 8), kInvalid);
    api.cublasLtMatrixLayoutDestroy(layout);
  }
}

}  // namespace
}  // namespace partita

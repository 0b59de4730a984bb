// What the fake cuBLASLt refuses, each mistake planted once, and when it computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "tests/ops/cuda/cublaslt/fake_cublaslt.h"

namespace partita {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Layout {
  cudaDataType type = CUDA_R_32F;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
};

alignas(256) float kBias[64], kMask[256];

// D[6,5] = A[6,7] B[7,5], and what a call says about it.
struct GivenProduct {
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale = CUDA_R_32F;
  cublasOperation_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr, *mask = nullptr;
  int32_t bias_type = -1;
  int64_t mask_bits = 0;
  Layout a{.rows = 6, .columns = 7, .leading = 6};
  Layout b{.rows = 7, .columns = 5, .leading = 7};
  Layout c{.rows = 6, .columns = 5, .leading = 6};
  Layout d{.rows = 6, .columns = 5, .leading = 6};
};

class CublasLtCall : public ::testing::Test {
 protected:
  // Of one product.
  struct Descriptors {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr, d = nullptr;
  };

  void SetUp() override {
    ASSERT_EQ(api().cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(api().cublasLtMatmulPreferenceCreate(&preference_), CUBLAS_STATUS_SUCCESS);
    Prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{4096});
    PreferAlignment(16);
    for (int i = 0; i < 42; ++i) a_[i] = static_cast<float>(i % 5);
    for (int i = 0; i < 35; ++i) b_[i] = static_cast<float>(i % 3);
  }
  void TearDown() override {
    for (const Descriptors& made : made_) Destroy(made);
    api().cublasLtMatmulPreferenceDestroy(preference_);
    if (handle_ != nullptr) api().cublasLtDestroy(handle_);
    EXPECT_EQ(fake_.live, 0);
  }

  const CublasLtApi& api() const { return fake_.api(); }

  template <typename T>
  void Prefer(cublasLtMatmulPreferenceAttributes_t name, T value) {
    ASSERT_EQ(api().cublasLtMatmulPreferenceSetAttribute(preference_, name, &value, sizeof(value)),
              CUBLAS_STATUS_SUCCESS);
  }
  void PreferAlignment(uint32_t bytes) {
    for (const auto name : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      Prefer(name, bytes);
    }
  }

  Descriptors Make(const GivenProduct& p) {
    Descriptors made;
    EXPECT_EQ(api().cublasLtMatmulDescCreate(&made.operation, p.compute, p.scale), CUBLAS_STATUS_SUCCESS);
    const auto set = [&](cublasLtMatmulDescAttributes_t name, const auto& value) {
      EXPECT_EQ(api().cublasLtMatmulDescSetAttribute(made.operation, name, &value, sizeof(value)),
                CUBLAS_STATUS_SUCCESS);
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_a);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_b);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p.bias);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, p.bias_type);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.mask);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.mask_bits);
    for (const auto& [from, to] : {std::pair(&p.a, &made.a), {&p.b, &made.b}, {&p.c, &made.c}, {&p.d, &made.d}}) {
      EXPECT_EQ(api().cublasLtMatrixLayoutCreate(to, from->type, from->rows, from->columns, from->leading),
                CUBLAS_STATUS_SUCCESS);
    }
    made_.push_back(made);
    return made;
  }
  void Destroy(const Descriptors& made) {
    api().cublasLtMatmulDescDestroy(made.operation);
    for (cublasLtMatrixLayout_t layout : {made.a, made.b, made.c, made.d}) api().cublasLtMatrixLayoutDestroy(layout);
  }

  cublasStatus_t Ask(const Descriptors& of, cublasLtMatmulAlgo_t* algorithm) {
    std::vector<cublasLtMatmulHeuristicResult_t> results(2);
    int found = 0;
    const cublasStatus_t status = api().cublasLtMatmulAlgoGetHeuristic(handle_, of.operation, of.a, of.b, of.c, of.d,
                                                                       preference_, 2, results.data(), &found);
    if (found == 2) *algorithm = results[1].algo;
    return status;
  }

  // Addresses and the rest of a call.
  struct Call {
    float *a, *b, *d;
    char* workspace;
    size_t bytes = 512;
    cudaStream_t stream = reinterpret_cast<cudaStream_t>(1);
    float alpha = 1, beta = 0;
  };
  Call Right() { return {a_, b_, d_, workspace_}; }
  cublasStatus_t Multiply(const Descriptors& of, const cublasLtMatmulAlgo_t& algorithm, const Call& call) {
    return api().cublasLtMatmul(handle_, of.operation, &call.alpha, call.a, of.a, call.b, of.b, &call.beta, call.d,
                                of.c, call.d, of.d, &algorithm, call.workspace, call.bytes, call.stream);
  }
  // By an algorithm that the heuristics named.
  cublasStatus_t Multiply(const GivenProduct& p, const Call& call) {
    const Descriptors made = Make(p);
    cublasLtMatmulAlgo_t algorithm{};
    EXPECT_EQ(Ask(made, &algorithm), CUBLAS_STATUS_SUCCESS);
    return Multiply(made, algorithm, call);
  }

  // All functions that read the descriptors refuse them for the same reason.
  void ExpectRefused(const GivenProduct& p, cublasStatus_t status, const std::string& why) {
    const Descriptors made = Make(p);
    cublasLtMatmulAlgo_t algorithm{};
    cublasLtMatmulHeuristicResult_t result{};
    EXPECT_EQ(Ask(made, &algorithm), status) << why;
    EXPECT_EQ(Multiply(made, algorithm, Right()), status) << why;
    EXPECT_EQ(
        api().cublasLtMatmulAlgoCheck(handle_, made.operation, made.a, made.b, made.c, made.d, &algorithm, &result),
        status)
        << why;
    ASSERT_THAT(fake_.refusals, SizeIs(3)) << why;
    EXPECT_THAT(fake_.refusals, Each(HasSubstr(why)));
    EXPECT_THAT(CublasLtStatus(api(), status, "a call").message(), HasSubstr(why));
    fake_.refusals.clear();
  }
  void ExpectCallRefused(const GivenProduct& p, const Call& call, const std::string& why,
                         cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE) {
    EXPECT_EQ(Multiply(p, call), status) << why;
    EXPECT_THAT(fake_.refusals, ElementsAre(HasSubstr(why)));
    EXPECT_TRUE(fake_.algorithms_run.empty());
    fake_.refusals.clear();
  }

  FakeCublasLt fake_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  std::vector<Descriptors> made_;
  alignas(256) float a_[64] = {}, b_[64] = {}, d_[64] = {};
  alignas(256) char workspace_[1024] = {};
};

TEST_F(CublasLtCall, TakesWhatIsRight) {
  EXPECT_EQ(Multiply(GivenProduct{}, Right()), CUBLAS_STATUS_SUCCESS);
  GivenProduct wide;
  wide.a.leading = wide.b.leading = 9;  // gaps between columns
  EXPECT_EQ(Multiply(wide, Right()), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(fake_.refusals.empty());
}

TEST_F(CublasLtCall, RefusesLayoutsThatDoNotFit) {
  constexpr auto kInvalid = CUBLAS_STATUS_INVALID_VALUE;
  ExpectRefused({.a = {CUDA_R_32F, 6, 7, 5}}, kInvalid, "the leading dimension of A is 5, less than its 6 rows");
  ExpectRefused({.b = {CUDA_R_32F, 7, 5, 6}}, kInvalid, "the leading dimension of B is 6, less than its 7 rows");
  ExpectRefused({.d = {CUDA_R_32F, 6, 5, 5}}, kInvalid, "the leading dimension of D is 5, less than its 6 rows");
  ExpectRefused({.a = {CUDA_R_32F, 0, 7, 6}}, kInvalid, "A is empty");
  ExpectRefused({.b = {CUDA_R_32F, 8, 5, 8}}, kInvalid, "the inner dimension is 7 in A and 8 in B");
  ExpectRefused({.transpose_a = CUBLAS_OP_T}, kInvalid, "the inner dimension is 6 in A and 7 in B");
  ExpectRefused({.d = {CUDA_R_32F, 5, 6, 6}}, kInvalid, "D is 5 x 6, the product 6 x 5");
  ExpectRefused({.c = {CUDA_R_32F, 6, 6, 6}}, kInvalid, "C is 6 x 6, the product 6 x 5");
}

TEST_F(CublasLtCall, RefusesTypesThatAreNotInTheTable) {
  constexpr auto kNot = CUBLAS_STATUS_NOT_SUPPORTED;
  ExpectRefused({.a = {CUDA_R_16BF, 6, 7, 6}}, kNot, "no row of the table of types");
  ExpectRefused({.scale = CUDA_R_64F}, kNot, "no row of the table of types");
  ExpectRefused({.compute = CUBLAS_COMPUTE_64F, .scale = CUDA_R_64F}, kNot, "no row of the table of types");
  ExpectRefused({.compute = CUBLAS_COMPUTE_32F_FAST_TF32, .a = {CUDA_R_16BF, 6, 7, 6}, .b = {CUDA_R_16BF, 7, 5, 7}},
                kNot, "no row of the table of types");
  ExpectRefused({.c = {CUDA_R_16BF, 6, 5, 6}}, kNot, "C and D are of two types");
}

TEST_F(CublasLtCall, RefusesEpiloguesThatDoNotFit) {
  constexpr auto kInvalid = CUBLAS_STATUS_INVALID_VALUE;
  constexpr auto kNot = CUBLAS_STATUS_NOT_SUPPORTED;
  for (const auto epilogue : {CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_BGRADA,
                              CUBLASLT_EPILOGUE_BGRADB, CUBLASLT_EPILOGUE_RELU_AUX_BIAS}) {
    ExpectRefused({.epilogue = epilogue}, kInvalid, "the bias has no address");
    ExpectRefused({.epilogue = epilogue, .bias = kBias, .bias_type = CUDA_R_16BF}, kNot, "the bias is of type");
  }
  for (const auto epilogue : {CUBLASLT_EPILOGUE_RELU_AUX, CUBLASLT_EPILOGUE_DRELU}) {
    ExpectRefused({.epilogue = epilogue, .mask_bits = 128}, kInvalid, "the mask of a relu has no address");
    ExpectRefused({.epilogue = epilogue, .mask = kMask, .mask_bits = 64}, kInvalid, "64 bits, no multiple of 128");
    ExpectRefused({.epilogue = epilogue, .mask = kMask}, kInvalid, "0 bits, less than D's 6 rows");
  }
  ExpectRefused({.epilogue = CUBLASLT_EPILOGUE_GELU}, kNot, "epilogue 32");
  ExpectRefused({.epilogue = CUBLASLT_EPILOGUE_DRELU,
                 .mask = kMask,
                 .mask_bits = 128,
                 .a = {CUDA_R_32F, 6, 1, 6},
                 .b = {CUDA_R_32F, 1, 5, 1}},
                kNot, "DRELU with an inner dimension of 1");
}

TEST_F(CublasLtCall, RefusesWorkspacesThatDoNotDo) {
  Call call = Right();
  call.bytes = 511;
  ExpectCallRefused({}, call, "the workspace has 511 bytes, the algorithm needs 512");
  call = Right();
  call.workspace = nullptr;
  ExpectCallRefused({}, call, "the workspace has no address");
  call = Right();
  call.workspace += 64;
  ExpectCallRefused({}, call, "the workspace lies off 256 bytes");
}

TEST_F(CublasLtCall, RefusesAddressesOffWhatWasPromised) {
  for (float* Call::*operand : {&Call::a, &Call::b, &Call::d}) {
    Call call = Right();
    call.*operand += 1;
    ExpectCallRefused({}, call, "lies off the 16 bytes that were promised");
    call.*operand = nullptr;
    ExpectCallRefused({}, call, "has no address");
  }
  PreferAlignment(4);
  Call call = Right();
  call.bytes = 1024;
  call.a += 1;
  EXPECT_EQ(Multiply(GivenProduct{}, call), CUBLAS_STATUS_SUCCESS) << "an algorithm for any address";
}

// The heuristics choose by the addresses of bias and mask, which may be others later but no less aligned.
TEST_F(CublasLtCall, RefusesABiasOrMaskOffWhatTheHeuristicsSaw) {
  const std::pair<GivenProduct, cublasLtMatmulDescAttributes_t> with[] = {
      {{.epilogue = CUBLASLT_EPILOGUE_BIAS, .bias = kBias}, CUBLASLT_MATMUL_DESC_BIAS_POINTER},
      {{.epilogue = CUBLASLT_EPILOGUE_DRELU, .mask = kMask, .mask_bits = 128},
       CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER}};
  for (const auto& [product, name] : with) {
    const Descriptors made = Make(product);
    cublasLtMatmulAlgo_t algorithm{};
    ASSERT_EQ(Ask(made, &algorithm), CUBLAS_STATUS_SUCCESS);
    const float* const begin = name == CUBLASLT_MATMUL_DESC_BIAS_POINTER ? kBias : kMask;
    for (const int moved : {4, 1}) {
      const void* const address = begin + moved;
      api().cublasLtMatmulDescSetAttribute(made.operation, name, &address, sizeof(address));
      EXPECT_EQ(Multiply(made, algorithm, Right()), moved == 1 ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS);
    }
    EXPECT_THAT(fake_.refusals, ElementsAre(HasSubstr("off the 16 bytes that the heuristics saw")));
    fake_.refusals.clear();
  }
}

TEST_F(CublasLtCall, RefusesTheAlgorithmOfAnotherProduct) {
  cublasLtMatmulAlgo_t algorithm{};
  ASSERT_EQ(Ask(Make({.b = {CUDA_R_32F, 7, 5, 9}}), &algorithm), CUBLAS_STATUS_SUCCESS);
  const Descriptors made = Make({});
  cublasLtMatmulHeuristicResult_t result{};
  EXPECT_EQ(Multiply(made, algorithm, Right()), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(api().cublasLtMatmulAlgoCheck(handle_, made.operation, made.a, made.b, made.c, made.d, &algorithm, &result),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_THAT(fake_.refusals, ElementsAre("the algorithm is another product's", "the algorithm is another product's"));
}

TEST_F(CublasLtCall, NamesNoAlgorithmThatNeedsMoreWorkspace) {
  Prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{511});
  const Descriptors made = Make({});
  std::vector<cublasLtMatmulHeuristicResult_t> results(2);
  int found = 7;
  EXPECT_EQ(api().cublasLtMatmulAlgoGetHeuristic(handle_, made.operation, made.a, made.b, made.c, made.d, preference_,
                                                 2, results.data(), &found),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found, 0);
  EXPECT_EQ(api().cublasLtMatmulAlgoGetHeuristic(handle_, made.operation, made.a, made.b, made.c, made.d, preference_,
                                                 0, results.data(), &found),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLtCall, RefusesWhatWasDestroyed) {
  const Descriptors made = Make({});
  cublasLtMatmulAlgo_t algorithm{};
  ASSERT_EQ(Ask(made, &algorithm), CUBLAS_STATUS_SUCCESS);
  made_.clear();
  api().cublasLtMatmulDescDestroy(made.operation);
  EXPECT_EQ(Multiply(made, algorithm, Right()), CUBLAS_STATUS_INVALID_VALUE);
  const Descriptors whole = Make({});
  api().cublasLtMatrixLayoutDestroy(std::exchange(made_[0].b, nullptr));
  EXPECT_EQ(Multiply(whole, algorithm, Right()), CUBLAS_STATUS_INVALID_VALUE);
  api().cublasLtDestroy(handle_);
  EXPECT_EQ(Multiply(whole, algorithm, Right()), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(api().cublasLtDestroy(std::exchange(handle_, nullptr)), CUBLAS_STATUS_INVALID_VALUE);
  for (cublasLtMatrixLayout_t layout : {made.a, made.b, made.c, made.d}) api().cublasLtMatrixLayoutDestroy(layout);
}

// The library itself answers likewise, also without a GPU.
TEST_F(CublasLtCall, RefusesValuesOfAnotherSize) {
  const absl::StatusOr<CublasLtApi> library = LoadCublasLt();
  std::vector<CublasLtApi> apis = {api()};
  if (library.ok()) apis.push_back(*library);
  for (const CublasLtApi& api : apis) {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    EXPECT_EQ(api.cublasLtMatmulDescCreate(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_INVALID_VALUE);
    ASSERT_EQ(api.cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    ASSERT_EQ(api.cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
    const int64_t value = 0;
    const auto set = [&](int name, const void* from, size_t bytes) {
      return api.cublasLtMatmulDescSetAttribute(operation, static_cast<cublasLtMatmulDescAttributes_t>(name), from,
                                                bytes);
    };
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_TRANSA, &value, 4), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_TRANSA, &value, 8), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(set(CUBLASLT_MATMUL_DESC_TRANSA, nullptr, 4), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(set(999, &value, 8), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(api.cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &value, 4),
              CUBLAS_STATUS_INVALID_VALUE);
    api.cublasLtMatmulPreferenceDestroy(preference);
    api.cublasLtMatmulDescDestroy(operation);
  }
}

// Descriptors, scalars and handle are read by the call; operands when the stream comes to it.
TEST_F(CublasLtCall, ItIsComputedWhenTheStreamComesToIt) {
  std::vector<std::pair<cudaStream_t, std::function<void()>>> queue;
  fake_.enqueue = [&](cudaStream_t stream, std::function<void()> run) { queue.emplace_back(stream, run); };
  float expected[30] = {};
  const Descriptors made = Make({});
  cublasLtMatmulAlgo_t algorithm{};
  ASSERT_EQ(Ask(made, &algorithm), CUBLAS_STATUS_SUCCESS);
  auto call = std::make_unique<Call>(Right());
  call->alpha = 2;
  call->beta = 0.5;
  ASSERT_EQ(Multiply(made, algorithm, *call), CUBLAS_STATUS_SUCCESS);
  const cudaStream_t stream = call->stream;
  *call = {};
  call.reset();
  Destroy(made);
  made_.clear();
  api().cublasLtDestroy(std::exchange(handle_, nullptr));
  EXPECT_EQ(d_[0], 0);
  ASSERT_THAT(queue, SizeIs(1));
  EXPECT_EQ(queue[0].first, stream);
  a_[3] = 50;  // what other work of the stream wrote meanwhile
  for (int i = 0; i < 30; ++i) {
    d_[i] = static_cast<float>(i);
    for (int k = 0; k < 7; ++k) expected[i] += 2 * a_[i % 6 + k * 6] * b_[k + i / 6 * 7];
    expected[i] += 0.5f * d_[i];
  }
  queue[0].second();
  for (int i = 0; i < 30; ++i) EXPECT_EQ(d_[i], expected[i]) << i;
  EXPECT_EQ(workspace_[511], '\xFF');
  EXPECT_EQ(workspace_[512], 0);
}

// A GPU faults on memory that it does not reach: nothing is computed.
TEST_F(CublasLtCall, ItTouchesWhatItsDescriptorsSay) {
  std::vector<std::pair<const void*, int64_t>> touched;
  const void* unreached = nullptr;
  fake_.reaches = [&](const void* data, int64_t bytes) {
    touched.emplace_back(data, bytes);
    return data != unreached;
  };
  GivenProduct product{.epilogue = CUBLASLT_EPILOGUE_RELU_AUX_BIAS, .bias = kBias, .mask = kMask, .mask_bits = 128};
  product.a.leading = 9;
  Call call = Right();
  EXPECT_EQ(Multiply(product, call), CUBLAS_STATUS_SUCCESS);
  using Bytes = std::pair<const void*, int64_t>;
  EXPECT_THAT(touched, ElementsAre(Bytes(a_, (6 * 9 + 6) * 4), Bytes(b_, 35 * 4), Bytes(d_, 30 * 4),
                                   Bytes(kBias, 6 * 4), Bytes(kMask, 5 * 16), Bytes(workspace_, 512)));
  EXPECT_NE(d_[1], 0);
  std::fill(std::begin(d_), std::end(d_), 0.0f);
  touched.clear();
  unreached = d_;
  call.beta = 1;
  EXPECT_EQ(Multiply({.epilogue = CUBLASLT_EPILOGUE_BGRADB, .bias = kBias}, call), CUBLAS_STATUS_SUCCESS);
  EXPECT_THAT(touched, ElementsAre(Bytes(a_, 42 * 4), Bytes(b_, 35 * 4), Bytes(d_, 30 * 4)));
  EXPECT_EQ(d_[1], 0);
  unreached = nullptr;
  touched.clear();
  EXPECT_EQ(Multiply({.epilogue = CUBLASLT_EPILOGUE_BGRADB, .bias = kBias}, call), CUBLAS_STATUS_SUCCESS);
  EXPECT_THAT(touched, ElementsAre(Bytes(a_, 42 * 4), Bytes(b_, 35 * 4), Bytes(d_, 30 * 4), Bytes(d_, 30 * 4),
                                   Bytes(kBias, 5 * 4), Bytes(workspace_, 512)));
}

}  // namespace
}  // namespace partita

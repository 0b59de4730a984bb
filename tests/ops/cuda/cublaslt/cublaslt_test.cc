// Matrix products through a fake cuBLASLt, which computes what the descriptors say.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>

#include "graph/ir/op_definition.h"
#include "ops/cuda/cublaslt/cublaslt_matmul.h"
#include "tests/ops/cuda/cublaslt/fake_cublaslt.h"
#include "tests/ops/cuda/kernel/host_queue.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

// `launches`: of kernels of ours that are expected.
absl::StatusOr<std::vector<Values>> Computed(const CublasLtApi& api, const LocalNode& node,
                                             const std::vector<Values>& inputs, const RunOptions& options = {},
                                             const CublasLtOptions& library = {}, PlanCache* cache = nullptr,
                                             bool refuse = false, int launches = 0) {
  PlanCache fresh;
  ASSIGN_OR_RETURN(const std::shared_ptr<CublasLtMatMuls> products,
                   CublasLtMatMuls::Create(api, library, cache == nullptr ? &fresh : cache));
  ASSIGN_OR_RETURN(const PreparedCudaKernel prepared, products->Prepare(node));
  return RunOnBuffers(node, inputs, options, prepared.workspace_bytes, "cublaslt",
                      [&](const KernelArguments& arguments) -> absl::Status {
                        ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared.bind(arguments));
                        HostQueue queue;
                        queue.refuse = refuse;
                        queue.launches_allowed = launches;
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
    for (const LocalNode& node : {c.node, InF64(c.node), InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const double rounding = node.outputs[0].dtype == DType::kBF16 ? 0x1p-8 : 0;
      FakeCublasLt fake;
      const auto found = Computed(fake.api(), node, inputs);
      ASSERT_TRUE(found.ok()) << found.status();
      EXPECT_LE(Distance((*found)[0], Outputs(InF64(c.node), inputs, {.reference_only = true})[0]), 2e-6 + rounding)
          << c.name;
      EXPECT_EQ(fake.live, 0);
      ++tried;
    }
  }
  EXPECT_GE(tried, 48);
}

LocalNode ProductWithEpilogue(DType dtype = DType::kF32) {
  const LocalNode node =
      WholeNode("matmul_epilogue", {{"activation", "relu"}},
                {TensorType{DType::kF32, {5, 7}}, TensorType{DType::kF32, {7, 6}}, TensorType{DType::kF32, {6}}});
  return dtype == DType::kBF16 ? InBf16(node) : node;
}

cublasLtEpilogue_t EpilogueOfNode(const LocalNode& node) {
  const bool relu = node.attributes.String("activation") == "relu";
  if (node.inputs[2].has_value()) return relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
  return relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
}

// The library's bias goes along what it calls rows: our channels. It has y's type: one of f32 before a bf16 y is
// rounded first, and one at an odd address copied, by a launch of ours. Where the library has no algorithm for it, a
// launch does all of the epilogue.
TEST(CublasLtMatMul, EveryEpilogueEqualsTheHost) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "matmul_epilogue") continue;
    const bool bias = c.node.inputs[2].has_value();
    for (const LocalNode& node : {c.node, InF64(c.node), InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const Values expected = Outputs(InF64(c.node), inputs, {.reference_only = true})[0];
      const bool narrow = node.outputs[0].dtype == DType::kBF16;
      for (const int64_t misalignment : {0, 8}) {
        for (const bool known : {true, false}) {
          FakeCublasLt fake;
          fake.epilogues = known;
          const cublasLtEpilogue_t epilogue = EpilogueOfNode(node);
          const bool apart = !known && epilogue != CUBLASLT_EPILOGUE_DEFAULT;
          const int launches = apart || (bias && known && (narrow || misalignment != 0)) ? 1 : 0;
          const auto found =
              Computed(fake.api(), node, inputs, {.misalignment = misalignment}, {}, nullptr, false, launches);
          ASSERT_TRUE(found.ok()) << c.name << ": " << found.status();
          EXPECT_LE(Distance((*found)[0], expected), 2e-6 + (narrow ? 0x1p-7 : 0)) << c.name;
          EXPECT_EQ(fake.epilogues_run, std::vector<cublasLtEpilogue_t>{apart ? CUBLASLT_EPILOGUE_DEFAULT : epilogue});
          EXPECT_EQ(fake.live, 0);
          if (launches == 0) continue;
          EXPECT_FALSE(Computed(fake.api(), node, inputs, {.misalignment = misalignment}).ok());
          ++tried;
        }
      }
    }
  }
  EXPECT_GE(tried, 16 * 12);
}

// The library adds up the rows of the operand that it calls A or B while it multiplies, and gives f32 for bf16; what it
// makes at an odd address is copied, and where it has no such algorithm launches of ours follow.
TEST(CublasLtMatMul, ABiasGradientIsMadeWithTheWeights) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "matmul_bias_grad") continue;
    const bool of_x = c.node.attributes.String("bias_of") == "x";
    for (const LocalNode& node : {c.node, InF64(c.node), InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const std::vector<Values> expected = Outputs(InF64(c.node), inputs, {.reference_only = true});
      for (const bool known : {true, false}) {
        FakeCublasLt fake;
        fake.epilogues = known;
        const auto found = Computed(fake.api(), node, inputs, {}, {}, nullptr, false, known ? 0 : 2);
        ASSERT_TRUE(found.ok()) << c.name << ": " << found.status();
        for (size_t i = 0; i < 2; ++i) EXPECT_LE(Distance((*found)[i], expected[i]), 2e-6) << c.name << " output " << i;
        const cublasLtEpilogue_t epilogue = of_x ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA;
        EXPECT_EQ(fake.epilogues_run[0], known ? epilogue : CUBLASLT_EPILOGUE_DEFAULT);
        EXPECT_EQ(fake.live, 0);
        ++tried;
      }
    }
  }
  EXPECT_GE(tried, 6 * 4);
}

// As the library leaves it: nothing is said of what lies behind the channels of a row.
Values BitsOf(const Values& mask, int64_t channels) {
  const int64_t bytes = (channels + 127) / 128 * 16;
  Values bits;
  for (int64_t row = 0; row < static_cast<int64_t>(mask.size()) / bytes; ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      bits.push_back(static_cast<int>(mask[static_cast<size_t>(row * bytes + c / 8)]) >> (c % 8) & 1);
    }
  }
  return bits;
}

// The library writes the mask with the result; or a launch of ours does behind a relu of the library's, or two behind
// the product alone. All of them leave the same bits.
TEST(CublasLtMatMul, AMaskOfAReluIsWrittenByEitherHand) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "matmul_relu_mask") continue;
    const bool bias = c.node.inputs[2].has_value();
    const cublasLtEpilogue_t relu = bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU,
                             aux = bias ? CUBLASLT_EPILOGUE_RELU_AUX_BIAS : CUBLASLT_EPILOGUE_RELU_AUX;
    for (const LocalNode& node : {c.node, InF64(c.node), InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const std::vector<Values> expected = Outputs(InF64(c.node), inputs, {.reference_only = true});
      const bool narrow = node.outputs[0].dtype == DType::kBF16;
      for (const auto& [masks, epilogues, epilogue, behind] :
           {std::tuple{true, true, aux, 0}, {false, true, relu, 1}, {false, false, CUBLASLT_EPILOGUE_DEFAULT, 2}}) {
        FakeCublasLt fake;
        fake.masks = masks;
        fake.epilogues = epilogues;
        const int launches = behind + (bias && narrow && epilogues ? 1 : 0);
        const auto found = Computed(fake.api(), node, inputs, {}, {}, nullptr, false, launches);
        ASSERT_TRUE(found.ok()) << c.name << ": " << found.status();
        EXPECT_LE(Distance((*found)[0], expected[0]), 2e-6 + (narrow ? 0x1p-7 : 0)) << c.name;
        const int64_t channels = node.outputs[0].global.back();
        EXPECT_EQ(BitsOf((*found)[1], channels), BitsOf(expected[1], channels)) << c.name;
        EXPECT_EQ(fake.epilogues_run, std::vector<cublasLtEpilogue_t>{epilogue});
        EXPECT_EQ(fake.live, 0);
        if (launches > 0) {
          EXPECT_FALSE(Computed(fake.api(), node, inputs).ok());
        }
        ++tried;
      }
    }
  }
  EXPECT_EQ(tried, 9 * 9);
}

TEST(CublasLtMatMul, AProductIsClearedByAMask) {
  int tried = 0;
  for (const KernelCase& c : AllCases()) {
    if (c.node.op->name != "matmul_relu_grad") continue;
    for (const LocalNode& node : {c.node, InF64(c.node), InBf16(c.node)}) {
      const std::vector<Values> inputs = Stored(node, c.inputs);
      const Values expected = Outputs(InF64(c.node), inputs, {.reference_only = true})[0];
      const double rounding = node.outputs[0].dtype == DType::kBF16 ? 0x1p-8 : 0;
      for (const bool known : {true, false}) {
        FakeCublasLt fake;
        fake.masks = known;
        const auto found = Computed(fake.api(), node, inputs, {}, {}, nullptr, false, known ? 0 : 1);
        ASSERT_TRUE(found.ok()) << c.name << ": " << found.status();
        EXPECT_LE(Distance((*found)[0], expected), 2e-6 + rounding) << c.name;
        EXPECT_EQ(fake.epilogues_run[0], known ? CUBLASLT_EPILOGUE_DRELU : CUBLASLT_EPILOGUE_DEFAULT);
        EXPECT_EQ(fake.live, 0);
        ++tried;
      }
    }
  }
  EXPECT_EQ(tried, 9 * 6);
}

// What a plan counts, with a library that takes everything and one that takes nothing but products.
TEST(CublasLtMatMul, LaunchesWithAMaskAreCounted) {
  const TensorType x{DType::kF32, {5, 7}}, w{DType::kF32, {7, 6}}, bias{DType::kF32, {6}}, mask{DType::kU8, {5, 16}};
  const LocalNode written = WholeNode("matmul_relu_mask", {}, {x, w, bias}),
                  read = WholeNode("matmul_relu_grad", {}, {x, w, mask});
  const auto launches = [](const LocalNode& node, bool masks, bool epilogues) {
    FakeCublasLt fake;
    fake.masks = masks;
    fake.epilogues = epilogues;
    PlanCache cache;
    const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
    return products.ok() ? (*products)->Prepare(node)->library_launches : -1;
  };
  EXPECT_EQ(launches(written, true, true), 1);
  EXPECT_EQ(launches(InBf16(written), true, true), 2);
  EXPECT_EQ(launches(written, false, true), 2);
  EXPECT_EQ(launches(written, false, false), 3);
  EXPECT_EQ(launches(read, true, true), 1);
  EXPECT_EQ(launches(read, false, true), 2);
}

// The planner gives every value of its own 64 bytes; what does not lie so is refused, not read by vectors.
TEST(CublasLtMatMul, AMaskLiesWhereTheLibraryWantsIt) {
  const TensorType x{DType::kF32, {5, 7}}, w{DType::kF32, {7, 6}}, mask{DType::kU8, {5, 16}};
  const LocalNode node = WholeNode("matmul_relu_grad", {}, {x, w, mask});
  FakeCublasLt fake;
  EXPECT_EQ(Computed(fake.api(), node, SuitableInputs(node, 1), {.misalignment = 8}).status(),
            InvalidArgument("the mask of a relu lies off 16 bytes"));
}

// By a queue that copies here and now.
TEST(CublasLtMatMul, ABiasGradientAtAnOddAddressIsCopied) {
  class Copying : public HostQueue {
   public:
    int copies = 0;
    LaunchError Copy(void* to, const void* from, int64_t bytes) override {
      ++copies;
      std::memcpy(to, from, static_cast<size_t>(bytes));
      return kLaunched;
    }
  };
  const TensorType x{DType::kF32, {7, 5}}, dy{DType::kF32, {7, 3}};
  const LocalNode node = WholeNode("matmul_bias_grad", {{"transpose_x", true}}, {x, dy});
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(21, 2)};
  const std::vector<Values> expected = Outputs(node, inputs, {.reference_only = true});
  for (const int64_t misalignment : {0, 4}) {
    FakeCublasLt fake;
    PlanCache cache;
    const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
    ASSERT_TRUE(products.ok());
    const auto prepared = (*products)->Prepare(node);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    Copying queue;
    const auto found = RunOnBuffers(node, inputs, {.misalignment = misalignment}, prepared->workspace_bytes, "cublaslt",
                                    [&](const KernelArguments& arguments) -> absl::Status {
                                      ASSIGN_OR_RETURN(const CudaEnqueue enqueue, prepared->bind(arguments));
                                      return enqueue(&queue);
                                    });
    ASSERT_TRUE(found.ok()) << found.status();
    for (size_t i = 0; i < 2; ++i) EXPECT_LE(Distance((*found)[i], expected[i]), 2e-6) << misalignment;
    EXPECT_EQ(queue.copies, misalignment == 0 ? 0 : 1);
  }
}

// With and without the library's epilogue, timed or not: an error that says which call failed, or the product alone and
// a launch, which give the same bits.
TEST(CublasLtMatMul, EveryCallMayFailWithAnEpilogue) {
  const LocalNode node = ProductWithEpilogue();
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(42, 2), RandomValues(6, 3)};
  for (const bool timed : {false, true}) {
    CublasLtOptions options;
    if (timed) {
      options.timer = [](int64_t bytes, const auto& run) -> absl::StatusOr<double> {
        std::vector<char> memory(static_cast<size_t>(bytes) + 256);
        HostQueue queue;
        RETURN_IF_ERROR(run(memory.data() + (256 - reinterpret_cast<uintptr_t>(memory.data()) % 256), &queue));
        return 1.0;
      };
    }
    Values expected;
    int calls = 0, failed = 0, apart = 0;
    {
      FakeCublasLt fake;
      fake.algorithms = 3;
      const auto result = Computed(fake.api(), node, inputs, {}, options);
      ASSERT_TRUE(result.ok()) << result.status();
      expected = (*result)[0];
      calls = fake.calls;
    }
    for (int n = 1; n <= calls; ++n) {
      FakeCublasLt fake;
      fake.algorithms = 3;
      fake.fail_at = n;
      const auto result = Computed(fake.api(), node, inputs, {}, options, nullptr, false, 1);
      EXPECT_EQ(fake.live, 0) << n;
      if (result.ok()) {
        EXPECT_LE(Distance((*result)[0], expected), 1e-6) << n;
        apart += fake.epilogues_run.back() == CUBLASLT_EPILOGUE_DEFAULT;
      } else {
        ++failed;
        EXPECT_NE(result.status().message().find("answers a fake's error"), std::string::npos) << result.status();
      }
    }
    EXPECT_GT(failed, 3);
    EXPECT_GT(apart, 15);
  }
}

// Plans of products with and without each step are told apart; those of bf16 leave room for a rounded bias.
TEST(CublasLtMatMul, PlansOfEpiloguesAreTheirOwn) {
  FakeCublasLt fake;
  PlanCache cache;
  const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
  ASSERT_TRUE(products.ok());
  LocalNode node = ProductWithEpilogue();
  ASSERT_TRUE((*products)->Prepare(node).ok());
  EXPECT_EQ(fake.searches, 2);
  ASSERT_TRUE((*products)->Prepare(node).ok());
  EXPECT_EQ(fake.searches, 2);
  node.attributes.Set("activation", "");
  ASSERT_TRUE((*products)->Prepare(node).ok());
  EXPECT_EQ(fake.searches, 4);
  node.inputs[2].reset();
  ASSERT_TRUE((*products)->Prepare(node).ok());
  EXPECT_EQ(fake.searches, 6);
  const auto narrow = (*products)->Prepare(ProductWithEpilogue(DType::kBF16));
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(narrow->workspace_bytes, 1024 + 6 * 2 + 192);
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
  ASSERT_TRUE(Computed(fake.api(), node, inputs).ok());
  ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, {.allow_tf32 = true}).ok());
  ASSERT_TRUE(Computed(fake.api(), InF64(node), inputs, {}, {.allow_tf32 = true}).ok());
  EXPECT_EQ(fake.compute_types,
            (std::vector<cublasComputeType_t>{CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_64F}));
}

// bf16 is added up in f32, its parts too; TF32 is not for it. Its elements are two bytes, and its plans its own.
TEST(CublasLtMatMul, SumsOfBf16AreWide) {
  const LocalNode node = Product(5, 6, 7);
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(42, 2)};
  FakeCublasLt fake;
  PlanCache cache;
  ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, {.allow_tf32 = true}, &cache).ok());
  EXPECT_EQ(fake.sums, std::vector<uint32_t>(2, CUBLASLT_REDUCTION_SCHEME_MASK));
  ASSERT_TRUE(Computed(fake.api(), InBf16(node), inputs, {.misalignment = 2}, {.allow_tf32 = true}, &cache).ok());
  EXPECT_EQ(fake.searches, 4);
  EXPECT_EQ(fake.alignments, (std::vector<uint32_t>{16, 4, 16, 2}));
  EXPECT_EQ(fake.sums[2], CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_EQ(fake.sums[3], CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_EQ(fake.compute_types.back(), CUBLAS_COMPUTE_32F);
}

// Equal products are planned once, so that they get the same algorithm.
TEST(CublasLtMatMul, APlanIsKept) {
  FakeCublasLt fake;
  PlanCache cache;
  const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
  ASSERT_TRUE(products.ok());
  ASSERT_TRUE((*products)->Prepare(Product(2, 3, 4)).ok());
  const int calls = fake.calls;
  const auto again = (*products)->Prepare(Product(2, 3, 4));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(fake.calls, calls);
  EXPECT_EQ(again->workspace_bytes, 1024 + 192);
  EXPECT_TRUE(again->deterministic);
}

// The library refuses a workspace that does not lie on 256 bytes; the planner promises 64 only.
TEST(CublasLtMatMul, TheWorkspaceLiesWhereTheLibraryWantsIt) {
  const LocalNode node = ProductWithEpilogue(DType::kBF16);
  FakeCublasLt fake;
  PlanCache cache;
  const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
  ASSERT_TRUE(products.ok());
  const auto prepared = (*products)->Prepare(node);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto untouched = [](char c) { return c == 0; };
  alignas(256) char operands[4][256] = {};
  for (const int64_t offset : {0, 64, 128, 192}) {
    alignas(256) char memory[2048] = {};
    const auto enqueue = prepared->bind({{operands[0], operands[1], operands[2]}, {operands[3]}, memory + offset, 0});
    ASSERT_TRUE(enqueue.ok()) << enqueue.status();
    HostQueue queue;
    queue.launches_allowed = 1;
    EXPECT_TRUE((*enqueue)(&queue).ok()) << offset;
    const char* const end = memory + offset + prepared->workspace_bytes;
    EXPECT_TRUE(std::all_of(memory, memory + offset, untouched)) << offset;
    EXPECT_TRUE(std::all_of(end, std::cend(memory), untouched)) << offset;
  }
}

// Says what the times are: of the places in the heuristics' list, those of which the last but one is the fastest. The
// second one cannot be timed.
PlanTimer TimerOf(std::vector<double> seconds, size_t* timed) {
  return [seconds, timed](int64_t bytes, const auto& run) -> absl::StatusOr<double> {
    std::vector<char> memory(static_cast<size_t>(bytes) + 256);
    char* const aligned = memory.data() + (256 - reinterpret_cast<uintptr_t>(memory.data()) % 256);
    HostQueue queue;
    RETURN_IF_ERROR(run(aligned, &queue));
    const double value = seconds[(*timed)++ % seconds.size()];
    return value < 0 ? absl::StatusOr<double>(Unavailable("lost")) : value;
  };
}

TEST(CublasLtMatMul, TheFastestOfThoseThatCanBeTimedWins) {
  const LocalNode node = Product(5, 6, 7);
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(42, 2)};
  FakeCublasLt fake;
  fake.algorithms = 5;
  size_t timed = 0;
  PlanCache cache;
  const CublasLtOptions options{.timer = TimerOf({3, -1, 1, 2}, &timed)};
  const auto expected = Computed(fake.api(), node, inputs);
  fake.places_run.clear();
  const auto found = Computed(fake.api(), node, inputs, {}, options, &cache);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*found, *expected);
  EXPECT_EQ(timed, 8u);  // for both alignments
  EXPECT_EQ(fake.places_run, (std::vector<uint64_t>{1, 2, 3, 4, 1, 2, 3, 4, 3}));
  // Another process is told, and neither searches nor times.
  PlanCache told;
  ASSERT_TRUE(told.Import(cache.Export()).ok());
  fake.searches = 0;
  fake.places_run.clear();
  ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, options, &told).ok());
  EXPECT_EQ(fake.searches, 0);
  EXPECT_EQ(timed, 8u);
  EXPECT_EQ(fake.places_run, std::vector<uint64_t>{3});
  size_t lost = 0;
  EXPECT_EQ(Computed(fake.api(), node, inputs, {}, {.timer = TimerOf({-1}, &lost)}).status(),
            Unavailable("none of 4 algorithms could be timed"));
}

// What is kept is checked by the library; keys tell devices, TF32 and timing apart.
TEST(CublasLtMatMul, AnAlgorithmIsKeptAsLongAsTheLibraryTakesIt) {
  const LocalNode node = Product(5, 6, 7);
  const std::vector<Values> inputs = {RandomValues(35, 1), RandomValues(42, 2)};
  FakeCublasLt fake;
  std::vector<std::string> warnings;
  PlanCache cache("", [&](const std::string& warning) { warnings.push_back(warning); });
  const auto searches = [&](const CublasLtOptions& options) {
    fake.searches = 0;
    EXPECT_TRUE(Computed(fake.api(), node, inputs, {}, options, &cache).ok());
    return fake.searches;
  };
  EXPECT_EQ(searches({}), 2);
  EXPECT_EQ(searches({}), 0);
  EXPECT_EQ(searches({.device = "another"}), 2);
  EXPECT_EQ(searches({.allow_tf32 = true}), 2);
  EXPECT_TRUE(warnings.empty());
  fake.algorithms_are_known = false;
  EXPECT_EQ(searches({}), 2);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_EQ(warnings[0],
            "the plan that was kept for 'cublaslt 130100  product 5 6 7 0 0 f32 tf32 0 timed 0 alignment 16' is made "
            "anew: the library does not take it any more");
  fake.algorithms_are_known = true;
  EXPECT_EQ(searches({}), 0);
  cache.Add("cublaslt 130100  product 5 6 7 0 0 f32 tf32 0 timed 0 alignment 16", "short");
  EXPECT_EQ(searches({}), 1);
}

TEST(CublasLtMatMul, RefusesWhatItCannotDo) {
  FakeCublasLt fake;
  PlanCache cache;
  const auto products = CublasLtMatMuls::Create(fake.api(), {}, &cache);
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

// With a plan that was kept, and while timing: an error that says which call it was, or a plan found in another way.
TEST(CublasLtMatMul, EveryCallMayFailWithPlansAndTimes) {
  const LocalNode node = Product(2, 3, 4);
  const std::vector<Values> inputs = {RandomValues(8, 1), RandomValues(12, 2)};
  for (const bool kept : {true, false}) {
    size_t timed = 0;
    const CublasLtOptions options{.timer = TimerOf({2, 1}, &timed)};
    int failed = 0;
    bool reached = true;
    for (int n = 1; reached; ++n) {
      FakeCublasLt fake;
      fake.algorithms = 3;
      PlanCache cache;
      if (kept) {
        ASSERT_TRUE(Computed(fake.api(), node, inputs, {}, options, &cache).ok());
      }
      fake.fail_at = fake.calls + n;
      const auto result = Computed(fake.api(), node, inputs, {}, options, &cache);
      reached = fake.calls >= fake.fail_at;
      EXPECT_EQ(fake.live, 0) << n;
      if (result.ok()) continue;
      ++failed;
      EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal) << n;
      EXPECT_NE(result.status().message().find("answers a fake's error"), std::string::npos) << result.status();
    }
    EXPECT_GT(failed, 7);
  }
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
  EXPECT_FALSE(Computed(fake.api(), node, inputs, {}, {}, nullptr, true).ok());
  fake.fail_at = fake.calls + 1;
  fake.error = CUBLAS_STATUS_NOT_INITIALIZED;
  EXPECT_EQ(Computed(fake.api(), node, inputs).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace partita

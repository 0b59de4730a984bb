// What goes along with a product through a fake cuBLASLt: biases and their gradients, activations, masks of relus.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>

#include "graph/ir/op_definition.h"
#include "ops/cuda/cublaslt/cublaslt_matmul.h"
#include "tests/ops/cuda/cublaslt/computed.h"
#include "tests/ops/cuda/cublaslt/fake_cublaslt.h"
#include "tests/ops/cuda/kernel/host_queue.h"
#include "tests/ops/cuda/kernel/times_of_each.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

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

Values SignsOf(const Values& y) {
  Values signs;
  for (const double value : y) signs.push_back(value > 0);
  return signs;
}

// The library writes the mask with the result; or a launch of ours does behind a relu of the library's, or two behind
// the product alone. All of them leave the signs of the result.
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
        EXPECT_EQ(BitsOf((*found)[1], channels), SignsOf((*found)[0])) << c.name;
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
      options.timer = TimesOfEach([](const PlanToTime& plan) -> absl::StatusOr<double> {
        std::vector<char> memory(static_cast<size_t>(plan.bytes) + 256);
        HostQueue queue;
        RETURN_IF_ERROR(plan.run(memory.data() + (256 - reinterpret_cast<uintptr_t>(memory.data()) % 256), &queue));
        return 1.0;
      });
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

}  // namespace
}  // namespace partita

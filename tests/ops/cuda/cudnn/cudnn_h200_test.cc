// What cuDNN itself offers an H200, which need not be here, for every convolution of the models: where the library is
// installed. Its heuristics and the plans of its precompiled engines need no driver.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ops/cuda/cudnn/cudnn_engines.h"
#include "ops/cuda/cudnn/cudnn_graph.h"
#include "ops/cuda/described_gpu.h"
#include "tests/ops/cuda/cudnn/model_convolutions.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

using Notes = std::vector<cudnnBackendNumericalNote_t>;

bool Has(const Notes& notes, cudnnBackendNumericalNote_t note) { return std::ranges::count(notes, note) > 0; }

class CudnnOnH200 : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<CudnnApi> api = LoadCudnn();
    if (!api.ok()) GTEST_SKIP() << api.status().message();
    api_ = *api;
    absl::StatusOr<CudnnTarget> target = DescribedTarget(api_, H200().cudnn);
    ASSERT_TRUE(target.ok()) << target.status();
    target_ = *target;
  }

  absl::StatusOr<CudnnPlan> Plan(const LocalNode& node, bool tensor_cores) {
    ASSIGN_OR_RETURN(const CudnnConvolution convolution, DescribeConvolution(node));
    ASSIGN_OR_RETURN(const CudnnDescriptor graph, GraphOf(api_, target_, convolution));
    return FirstPlan(api_, target_, graph, {.tensor_cores = tensor_cores, .deterministic = true});
  }

  // Whether one with tensor cores that keeps to the rules is among the plans that are named.
  bool IsCandidateWithTensorCores(const LocalNode& node) {
    const absl::StatusOr<CudnnConvolution> convolution = DescribeConvolution(node);
    const absl::StatusOr<CudnnDescriptor> graph = GraphOf(api_, target_, *convolution);
    const auto found = FindCandidates(api_, target_, *graph, {.tensor_cores = true, .deterministic = true}, {40});
    return found.ok() && std::ranges::any_of(found->plans, [&](const CudnnPlan& plan) {
             return Has(NotesOf(plan), CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
           });
  }

  // Those of the engine of a plan, from the plan itself.
  Notes NotesOf(const CudnnPlan& plan) {
    const auto part = [&](const CudnnDescriptor& whole, cudnnBackendDescriptorType_t type,
                          cudnnBackendAttributeName_t name) {
      const CudnnDescriptor empty = CudnnBuilder(api_, type, "a part of a plan").Empty().value();
      cudnnBackendDescriptor_t raw = empty.get();
      int64_t found = 0;
      EXPECT_EQ(api_.cudnnBackendGetAttribute(whole.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found, &raw),
                CUDNN_STATUS_SUCCESS);
      return empty;
    };
    const CudnnDescriptor configuration =
        part(plan.descriptor, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    const CudnnDescriptor engine = part(configuration, CUDNN_BACKEND_ENGINE_DESCRIPTOR, CUDNN_ATTR_ENGINECFG_ENGINE);
    Notes notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
    int64_t found = 0;
    EXPECT_EQ(api_.cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                            CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &found, notes.data()),
              CUDNN_STATUS_SUCCESS);
    notes.resize(static_cast<size_t>(found));
    return notes;
  }

  CudnnApi api_;
  CudnnTarget target_;
};

// Where cuDNN 9.19 names an engine without tensor cores first, though it has others: why.
struct Exception {
  const char* begin;  // of the convolution's name
  const char* why;
};
constexpr Exception kExceptions[] = {
    {"[64,28,28,1] ", "one input channel: most of a vector would be zeros"},
    {"[64,299,299,3] ", "three input channels: most of a vector would be zeros"},
    {"[64,14,14,6] ", "six input channels: a pixel of 24 bytes fills no vectors"},
    {"[64,14,14,32] w [16,1,1,32] ", "a product so small and narrow takes as long as its bytes"},
    {"[64,14,14,32] w [24,1,1,32] ", "the same"},
    {"[64,14,14,32] w [32,1,1,32] ", "the same"},
    {"[64,7,7,104] w [32,1,1,104] ", "the same"},
    {"[64,7,7,104] w [48,1,1,104] ", "the same"},
};

bool IsException(const ModelConvolution& c) {
  return std::ranges::any_of(kExceptions, [&](const Exception& e) { return c.name.rfind(e.begin, 0) == 0; });
}

int finalized = 0;  // descriptors, by a table that counts them
CudnnApi counted;

// Modes A and B name many in common; by engine and knobs the library tells which.
TEST_F(CudnnOnH200, AConfigurationIsPlannedOnce) {
  counted = api_;
  CudnnApi counting = api_;
  counting.cudnnBackendFinalize = [](cudnnBackendDescriptor_t descriptor) {
    const cudnnStatus_t status = counted.cudnnBackendFinalize(descriptor);
    finalized += status == CUDNN_STATUS_SUCCESS ? 1 : 0;
    return status;
  };
  constexpr int kLists = 3;  // a descriptor of heuristics for each
  const std::vector<ModelConvolution> convolutions = ModelConvolutions();
  for (size_t i = 0; i < convolutions.size(); i += 20) {
    SCOPED_TRACE(convolutions[i].name);
    const absl::StatusOr<CudnnConvolution> convolution = DescribeConvolution(convolutions[i].node);
    const absl::StatusOr<CudnnDescriptor> graph = GraphOf(api_, target_, *convolution);
    finalized = 0;
    const auto found = FindCandidates(counting, target_, *graph, {.tensor_cores = true, .deterministic = true}, {8});
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(finalized, kLists + static_cast<int>(found->plans.size()));
    std::set<std::string> texts;
    for (const CudnnPlan& plan : found->plans) texts.insert(*WritePlan(api_, plan));
    EXPECT_EQ(texts.size(), found->plans.size());
  }
}

// In f32 none that rounds; with tensor cores allowed one that uses them, first or, of the exceptions, among those that
// are timed.
TEST_F(CudnnOnH200, EveryConvolutionOfAModelHasAnEngine) {
  struct Precision {
    const char* name;
    bool bf16, tensor_cores;
  };
  const std::vector<ModelConvolution> convolutions = ModelConvolutions();
  EXPECT_GE(convolutions.size(), 180u);
  for (const ModelConvolution& c : convolutions) {
    for (const Precision& p : {Precision{"f32", false, false}, {"tf32", false, true}, {"bf16", true, true}}) {
      SCOPED_TRACE(c.name + " " + p.name);
      const LocalNode node = p.bf16 ? InBf16(c.node) : c.node;
      const absl::StatusOr<CudnnPlan> plan = Plan(node, p.tensor_cores);
      ASSERT_TRUE(plan.ok()) << plan.status();
      const Notes notes = NotesOf(*plan);
      EXPECT_FALSE(Has(notes, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION));
      EXPECT_FALSE(Has(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
      if (!p.tensor_cores) {
        EXPECT_FALSE(Has(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE));
        EXPECT_FALSE(Has(notes, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
      } else if (!Has(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE)) {
        EXPECT_TRUE(IsException(c)) << "no tensor cores";
        EXPECT_TRUE(IsCandidateWithTensorCores(node)) << "no tensor cores even among many";
      }
    }
  }
}

}  // namespace
}  // namespace partita

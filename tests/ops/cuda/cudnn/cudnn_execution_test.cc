// When the fake computes what is executed, and which executions it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <utility>

#include "ops/cuda/cudnn/cudnn_engines.h"
#include "ops/cuda/cudnn/cudnn_graph.h"
#include "tests/ops/cuda/cudnn/cudnn_run.h"
#include "tests/ops/cuda/cudnn/fake_cudnn.h"

namespace partita {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

cudaStream_t StreamOf(uintptr_t number) { return reinterpret_cast<cudaStream_t>(number); }

// A convolution of f32[1,4,4,4] and a window of 1x1 by the first engine, its operands, and the streams' work in order.
class CudnnExecution : public ::testing::Test {
 protected:
  static constexpr int64_t kElements = 64, kWeights = 16;

  void SetUp() override {
    fake_.enqueue = [this](cudaStream_t stream, std::function<void()> run) { queue_.emplace_back(stream, run); };
    ASSERT_EQ(api().cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS);
    ASSERT_EQ(api().cudnnSetStream(handle_, StreamOf(1)), CUDNN_STATUS_SUCCESS);
    for (int64_t i = 0; i < kElements; ++i) x_[i] = static_cast<float>(i);
    for (int64_t i = 0; i < kWeights; ++i) w_[i] = i % 5 == 0 ? 2 : 0;  // twice the identity
    plan_ = PlanOn(handle_);
    pack_ = Pack({1, 2, 3}, {x_, w_, y_});
  }
  void TearDown() override {
    plan_.reset();
    pack_.reset();
    if (handle_ != nullptr) api().cudnnDestroy(handle_);
    EXPECT_EQ(fake_.live, 0);
  }

  const CudnnApi& api() const { return fake_.api(); }

  LocalNode Node() const {
    return WholeNode("conv2d", {}, {TensorType{DType::kF32, {1, 4, 4, 4}}, TensorType{DType::kF32, {4, 1, 1, 4}}});
  }
  CudnnDescriptor PlanOn(cudnnHandle_t handle) {
    const LocalNode node = Node();
    const absl::StatusOr<CudnnConvolution> convolution = DescribeConvolution(node);
    EXPECT_TRUE(convolution.ok()) << convolution.status();
    const absl::StatusOr<CudnnDescriptor> graph = GraphOf(api(), {.handle = handle}, *convolution);
    EXPECT_TRUE(graph.ok()) << graph.status();
    const absl::StatusOr<CudnnPlan> plan = FirstPlan(api(), {.handle = handle}, *graph, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan->descriptor;
  }
  CudnnDescriptor Pack(const std::vector<int64_t>& ids, const std::vector<void*>& addresses) {
    return *Packed(ids, addresses, workspace_);
  }
  absl::StatusOr<CudnnDescriptor> Packed(const std::vector<int64_t>& ids, const std::vector<void*>& addresses,
                                         void* workspace) {
    return CudnnBuilder(api(), CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, "the addresses")
        .Set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
        .Set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<int64_t>(addresses.size()),
             addresses.data())
        .Set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace)
        .Finalize();
  }
  cudnnStatus_t Execute() { return api().cudnnBackendExecute(handle_, plan_.get(), pack_.get()); }
  void RunQueue() {
    for (const auto& [stream, run] : queue_) run();
  }
  void ExpectRefused(cudnnStatus_t status, const std::string& why) {
    const cudnnStatus_t found = Execute();
    EXPECT_EQ(found, status) << why;
    ASSERT_THAT(fake_.refusals, SizeIs(1)) << why;
    EXPECT_THAT(fake_.refusals[0], HasSubstr(why));
    EXPECT_THAT(CudnnStatus(api(), found, "cudnnBackendExecute").message(), HasSubstr(why));
    EXPECT_TRUE(queue_.empty());
  }

  FakeCudnn fake_;
  std::vector<std::pair<cudaStream_t, std::function<void()>>> queue_;
  cudnnHandle_t handle_ = nullptr;
  CudnnDescriptor plan_, pack_;
  alignas(16) float x_[kElements] = {}, w_[kWeights] = {}, y_[kElements] = {};
  alignas(16) char workspace_[256 + 16] = {};
};

// Nothing is computed by the call. Plan, addresses and handle may go before the work is done: it is the stream's.
TEST_F(CudnnExecution, ItIsComputedWhenTheStreamComesToIt) {
  ASSERT_EQ(Execute(), CUDNN_STATUS_SUCCESS);
  plan_.reset();
  pack_.reset();
  api().cudnnDestroy(std::exchange(handle_, nullptr));
  EXPECT_EQ(y_[5], 0);
  ASSERT_THAT(queue_, SizeIs(1));
  x_[5] = 100;  // what other work of the stream wrote meanwhile
  for (int replay = 0; replay < 2; ++replay) {
    RunQueue();
    EXPECT_EQ(y_[5], 200);
    EXPECT_EQ(y_[63], 126);
    std::fill(std::begin(y_), std::end(y_), 0.0f);
  }
}

// The stream that the handle has at the call, and no other handle's.
TEST_F(CudnnExecution, ItFollowsTheStreamOfTheHandle) {
  cudnnHandle_t other = nullptr;
  ASSERT_EQ(api().cudnnCreate(&other), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(Execute(), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(api().cudnnSetStream(handle_, StreamOf(2)), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(api().cudnnSetStream(other, StreamOf(3)), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(Execute(), CUDNN_STATUS_SUCCESS);
  ASSERT_THAT(queue_, SizeIs(2));
  EXPECT_EQ(queue_[0].first, StreamOf(1));
  EXPECT_EQ(queue_[1].first, StreamOf(2));
  api().cudnnDestroy(other);
}

// As the library does where no stream was set.
TEST_F(CudnnExecution, AHandleWithoutAStreamUsesTheDefaultStream) {
  ASSERT_EQ(api().cudnnDestroy(handle_), CUDNN_STATUS_SUCCESS);
  ASSERT_EQ(api().cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS);
  plan_ = PlanOn(handle_);
  ASSERT_EQ(Execute(), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(queue_[0].first, nullptr);
}

TEST_F(CudnnExecution, RefusesATensorWithoutAnAddress) {
  pack_ = Pack({1, 3}, {x_, y_});
  ExpectRefused(CUDNN_STATUS_BAD_PARAM, "tensor 2 has no address in the pack");
}

TEST_F(CudnnExecution, RefusesAnIdOfNoTensor) {
  pack_ = Pack({1, 2, 3, 4}, {x_, w_, y_, y_});
  ExpectRefused(CUDNN_STATUS_BAD_PARAM, "an id that no tensor of the graph has");
}

TEST_F(CudnnExecution, RefusesANullAddress) {
  pack_ = Pack({1, 2, 3}, {x_, nullptr, y_});
  ExpectRefused(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "tensor 2 lies nowhere");
}

TEST_F(CudnnExecution, RefusesAnAddressOffTheDeclaredBytes) {
  pack_ = Pack({1, 2, 3}, {x_ + 1, w_, y_});
  ExpectRefused(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "tensor 1 lies off the bytes");
}

TEST_F(CudnnExecution, RefusesNoWorkspaceWhereThePlanNeedsOne) {
  pack_ = *Packed({1, 2, 3}, {x_, w_, y_}, nullptr);
  ExpectRefused(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "the workspace lies nowhere");
}

TEST_F(CudnnExecution, RefusesPacksThatDoNotCountAlike) {
  EXPECT_FALSE(Packed({1, 2, 3}, {x_, w_}, workspace_).ok());
  EXPECT_FALSE(Packed({1, 2, 2}, {x_, w_, y_}, workspace_).ok());
  EXPECT_THAT(fake_.refusals, ElementsAre("3 ids of 2 addresses", "an id is there twice"));
}

TEST_F(CudnnExecution, RefusesThePlanOfAnotherHandle) {
  cudnnHandle_t other = nullptr;
  ASSERT_EQ(api().cudnnCreate(&other), CUDNN_STATUS_SUCCESS);
  plan_ = PlanOn(other);
  ExpectRefused(CUDNN_STATUS_BAD_PARAM, "the plan is for another handle");
  api().cudnnDestroy(other);
}

TEST_F(CudnnExecution, RefusesAHandleThatWasDestroyed) {
  ASSERT_EQ(api().cudnnDestroy(handle_), CUDNN_STATUS_SUCCESS);
  ExpectRefused(CUDNN_STATUS_BAD_PARAM, "the handle does not exist");
  EXPECT_EQ(api().cudnnSetStream(handle_, StreamOf(1)), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(api().cudnnDestroy(std::exchange(handle_, nullptr)), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnExecution, RefusesAPlanThatWasDestroyed) {
  const cudnnBackendDescriptor_t gone = plan_.get();
  plan_.reset();
  EXPECT_EQ(api().cudnnBackendExecute(handle_, gone, pack_.get()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(api().cudnnBackendDestroyDescriptor(gone), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnExecution, RefusesPlanAndPackInEachOthersPlace) {
  std::swap(plan_, pack_);
  ExpectRefused(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "no plan, or no pack");
}

TEST_F(CudnnExecution, RefusesAnEngineThatCannotBeCaptured) {
  std::vector<cudaStream_t> broken;
  bool capturing = false;
  fake_.breaks_capture = [&](cudaStream_t stream) {
    if (capturing) broken.push_back(stream);
    return capturing;
  };
  fake_.engines[0].capturable = false;
  EXPECT_EQ(Execute(), CUDNN_STATUS_SUCCESS) << "outside of captures";
  queue_.clear();
  capturing = true;
  ExpectRefused(CUDNN_STATUS_EXECUTION_FAILED_CUDART, "the engine cannot be captured");
  EXPECT_THAT(broken, ElementsAre(StreamOf(1)));
}

// The code of a precompiled engine is the library's, that of one that was compiled at run time the plan's.
TEST_F(CudnnExecution, ACompiledPlanLivesAsLongAsItsWork) {
  fake_.engines[0].compiled = true;
  plan_ = PlanOn(handle_);
  ASSERT_EQ(Execute(), CUDNN_STATUS_SUCCESS);
  pack_.reset();
  RunQueue();
  EXPECT_EQ(y_[5], 10);
  EXPECT_TRUE(fake_.refusals.empty());
  plan_.reset();
  RunQueue();
  EXPECT_TRUE(std::isnan(y_[5]));
  EXPECT_THAT(fake_.refusals, ElementsAre("the code of a plan was gone when its work came"));
}

// A GPU faults on memory that it does not reach: nothing is computed.
TEST_F(CudnnExecution, ItTouchesWhatItsDescriptorsSay) {
  using Bytes = std::pair<const void*, int64_t>;
  std::vector<Bytes> touched;
  bool reached = true;
  fake_.reaches = [&](const void* data, int64_t bytes) {
    touched.emplace_back(data, bytes);
    return reached || data != y_;
  };
  ASSERT_EQ(Execute(), CUDNN_STATUS_SUCCESS);
  RunQueue();
  EXPECT_THAT(touched, ElementsAre(Bytes(workspace_, 256), Bytes(x_, 256), Bytes(w_, 64), Bytes(y_, 256)));
  EXPECT_EQ(y_[5], 10);
  y_[5] = 0;
  reached = false;
  RunQueue();
  EXPECT_EQ(y_[5], 0);
  EXPECT_THAT(fake_.refusals, ElementsAre("the GPU does not reach tensor 3"));
}

// Two threads with one handle: the work of one comes to the stream of the other.
TEST_F(CudnnExecution, RefusesAStreamThatAnotherThreadSet) {
  std::thread([this] { EXPECT_EQ(api().cudnnSetStream(handle_, StreamOf(2)), CUDNN_STATUS_SUCCESS); }).join();
  ExpectRefused(CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, "set by another thread");
}

// The engine may write all of the workspace that its plan names: one that is a byte short loses what lies behind it.
TEST_F(CudnnExecution, AllOfTheWorkspaceIsWritten) {
  ASSERT_EQ(Execute(), CUDNN_STATUS_SUCCESS);
  RunQueue();
  EXPECT_EQ(workspace_[255], '\xFF');
  EXPECT_EQ(workspace_[256], 0);
}

// A plan's text says all of it: another process has no graph.
TEST(CudnnPlanText, AnotherProcessComputesTheSame) {
  for (const char* op : {"conv2d_epilogue", "conv2d_input_grad", "conv2d_weight_grad"}) {
    const KernelCase c = AnyCase(op);
    PlanCache first, second;
    std::vector<Values> expected;
    {
      FakeCudnn fake;
      const auto found = Computed(fake.api(), c.node, c.inputs, {}, {}, &first);
      ASSERT_TRUE(found.ok()) << found.status();
      expected = *found;
    }
    ASSERT_TRUE(second.Import(first.Export()).ok());
    FakeCudnn fake;
    const auto found = Computed(fake.api(), c.node, c.inputs, {}, {}, &second);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(*found, expected) << op;
    EXPECT_EQ(fake.plans_made, 0);
  }
}

// Each with a handle of its own, as the library asks.
TEST(CudnnThreads, ManyComputeAtOnce) {
  const KernelCase c = AnyCase("conv2d_epilogue");
  FakeCudnn fake;
  const auto expected = Computed(fake.api(), c.node, c.inputs);
  ASSERT_TRUE(expected.ok());
  std::vector<int> equal(4);
  std::vector<std::thread> threads;
  for (int& count : equal) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        const auto found = Computed(fake.api(), c.node, c.inputs);
        count += found.ok() && *found == *expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(equal, ElementsAre(5, 5, 5, 5));
  EXPECT_EQ(fake.live, 0);
}

}  // namespace
}  // namespace partita

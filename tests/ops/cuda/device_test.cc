// The kernels of ops/cuda on a GPU: every node of tests/ops/host/cases.cc, every kernel of its op, in f32, f64 and
// bf16, at even and odd addresses, against the host's f64 reference. Skipped, with the reason, where no GPU is seen.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "graph/ir/op_definition.h"
#include "ops/cuda/cuda_kernels.h"
#include "ops/cuda/cuda_libraries.h"
#include "runtime/base/check.h"
#include "tests/ops/host/kernel_case.h"

namespace partita {
namespace {

constexpr int64_t kGuard = 64;  // bytes around every block that must not change (kernel_case.cc)
constexpr int64_t kArena = int64_t{256} << 20;

// The GPU and what is opened on it, once for all tests.
struct Gpu {
  std::unique_ptr<CudaDevice> device;
  std::unique_ptr<Arena> arena;
  std::unique_ptr<Stream> stream;
  PlanCache plans;
  std::shared_ptr<ForeignKernels> foreign;
  std::string why_not;
};

Gpu& TheGpu() {
  static Gpu& gpu = *[] {
    Gpu* const made = new Gpu();
    absl::StatusOr<std::unique_ptr<CudaDevice>> device = CudaDevice::Create({});
    if (!device.ok()) {
      made->why_not = std::string(device.status().message());
      return made;
    }
    made->device = *std::move(device);
    made->arena = *made->device->Allocate(kArena);
    made->stream = *made->device->CreateStream("test");
    made->foreign = OpenCudaLibraries(*made->device, {}, &made->plans);
    return made;
  }();
  return gpu;
}

// Moves a block with its guards between the host and its place on the device.
class Mirror {
 public:
  explicit Mirror(Gpu& gpu) : gpu_(gpu) {}

  // The device address of a host block, which has the same distance from a multiple of 256.
  absl::StatusOr<void*> Up(const void* host, int64_t bytes) {
    if (host == nullptr) return nullptr;
    for (const Block& block : blocks_) {
      if (block.host == host) return block.device;  // in place
    }
    const int64_t offset =
        (end_ + kGuard + 255) / 256 * 256 + static_cast<int64_t>(reinterpret_cast<uintptr_t>(host) % 256);
    char* const at = static_cast<char*>(gpu_.arena->data()) + offset;
    end_ = offset + bytes + kGuard;
    CHECK(end_ < kArena);
    blocks_.push_back({static_cast<char*>(const_cast<void*>(host)), at, bytes});
    RETURN_IF_ERROR(gpu_.stream->Copy(at - kGuard, blocks_.back().host - kGuard, bytes + 2 * kGuard));
    return at;
  }

  absl::Status Down() {
    for (const Block& b : blocks_) {
      RETURN_IF_ERROR(gpu_.stream->Copy(b.host - kGuard, b.device - kGuard, b.bytes + 2 * kGuard));
    }
    return gpu_.stream->Synchronize();
  }

 private:
  struct Block {
    char *host, *device;
    int64_t bytes;
  };
  Gpu& gpu_;
  int64_t end_ = 0;  // of what lies in the arena so far, with its guards
  std::vector<Block> blocks_;
};

absl::StatusOr<std::vector<Values>> RunOnGpu(Gpu& gpu, const std::string& family, const LocalNode& node,
                                             const std::vector<Values>& inputs, const RunOptions& options) {
  const std::unique_ptr<KernelLibrary> library = MakeCudaKernels({family, gpu.foreign});
  ASSIGN_OR_RETURN(const KernelChoice choice, library->Choose(node));
  return RunOnBuffers(node, inputs, options, choice.workspace_bytes, choice.kernel,
                      [&](const KernelArguments& host) -> absl::Status {
                        Mirror mirror(gpu);
                        KernelArguments device;
                        device.seed = host.seed;
                        for (size_t i = 0; i < host.inputs.size(); ++i) {
                          const int64_t bytes = node.inputs[i].has_value() ? node.inputs[i]->bytes() : 0;
                          ASSIGN_OR_RETURN(const void* at, mirror.Up(host.inputs[i], bytes));
                          device.inputs.push_back(at);
                        }
                        for (size_t i = 0; i < host.outputs.size(); ++i) {
                          ASSIGN_OR_RETURN(void* at, mirror.Up(host.outputs[i], node.outputs[i].bytes()));
                          device.outputs.push_back(at);
                        }
                        ASSIGN_OR_RETURN(device.workspace, mirror.Up(host.workspace, choice.workspace_bytes));
                        ASSIGN_OR_RETURN(const auto kernel, library->Create(node, choice, device));
                        RETURN_IF_ERROR(kernel->Launch(*gpu.stream));
                        return mirror.Down();
                      });
}

// Relative to the largest magnitude (or 1). Own kernels take sums in double; libraries sum f32 in f32, in any order,
// and may take Winograd's transforms.
double Tolerance(const std::string& family, DType dtype) {
  if (dtype == DType::kF64) return 1e-12;
  if (dtype == DType::kBF16) return 0x1p-8 + 1e-4;  // rounded once
  return family == "cudnn" ? 5e-5 : 5e-6;
}

class DeviceKernel : public testing::TestWithParam<KernelCase> {
 protected:
  void SetUp() override {
    if (!TheGpu().why_not.empty()) GTEST_SKIP() << TheGpu().why_not;
  }
};

TEST_P(DeviceKernel, EqualsTheHostsReference) {
  const KernelCase& c = GetParam();
  const std::vector<Values> expected = Outputs(InF64(c.node), c.inputs, {.reference_only = true});
  for (const CudaKernelEntry& entry : CudaKernelEntries(c.node.op->name)) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const LocalNode node = dtype == DType::kF32 ? c.node : InF64(c.node);
      for (const int64_t misalignment : {0, 8}) {
        const auto found = RunOnGpu(TheGpu(), entry.family, node, c.inputs, {.misalignment = misalignment});
        const bool may_refuse = std::string(entry.family) == "cudnn" || std::string(entry.family) == "cublaslt";
        if (!found.ok() && may_refuse && found.status().code() == absl::StatusCode::kInvalidArgument) continue;
        ASSERT_TRUE(found.ok()) << entry.family << ": " << found.status();
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_LE(Distance((*found)[i], expected[i]), Tolerance(entry.family, dtype))
              << entry.family << " output " << i << " " << Name(dtype) << " misalignment " << misalignment;
        }
      }
    }
  }
}

// What computes in f32 alone refuses (tests/ops/cuda/own/emulated_test.cc says what).
TEST_P(DeviceKernel, EqualsTheHostsReferenceInBf16) {
  const KernelCase& c = GetParam();
  if (c.node.members > 1) GTEST_SKIP() << "updates are of f32";
  const LocalNode node = InBf16(c.node);
  const std::vector<Values> inputs = Stored(node, c.inputs);
  const std::vector<Values> expected = Outputs(InF64(c.node), inputs, {.reference_only = true});
  const bool epilogue = c.node.op->name == "conv2d_epilogue" || c.node.op->name == "matmul_epilogue";
  for (const CudaKernelEntry& entry : CudaKernelEntries(c.node.op->name)) {
    // Libraries may round twice: the bias too, or what lies between the product and a launch of ours.
    const double again = epilogue && std::string(entry.family) != "reference" ? 0x1p-8 : 0;
    for (const int64_t misalignment : {0, 8}) {
      const auto found = RunOnGpu(TheGpu(), entry.family, node, inputs, {.misalignment = misalignment});
      if (!found.ok() && found.status().code() == absl::StatusCode::kInvalidArgument) continue;
      ASSERT_TRUE(found.ok()) << entry.family << ": " << found.status();
      for (size_t i = 0; i < expected.size(); ++i) {
        const double tolerance = std::max(Tolerance(entry.family, node.outputs[i].dtype), RoundingOnGpu(node, i));
        EXPECT_LE(Distance((*found)[i], expected[i]), tolerance + again)
            << entry.family << " output " << i << " misalignment " << misalignment;
      }
    }
  }
}

TEST_P(DeviceKernel, GivesTheSameBitsAgainAndInPlace) {
  const KernelCase& c = GetParam();
  for (const CudaKernelEntry& entry : CudaKernelEntries(c.node.op->name)) {
    const auto first = RunOnGpu(TheGpu(), entry.family, c.node, c.inputs, {});
    if (!first.ok()) continue;  // the test before says whether it may
    EXPECT_EQ(*RunOnGpu(TheGpu(), entry.family, c.node, c.inputs, {}), *first) << entry.family;
    if (c.node.op->in_place.empty()) continue;
    EXPECT_EQ(*RunOnGpu(TheGpu(), entry.family, c.node, c.inputs, {.in_place = true}), *first) << entry.family;
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceKernel, testing::ValuesIn(AllCases()),
                         [](const auto& info) { return info.param.name; });

// Indices above 2^31, and more blocks than a grid has: the last elements are reached, and right.
TEST(DeviceKernels, ReachElementsBeyond31Bits) {
  Gpu& gpu = TheGpu();
  if (!gpu.why_not.empty()) GTEST_SKIP() << gpu.why_not;
  const int64_t n = (int64_t{1} << 31) + 12345;
  absl::StatusOr<std::unique_ptr<Arena>> memory = gpu.device->Allocate(n + 64);
  if (!memory.ok()) GTEST_SKIP() << memory.status();
  const LocalNode node =
      WholeNode("constant", {{"dtype", std::string("u8")}, {"shape", IntList{n}}, {"value", 7.0}}, {});
  const auto library = MakeCudaKernels({});
  const auto kernel = library->Create(node, *library->Choose(node), {{}, {(*memory)->data()}, nullptr, 0});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  ASSERT_TRUE((*kernel)->Launch(*gpu.stream).ok());
  unsigned char end[65] = {};
  char* const data = static_cast<char*>((*memory)->data());
  ASSERT_TRUE(gpu.stream->Copy(end, data + n - 64, 65).ok());
  ASSERT_TRUE(gpu.stream->Synchronize().ok());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(end[i], 7) << i;
  EXPECT_EQ(end[64], 0);
}

}  // namespace
}  // namespace partita

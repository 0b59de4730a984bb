// Ranks that share a device which the host does not reach, here made of the host's streams: the bits are those of a
// session.
#include "tests/runtime/api/rank/shared_device.h"

#include <gtest/gtest.h>

#include "ops/host/host_kernels.h"
#include "runtime/base/status.h"
#include "runtime/comm/local/local_communicator.h"
#include "runtime/device/host/host_device.h"
#include "runtime/device/host/host_stream.h"

namespace partita {
namespace {

// The session would read and write arenas of a HostDevice directly.
class FarDevice : public HostDevice {
 public:
  using HostDevice::HostDevice;
  bool host_addressable() const override { return false; }
};

// The host's kernels; that of one node leaves a word behind its work, as a kernel does that cannot return an error.
class WordyKernels : public KernelLibrary {
 public:
  explicit WordyKernels(std::string node) : node_(std::move(node)) {}

  uint64_t word = 0;  // what it leaves in the next steps

  absl::StatusOr<KernelChoice> Choose(const LocalNode& node) const override { return host_->Choose(node); }
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const LocalNode& node, const KernelChoice& choice,
                                                 KernelArguments arguments) const override {
    uint64_t* const fault = arguments.fault;
    EXPECT_NE(fault, nullptr);
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, host_->Create(node, choice, std::move(arguments)));
    if (node.name != node_) return kernel;
    return std::make_unique<Wordy>(std::move(kernel), &word, fault);
  }

 private:
  class Wordy : public Kernel {
   public:
    Wordy(std::unique_ptr<Kernel> kernel, const uint64_t* word, uint64_t* fault)
        : kernel_(std::move(kernel)), word_(word), fault_(fault) {}
    absl::Status Launch(Stream& stream) override {
      RETURN_IF_ERROR(kernel_->Launch(stream));
      return static_cast<HostStream&>(stream).Enqueue({Leave, this});
    }
    absl::Status Fault(uint64_t word) const override { return InvalidArgument("the word is {}", word); }

   private:
    static absl::Status Leave(void* self) {
      const auto& wordy = *static_cast<Wordy*>(self);
      *wordy.fault_ = *wordy.word_;
      return absl::OkStatus();
    }
    const std::unique_ptr<Kernel> kernel_;
    const uint64_t* const word_;
    uint64_t* const fault_;
  };

  const std::string node_;
  const std::unique_ptr<KernelLibrary> host_ = MakeHostKernels({.threads = 1});
};

struct Far {
  Far(const std::string& strategy, bool replay,
      std::unique_ptr<KernelLibrary> kernels = MakeHostKernels({.threads = 1}))
      : kernels(std::move(kernels)),
        shared(strategy, replay, device, *this->kernels, [](int ranks) { return *LocalWorld::Create(ranks); }) {}

  FarDevice device;
  const std::unique_ptr<KernelLibrary> kernels;
  SharedDevice shared;
};

void ExpectTheBitsOfASession(const std::string& strategy, bool replay) {
  Far far(strategy, replay);
  ExpectTheBitsOfASession(strategy, far.shared);
}

TEST(SharedDevice, OneRank) { ExpectTheBitsOfASession("1x1", true); }
TEST(SharedDevice, Replicas) { ExpectTheBitsOfASession("2x1", true); }
TEST(SharedDevice, Hybrid) { ExpectTheBitsOfASession("2x2", true); }
TEST(SharedDevice, HybridWithoutReplay) { ExpectTheBitsOfASession("2x2", false); }
TEST(SharedDevice, Mixed) { ExpectTheBitsOfASession("mixed", true); }

TEST(SharedDevice, TwoStepsAreInFlight) {
  for (const char* const strategy : {"1x1", "2x2", "mixed"}) {
    for (const bool replay : {true, false}) {
      SCOPED_TRACE(fmt::format("{}{}", strategy, replay ? "" : " without replay"));
      Far far(strategy, replay);
      ExpectTwoStepsInFlight(strategy, far.shared);
    }
  }
}

// Of all ranks of the device, with and without replay; and only in the step that left the word.
TEST(SharedDevice, AWordThatAKernelLeavesIsTheErrorOfItsStep) {
  const std::string node = "loss";
  for (const bool replay : {true, false}) {
    auto kernels = std::make_unique<WordyKernels>(node);
    uint64_t& word = kernels->word;
    Far far("2x1", replay, std::move(kernels));
    SharedDevice& shared = far.shared;
    ASSERT_NE(shared.train().Find(node), kNoValue);
    EXPECT_TRUE(shared.TryStep(MakeBatch(4, 0, DType::kF32)).ok());
    word = 17;
    const absl::Status status = shared.TryStep(MakeBatch(4, 1, DType::kF32));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), "rank 0: node 'loss': the word is 17");
    word = 0;
    EXPECT_TRUE(shared.TryStep(MakeBatch(4, 2, DType::kF32)).ok());
  }
}

}  // namespace
}  // namespace partita

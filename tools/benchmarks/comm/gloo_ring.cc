#include "tools/benchmarks/comm/gloo_ring.h"

#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>

#include <exception>
#include <thread>
#include <utility>

#include "runtime/base/status.h"

namespace partita {
namespace {

// Gloo tells failures by exceptions.
template <typename Function>
absl::Status CallGloo(const Function& function) {
  try {
    function();
  } catch (const std::exception& error) {
    return absl::UnavailableError(error.what());
  }
  return absl::OkStatus();
}

class Ring : public GlooRing {
 public:
  explicit Ring(std::shared_ptr<::gloo::rendezvous::Context> context) : context_(std::move(context)) {}

  absl::Status AllReduce(const float* in, float* out, int64_t count) override {
    return CallGloo([&] {
      ::gloo::AllreduceOptions options(context_);
      options.setAlgorithm(::gloo::AllreduceOptions::Algorithm::RING);
      options.setInput(const_cast<float*>(in), static_cast<size_t>(count));
      options.setOutput(out, static_cast<size_t>(count));
      options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&::gloo::sum<float>));
      ::gloo::allreduce(options);
    });
  }

 private:
  const std::shared_ptr<::gloo::rendezvous::Context> context_;
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<GlooRing>>> GlooRing::Connect(int ranks) {
  ::gloo::rendezvous::HashStore store;
  std::vector<std::unique_ptr<GlooRing>> rings(static_cast<size_t>(ranks));
  std::vector<absl::Status> connected(rings.size());
  std::vector<std::jthread> threads;  // joined also when one of them cannot be started
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      connected[rank] = CallGloo([&] {
        auto context = std::make_shared<::gloo::rendezvous::Context>(rank, ranks);
        auto device = ::gloo::transport::tcp::CreateDevice("127.0.0.1");
        context->connectFullMesh(store, device);
        rings[rank] = std::make_unique<Ring>(context);
      });
    });
  }
  for (std::jthread& thread : threads) thread.join();
  for (const absl::Status& status : connected) RETURN_IF_ERROR(status);
  return rings;
}

}  // namespace partita

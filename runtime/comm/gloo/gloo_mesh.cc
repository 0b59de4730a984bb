#include "runtime/comm/gloo/gloo_mesh.h"

#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>

#include <csignal>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Where `to` finds the address at which `from` waits for it.
std::string AddressKey(int from, int to) { return fmt::format("gloo/{}/{}", from, to); }

}  // namespace

void BlockPipeSignal() {
  thread_local const bool blocked = [] {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE);
    return pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0;
  }();
  CHECK(blocked);
}

absl::StatusOr<std::unique_ptr<GlooMesh>> GlooMesh::Connect(int rank, int size, const std::string& address,
                                                            KeyValueStore& store, std::chrono::milliseconds timeout) {
  std::unique_ptr<GlooMesh> mesh(new GlooMesh(rank, size));
  RETURN_IF_ERROR(mesh->Connect(address, store, timeout));
  return mesh;
}

absl::Status GlooMesh::Connect(const std::string& address, KeyValueStore& store, std::chrono::milliseconds timeout) {
  RETURN_IF_ERROR(WithContext(fmt::format("rank {}: cannot listen on {}", rank_, address), CallGloo([&] {
                                device_ = ::gloo::transport::tcp::CreateDevice(address.c_str());
                                context_ = device_->createContext(rank_, size_);
                                context_->setTimeout(timeout);
                              })));
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    std::string own;
    RETURN_IF_ERROR(CallGloo([&] {
      const std::vector<char> bytes = context_->createPair(peer)->address().bytes();
      own.assign(bytes.begin(), bytes.end());
    }));
    RETURN_IF_ERROR(store.Set(AddressKey(rank_, peer), own));
  }
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const absl::StatusOr<std::string> found = store.Get(AddressKey(peer, rank_), timeout);
    if (!found.ok()) return WithContext(fmt::format("rank {} does not come", peer), found.status());
    const std::vector<char> bytes(found->begin(), found->end());
    RETURN_IF_ERROR(WithContext(fmt::format("no connection to rank {}", peer),
                                CallGloo([&] { context_->getPair(peer)->connect(bytes); })));
  }
  return absl::OkStatus();
}

GlooMesh::~GlooMesh() = default;

std::unique_ptr<GlooBuffer> GlooMesh::NewBuffer(void* data, int64_t bytes) {
  return context_->createUnboundBuffer(data, static_cast<size_t>(bytes));
}

void GlooMesh::Close() {
  for (int peer = 0; peer < size_; ++peer) {
    // A connection that is broken already has nothing left to close.
    if (peer != rank_) CallGloo([&] { context_->getPair(peer)->close(); }).IgnoreError();
  }
}

}  // namespace partita

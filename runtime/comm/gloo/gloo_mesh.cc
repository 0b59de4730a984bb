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

// A wait without end: peers that do not answer are found by GlooWorld.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

// Where `to` finds the addresses at which `from` waits for it.
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
                                for (auto& way : ways_) {
                                  way = device_->createContext(rank_, size_);
                                  way->setTimeout(timeout);
                                }
                              })));
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    std::string own;
    RETURN_IF_ERROR(CallGloo([&] {
      for (auto& way : ways_) {
        const std::vector<char> bytes = way->createPair(peer)->address().bytes();
        own.append(bytes.begin(), bytes.end());
      }
    }));
    RETURN_IF_ERROR(store.Set(AddressKey(rank_, peer), own));
  }
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const absl::StatusOr<std::string> found = store.Get(AddressKey(peer, rank_), timeout);
    if (!found.ok()) return WithContext(fmt::format("rank {} does not come", peer), found.status());
    const auto half = static_cast<std::ptrdiff_t>(found->size() / 2);
    const std::vector<char> addresses[] = {{found->begin(), found->begin() + half},
                                           {found->begin() + half, found->end()}};
    for (size_t way = 0; way < ways_.size(); ++way) {
      RETURN_IF_ERROR(WithContext(fmt::format("no connection to rank {}", peer),
                                  CallGloo([&] { ways_[way]->getPair(peer)->connect(addresses[way]); })));
    }
  }
  return absl::OkStatus();
}

GlooMesh::~GlooMesh() = default;

std::unique_ptr<GlooBuffer> GlooMesh::NewBuffer(void* data, int64_t bytes) {
  auto buffer = std::make_unique<GlooBuffer>();
  buffer->rank_ = rank_;
  for (size_t way = 0; way < ways_.size(); ++way) {
    buffer->parts_[way] = ways_[way]->createUnboundBuffer(data, static_cast<size_t>(bytes));
  }
  return buffer;
}

void GlooMesh::Close() {
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    // A connection that is broken already has nothing left to close.
    for (auto& way : ways_) CallGloo([&] { way->getPair(peer)->close(); }).IgnoreError();
  }
}

void GlooBuffer::Send(int rank, uint64_t slot, int64_t offset, int64_t bytes) {
  ToRank(rank).send(rank, slot, static_cast<size_t>(offset), static_cast<size_t>(bytes));
}

void GlooBuffer::Receive(int rank, uint64_t slot, int64_t offset, int64_t bytes) {
  FromRank(rank).recv(rank, slot, static_cast<size_t>(offset), static_cast<size_t>(bytes));
}

bool GlooBuffer::AwaitSend(int rank) { return ToRank(rank).waitSend(kForever); }

bool GlooBuffer::AwaitReceive(int rank) { return FromRank(rank).waitRecv(kForever); }

void GlooBuffer::Interrupt() {
  for (auto& part : parts_) {
    part->abortWaitRecv();
    part->abortWaitSend();
  }
}

}  // namespace partita

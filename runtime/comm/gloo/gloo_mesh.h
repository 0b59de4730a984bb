// Two TCP connections between each two ranks, by Gloo: made, used and closed without an exception leaving this folder.
//
// Each carries blocks one way (and the word that a block is awaited the other way). Gloo writes under a lock of the
// connection, and its thread that reads tries that lock again and again: where a connection is written and read at the
// same time, as collectives do, a core is lost for as long as the write lasts.
#ifndef PARTITA_RUNTIME_COMM_GLOO_GLOO_MESH_H_
#define PARTITA_RUNTIME_COMM_GLOO_GLOO_MESH_H_

#include <gloo/transport/unbound_buffer.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/key_value_store.h"

namespace gloo::transport {
class Context;
class Device;
}  // namespace gloo::transport

namespace partita {

// Gloo writes to connections that a peer may have closed. From now on the calling thread, and those that it starts, get
// an error for it and not a signal.
void BlockPipeSignal();

// Runs a call into Gloo; what it throws becomes kUnavailable.
template <typename Function>
absl::Status CallGloo(const Function& function) {
  BlockPipeSignal();
  try {
    function();
  } catch (const std::exception& error) {
    return absl::UnavailableError(error.what());
  }
  return absl::OkStatus();
}

// Memory from which blocks are sent and into which they come. Its functions throw what Gloo throws (CallGloo).
class GlooBuffer {
 public:
  // Start, and return at once. A slot names a block between two ranks and stands for one size: Gloo ends the process
  // where a block is longer than what waits for it (GlooCall).
  void Send(int rank, uint64_t slot, int64_t offset, int64_t bytes);
  void Receive(int rank, uint64_t slot, int64_t offset, int64_t bytes);

  // Block until one more block has gone to a rank, or come from it. Gloo counts by way, not by rank: who waits for
  // several of one buffer waits for all. False: Interrupt.
  bool AwaitSend(int rank);
  bool AwaitReceive(int rank);

  // From any thread: those who wait return.
  void Interrupt();

 private:
  friend class GlooMesh;
  using Part = ::gloo::transport::UnboundBuffer;
  Part& ToRank(int rank) { return *parts_[rank > rank_ ? 0 : 1]; }
  Part& FromRank(int rank) { return *parts_[rank > rank_ ? 1 : 0]; }

  int rank_ = 0;
  std::array<std::unique_ptr<Part>, 2> parts_;  // by way: up, to higher ranks; and down
};

// Thread-safe, but for Close, which one thread calls.
class GlooMesh {
 public:
  // Meets the other ranks of 0..size-1 through `store`. `address`: the numeric address of the interface to listen on.
  // kUnavailable: a rank did not come within `timeout`; it is named.
  static absl::StatusOr<std::unique_ptr<GlooMesh>> Connect(int rank, int size, const std::string& address,
                                                           KeyValueStore& store, std::chrono::milliseconds timeout);
  ~GlooMesh();

  int rank() const { return rank_; }
  int size() const { return size_; }

  // `data` must outlive the operations that use it.
  std::unique_ptr<GlooBuffer> NewBuffer(void* data, int64_t bytes);

  // Ends all connections at once. When it returns, nothing touches a buffer any more.
  void Close();

 private:
  GlooMesh(int rank, int size) : rank_(rank), size_(size) {}
  absl::Status Connect(const std::string& address, KeyValueStore& store, std::chrono::milliseconds timeout);

  const int rank_;
  const int size_;
  std::shared_ptr<::gloo::transport::Device> device_;
  std::array<std::shared_ptr<::gloo::transport::Context>, 2> ways_;  // up and down
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_GLOO_GLOO_MESH_H_

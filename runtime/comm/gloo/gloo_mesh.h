// A TCP connection between each two ranks, by Gloo: made, used and closed without an exception leaving this folder.
#ifndef PARTITA_RUNTIME_COMM_GLOO_GLOO_MESH_H_
#define PARTITA_RUNTIME_COMM_GLOO_GLOO_MESH_H_

#include <gloo/transport/unbound_buffer.h>

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

using GlooBuffer = ::gloo::transport::UnboundBuffer;

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

  // Memory from which blocks are sent and into which they come; must outlive the operations that use it. Gloo ends the
  // process where a block is longer than what waits for it, so a slot must stand for one size (GlooCall).
  std::unique_ptr<GlooBuffer> NewBuffer(void* data, int64_t bytes);

  // Ends all connections at once. When it returns, nothing touches a buffer any more.
  void Close();

 private:
  GlooMesh(int rank, int size) : rank_(rank), size_(size) {}
  absl::Status Connect(const std::string& address, KeyValueStore& store, std::chrono::milliseconds timeout);

  const int rank_;
  const int size_;
  std::shared_ptr<::gloo::transport::Device> device_;
  std::shared_ptr<::gloo::transport::Context> context_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_GLOO_GLOO_MESH_H_

// The common base of our own communicators: checks arguments, records each call, and counts.
//
// A record says what was asked for (comm_call.h). How the work is done and on what kind of stream is the backend's.
#ifndef PARTITA_RUNTIME_COMM_SHARED_CHECKED_COMMUNICATOR_H_
#define PARTITA_RUNTIME_COMM_SHARED_CHECKED_COMMUNICATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/shared/comm_call.h"

namespace partita {

// kInvalidArgument: what World::CreateCommunicator says of the ranks of a group. `world`: how many ranks there are.
absl::Status CheckGroup(int group_id, std::span<const int> ranks, int rank, int world);

class CheckedCommunicator : public Communicator {
 public:
  CheckedCommunicator(int rank, int size) : rank_(rank), size_(size) {}

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  absl::Status Enqueue(const Collective& collective, ConstBuffer in, Buffer out, Stream& stream) override;
  CommBytes bytes() const override;

 protected:
  // A record of the backend's own kind.
  virtual std::unique_ptr<CommCall> NewCall() const { return std::make_unique<CommCall>(); }

  // kInvalidArgument: not a stream that EnqueueCall can use.
  virtual absl::Status CheckStream(CollectiveKind kind, const Stream& stream) const = 0;

  virtual absl::Status EnqueueCall(std::unique_ptr<CommCall> call, Stream& stream) = 0;

  // World::moves_blocks().
  virtual bool moves_blocks() const { return false; }

  // One run of a call, its wire and waited set. Thread-safe.
  void Count(const CommCall& call);

 private:
  absl::Status CheckBuffer(const char* name, const ConstBuffer& buffer, int64_t count) const;
  absl::Status CheckCounts(const char* name, std::span<const int64_t> counts) const;
  absl::Status CheckBlocks(const char* name, const ConstBuffer& buffer, std::span<const StridedBlock> blocks) const;
  absl::Status CheckTypes(const CommCall& call) const;
  absl::Status CountBlocks(CommCall& call) const;
  absl::Status CheckOperands(const CommCall& call) const;

  const int rank_;
  const int size_;

  // CommBytes. Written by the thread that runs a call, read by any.
  std::atomic<int64_t> payload_{0};
  std::atomic<int64_t> wire_{0};
  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> waits_{0};
  std::atomic<uint64_t> wait_cycles_{0};
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_SHARED_CHECKED_COMMUNICATOR_H_

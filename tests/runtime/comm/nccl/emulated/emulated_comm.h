// One rank's communicator of the emulated NCCL: how it joins, runs, fails and ends.
#ifndef PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_EMULATED_COMM_H_
#define PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_EMULATED_COMM_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/comm/nccl/emulated/operation.h"
#include "tests/runtime/comm/nccl/emulated/peer_mesh.h"

namespace partita::emulated_nccl {

struct CommOptions {
  int64_t number = 0;  // of this process's communicators, for messages
  std::string name;    // of the unique id
  Hello hello;
  bool blocking = false;
  // Whether all of these bytes are memory of the communicator's GPU now.
  std::function<bool(const void*, size_t)> on_device;
  // Take a sentence for ncclGetLastError and standard error: of a mistake, and of what happens without one.
  std::function<void(const std::string&)> report, note;
};

// Thread-safe. What blocks is called on threads of the library.
class EmulatedComm : public std::enable_shared_from_this<EmulatedComm> {
 public:
  explicit EmulatedComm(CommOptions options);

  const CommOptions& options() const { return options_; }
  int rank() const { return options_.hello.rank; }
  int size() const { return options_.hello.size; }

  // "communicator 2 (rank 0 of 3)".
  std::string ToString() const;

  // A call is under way until it is done. Begin is refused (ncclInvalidArgument) while another one is, as NCCL refuses
  // it, and returns the error of a communicator that has failed.
  ncclResult_t Begin(const char* call);
  void Done();

  // What ncclCommGetAsyncError finds.
  ncclResult_t Error() const;
  void AwaitDone();

  // Until all ranks have come.
  void Join();

  // The work of a call or of a group, on the thread that runs it. Blocks until the peers have come with the same. After
  // a failure it blocks until the communicator is aborted, as a kernel of NCCL's does.
  void Run(const std::vector<Operation>& operations);

  // The communicator is in use while a copy of it lives: of work that waits in a stream, or that a graph holds.
  // `captured`: the operations that a graph holds.
  std::shared_ptr<void> Reference(const std::vector<Operation>& captured);

  // Waits for references to go, then until all ranks have called it.
  void Finalize();
  bool finalized() const;

  // The memory that graphs used must be there until the communicator has ended: NCCL maps it into the peers.
  void CheckMemory();

  // Ends what runs and what waits; the communicator is of no use any more.
  void Abort();
  void AwaitReferences(bool also_aborted);

 private:
  void Fail(const Outcome& outcome);
  const Operation* WithFreedMemory(const std::vector<Operation>& operations) const;

  const CommOptions options_;
  PeerMesh mesh_;
  Mover mover_;
  std::mutex running_;  // one piece of work at a time

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool under_way_ = false;
  bool aborted_ = false;
  bool finalize_called_ = false, finalized_ = false;
  ncclResult_t error_ = ncclSuccess;
  int references_ = 0;
  std::set<std::pair<const char*, size_t>> used_;  // by graphs
};

}  // namespace partita::emulated_nccl

#endif  // PARTITA_TESTS_RUNTIME_COMM_NCCL_EMULATED_EMULATED_COMM_H_

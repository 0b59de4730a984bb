// What the suite needs to know of a communicator beyond its interface: how the ranks of a world come to be.
#ifndef PARTITA_TESTS_CONFORMANCE_COMM_BACKEND_H_
#define PARTITA_TESTS_CONFORMANCE_COMM_BACKEND_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/comm/communicator.h"
#include "runtime/device/device.h"
#include "tests/conformance/device_backend.h"

namespace partita {

// Some ranks in one group, each with a device, a stream and a communicator.
class CommRanks {
 public:
  virtual ~CommRanks() = default;
  virtual Device& device(int rank) = 0;
  virtual Stream& stream(int rank) = 0;
  virtual Communicator& communicator(int rank) = 0;

  // A peer has failed: no rank may wait for it any more.
  virtual void Abort(const absl::Status& status) = 0;
};

class CommBackend {
 public:
  virtual ~CommBackend() = default;
  virtual std::string name() const = 0;
  virtual const DeviceBackend& device_backend() const = 0;

  // All ranks in group `group_id`.
  virtual std::unique_ptr<CommRanks> CreateRanks(int ranks, int group_id) const = 0;

  // True if wire bytes are counted as they are copied, and not left to a library.
  virtual bool counts_wire() const = 0;

  // World::moves_blocks().
  virtual bool moves_blocks() const = 0;

  // True if the rank that comes last never waits; where data must travel, every rank does.
  virtual bool knows_who_waits() const = 0;

  // True if all ranks are driven by one thread: behind a collective a rank can enqueue nothing before all have called.
  virtual bool walked_together() const { return false; }
};

// Every backend of this build. Never freed.
const std::vector<const CommBackend*>& CommBackends();

}  // namespace partita

#endif  // PARTITA_TESTS_CONFORMANCE_COMM_BACKEND_H_

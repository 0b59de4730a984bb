// Tracks the content of every byte of the arena while launches are visited in program order: finds reads of foreign
// bytes.
//
//   launch 3 writes 'm' to [0, 64)    launch 4 writes 'y' to [0, 64)    launch 5 reads 'm' at [0, 64): refused
#ifndef PARTITA_GRAPH_PROVE_CONTENT_LOG_H_
#define PARTITA_GRAPH_PROVE_CONTENT_LOG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/schedule/byte_cells.h"
#include "graph/schedule/schedule.h"

namespace partita {

// For every byte: which byte of which tensor it holds, and which launch wrote it. Program order decides which write is
// last, so races must have been excluded. A visit costs the logarithm of the number of runs of bytes with equal
// content, and the runs it meets.
class ContentLog {
 public:
  // At first the states and their rounded copies lie in their places.
  explicit ContentLog(const Schedule& schedule);

  // Visits all launches once more: call it once for each step. kInternal names the launch that reads a foreign byte,
  // the tensor that it means, and the launch that has overwritten it.
  absl::Status AddStep();

 private:
  static constexpr int kBeforeTheStep = -1;
  static constexpr int kNoWriter = -2;

  struct Cell {
    TensorId tensor = kNoTensor;
    int64_t origin = 0;  // where byte 0 of the tensor lies
    int writer = kNoWriter;
    bool written = false;  // false: the tensor's, but no launch has written them yet
  };

  // A tensor that is written in parts has all of its bytes from its first write on.
  struct Opened {
    int step = -1;
    int64_t origin = 0;
  };

  std::vector<const Placement*> StatePlacements() const;
  void Put(const ByteRange& range, const Cell& cell);
  absl::Status Read(const Access& access, int launch);
  absl::Status Write(const Access& access, int launch);
  absl::Status WriteGaps(const Access& access, int launch);
  absl::Status CarryStates();
  std::string Now(const Cell& cell, TensorId meant) const;
  std::string Name(TensorId tensor) const;

  const Schedule& schedule_;
  ByteCells<Cell> cells_;
  std::vector<Opened> opened_;     // by TensorId
  std::vector<TensorId> becomes_;  // by TensorId of a state: what it is after a step
  int step_ = 0;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_PROVE_CONTENT_LOG_H_

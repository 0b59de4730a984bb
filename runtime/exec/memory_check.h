// Compares the memory plan with the bytes actually touched: canaries in the bytes that the plan does not assign, and
// the highest byte that was written. Reads and writes the arena from the calling thread; never while a step runs.
#ifndef PARTITA_RUNTIME_EXEC_MEMORY_CHECK_H_
#define PARTITA_RUNTIME_EXEC_MEMORY_CHECK_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "graph/schedule/schedule.h"

namespace partita {

inline constexpr unsigned char kCanaryByte = 0xA5;

// Of one arena and the schedules that run in it (those of one rank, with equal states).
class MemoryCheck {
 public:
  // The arena has `guard_bytes` more behind the largest total of the schedules. Both must outlive the check.
  MemoryCheck(std::vector<const Schedule*> schedules, void* arena, int64_t guard_bytes);

  // Fills everything but the states with canaries: between steps, before inputs are staged.
  void Paint();

  // kInternal names the first byte that was written though it is part of no tensor of any schedule, and the tensor
  // before it. Looks at the guard behind the end alone if `guard_only`.
  absl::Status CheckGuards(bool guard_only = false) const;

  // One more than the offset of the highest byte that is not a canary, states included; 0: none. A tensor may end in
  // bytes that equal the canary, so the true answer may be a few bytes higher.
  int64_t HighestTouched() const;

  int64_t planned() const { return planned_; }
  // The highest end of any tensor that is written whole: `planned` without the padding behind the last one, unless the
  // peak is workspace, whose end a kernel may leave untouched.
  int64_t highest_end() const { return highest_end_; }

 private:
  const std::vector<const Schedule*> schedules_;
  unsigned char* const arena_;
  const int64_t guard_bytes_;
  int64_t planned_ = 0;
  int64_t highest_end_ = 0;
  std::vector<ByteRange> states_;  // sorted, disjoint
  std::vector<ByteRange> gaps_;    // part of no lifetime, sorted
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_EXEC_MEMORY_CHECK_H_

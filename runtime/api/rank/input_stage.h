// Stages a rank's inputs on a device that the host cannot access: two buffers in turn, which a separate stream fills
// while the previous step runs. The step begins by copying them into the arena, whose memory has other uses later
// (docs/design.md 5.6).
#ifndef PARTITA_RUNTIME_API_RANK_INPUT_STAGE_H_
#define PARTITA_RUNTIME_API_RANK_INPUT_STAGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"
#include "runtime/exec/executor.h"

namespace partita {

// Thread-compatible. Before a Take the step before the last one has ended: it read the place that is filled now.
class InputStage {
 public:
  static constexpr int kTurns = 2;

  // `inputs`: from memory of Device::AllocateHost to the arena. `name`: of the stream.
  static absl::StatusOr<std::unique_ptr<InputStage>> Create(Device& device, std::string name,
                                                            std::vector<ByteCopy> inputs);
  // Of the device, for inputs of such sizes.
  static int64_t BytesFor(std::span<const int64_t> inputs);

  // What a step of that turn begins with.
  std::vector<ByteCopy> IntoArena(int turn) const;

  // Starts to send what the host's memory holds, for the next step, whose turn it returns. Work enqueued on `stream`
  // from now on comes behind the sending.
  absl::StatusOr<int> Take(Stream& stream);
  // Blocks until the host's memory may be written again.
  absl::Status WaitUntilSent();

 private:
  explicit InputStage(std::vector<ByteCopy> inputs) : inputs_(std::move(inputs)) {}

  const std::vector<ByteCopy> inputs_;
  std::vector<int64_t> offsets_;  // by input, in a place
  int64_t place_bytes_ = 0;
  std::unique_ptr<Arena> memory_;
  std::unique_ptr<Event> sent_;
  std::unique_ptr<Stream> stream_;
  int turn_ = 0;  // of what was sent last
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_RANK_INPUT_STAGE_H_

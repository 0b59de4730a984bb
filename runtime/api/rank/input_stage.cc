#include "runtime/api/rank/input_stage.h"

#include <utility>

#include "runtime/base/alignment.h"
#include "runtime/base/status.h"

namespace partita {

int64_t InputStage::BytesFor(std::span<const int64_t> inputs) {
  int64_t bytes = 0;
  for (const int64_t input : inputs) bytes += AlignUp(input);
  return kTurns * bytes;
}

absl::StatusOr<std::unique_ptr<InputStage>> InputStage::Create(Device& device, std::string name,
                                                               std::vector<ByteCopy> inputs) {
  std::unique_ptr<InputStage> stage(new InputStage(std::move(inputs)));
  for (const ByteCopy& input : stage->inputs_) {
    stage->offsets_.push_back(stage->place_bytes_);
    stage->place_bytes_ += AlignUp(input.bytes);
  }
  ASSIGN_OR_RETURN(stage->memory_, device.Allocate(kTurns * stage->place_bytes_));
  ASSIGN_OR_RETURN(stage->sent_, device.CreateEvent());
  ASSIGN_OR_RETURN(stage->stream_, device.CreateStream(std::move(name)));
  return stage;
}

std::vector<ByteCopy> InputStage::IntoArena(int turn) const {
  const char* const place = static_cast<const char*>(memory_->data()) + turn * place_bytes_;
  std::vector<ByteCopy> copies = inputs_;
  for (size_t i = 0; i < copies.size(); ++i) copies[i].from = place + offsets_[i];
  return copies;
}

absl::StatusOr<int> InputStage::Take(Stream& stream) {
  turn_ = (turn_ + 1) % kTurns;
  char* const place = static_cast<char*>(memory_->data()) + turn_ * place_bytes_;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    RETURN_IF_ERROR(stream_->Copy(place + offsets_[i], inputs_[i].from, inputs_[i].bytes));
  }
  RETURN_IF_ERROR(stream_->Record(*sent_));
  RETURN_IF_ERROR(stream.Wait(*sent_));
  return turn_;
}

absl::Status InputStage::WaitUntilSent() { return sent_->Synchronize(); }

}  // namespace partita

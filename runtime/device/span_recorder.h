// The timeline of one replay: when each tag (launch of the schedule) began and ended.
//
// A span goes from the start of the tag's first task to the end of its last; waiting for events before the first
// task is not part of it, waiting inside of a task (a collective for its peers) is. Each replay overwrites the one
// before. Read it between CapturedStep::Wait and the next Launch; after a failed replay the spans are meaningless.
#ifndef PARTITA_RUNTIME_DEVICE_SPAN_RECORDER_H_
#define PARTITA_RUNTIME_DEVICE_SPAN_RECORDER_H_

#include <cstdint>
#include <vector>

namespace partita {

// Seconds since the replay was launched. A tag without any task has begin == end == 0.
struct Span {
  double begin = 0;
  double end = 0;
};

class SpanRecorder {
 public:
  // Indexed by tag: 0 to the largest tag of the captured step.
  std::vector<Span> Spans() const;

  // The rest is for devices. Prepare forgets all stamps and makes room for tags 0..tags-1.
  void Prepare(int32_t tags);
  void Start(uint64_t cycles) { start_ = cycles; }
  void Begin(int32_t tag, uint64_t cycles) { stamps_[tag].begin = cycles; }
  void End(int32_t tag, uint64_t cycles) { stamps_[tag].end = cycles; }

 private:
  struct Stamps {
    uint64_t begin = 0;
    uint64_t end = 0;
  };
  uint64_t start_ = 0;
  std::vector<Stamps> stamps_;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_DEVICE_SPAN_RECORDER_H_

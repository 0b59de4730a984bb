// The order of forward and backward tasks of micro-batches on each stage of a pipeline.
//
// A task (stage, micro-batch, forward or backward) needs the forward of the stage before it, or the backward of the
// stage after it and its own forward; in `local` a backward needs its own forward alone. A stage runs `warm-up`
// forwards and then alternates backward and forward:
//
//   gpipe          all m forwards, then all backwards (Huang et al. 2019)
//   1f1b           min(m, S - s) forwards: a stage never holds more activations than stages follow it (PipeDream-Flush)
//   1f1b_overlap   min(m, 2 (S - s) - 1): transfers have a task's time to arrive (Zhuang et al. 2022, section 4)
//   local          1: each forward is followed by its backward, where no gradient crosses stages (docs/papers.md 5.2)
//
// with S stages, stages s counted from 0 and m micro-batches.
#ifndef PARTITA_GRAPH_DERIVE_PIPELINE_H_
#define PARTITA_GRAPH_DERIVE_PIPELINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace partita {

enum class PipelineOrder : uint8_t { kGPipe, kOneForwardOneBackward, kOverlapFriendly, kLocal };

const char* Name(PipelineOrder order);  // as above
std::optional<PipelineOrder> FindPipelineOrder(const std::string& name);
std::vector<std::string> PipelineOrderNames();

struct PipelineTask {
  int64_t micro_batch = 0;
  bool backward = false;
  bool operator==(const PipelineTask&) const = default;
};

// Forwards of `stage` before its first backward.
int64_t WarmUp(PipelineOrder order, int stages, int64_t micro_batches, int stage);

// What a stage does, in order: every micro-batch once forward and once backward.
std::vector<PipelineTask> TasksOf(PipelineOrder order, int stages, int64_t micro_batches, int stage);

// When every task runs if each takes one unit of time and each stage does its tasks in order as soon as it can.
class PipelineTimes {
 public:
  PipelineTimes(PipelineOrder order, int stages, int64_t micro_batches);

  int64_t At(int stage, const PipelineTask& task) const { return times_[Index(stage, task)]; }
  int64_t length() const { return length_; }  // of the whole pipeline

 private:
  size_t Index(int stage, const PipelineTask& task) const {
    return static_cast<size_t>((stage * micro_batches_ + task.micro_batch) * 2 + (task.backward ? 1 : 0));
  }

  int64_t micro_batches_;
  std::vector<int64_t> times_;
  int64_t length_ = 0;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_DERIVE_PIPELINE_H_

// One block of a launch: its threads run on fibers, one at a time, in an order that a generator chooses, from one
// meeting to the next (meeting.h).
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_BLOCK_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_BLOCK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/ops/cuda/fibers/fiber.h"
#include "tests/ops/cuda/fibers/memory.h"

namespace partita::fibers {

inline constexpr int kWarp = 32;

struct BlockShape {
  unsigned lanes = 1, depths = 1, blocks = 1;
};

class Block {
 public:
  // `thread` is what each thread does; `memory` what it may touch.
  Block(BlockShape shape, std::function<void()> thread, Memory& memory, std::mt19937_64& order);

  // Runs the threads of block `index` to their end. Returns an error, after which no thread continues, or "".
  std::string Run(unsigned index);

  // The block whose thread is running; null outside of a kernel.
  static Block* running();

  // What follows is called by the running thread.
  unsigned index() const { return index_; }
  const BlockShape& shape() const { return shape_; }
  unsigned thread() const { return thread_; }
  int lane() const { return static_cast<int>(thread_ % kWarp); }

  struct Place {
    const char* call = "";
    int line = 0;       // of the file `call`, of a meeting of the block
    unsigned mask = 0;  // 0: of the whole block
    bool operator==(const Place& other) const;
  };
  // The thread goes on when all that are to be there are at the same place.
  const uint64_t* Meet(const Place& place, uint64_t given);
  void Touch(const Access& access);
  // The thread and its block end here: what lies on its stack is not destroyed.
  void Fail(std::string what);

 private:
  enum class State { kReady, kWaits, kEnded };
  struct Thread {
    State state = State::kReady;
    std::unique_ptr<Fiber> fiber;  // while it is between its beginning and its end
    Place place;
    uint64_t given = 0;
  };

  void Continue(unsigned thread);
  // Resumes the threads that have met; returns an error if none can continue.
  std::string Release();
  bool ReleaseWarp(size_t first);
  bool AllAt(size_t first, unsigned mask, const Place& place) const;
  std::string Stuck() const;

  const BlockShape shape_;
  const std::function<void()> work_;
  Memory& memory_;
  std::mt19937_64& order_;
  SharedMemory shared_;
  unsigned index_ = 0, thread_ = 0;
  Fiber* fiber_ = nullptr;  // of the running thread
  std::string failure_;
  std::vector<Thread> threads_;
  std::vector<uint64_t> met_;  // what the lanes of each warp gave to its last meeting
  std::vector<std::unique_ptr<Fiber>> idle_;
};

}  // namespace partita::fibers

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_BLOCK_H_

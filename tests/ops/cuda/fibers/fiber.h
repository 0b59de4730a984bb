// A stack of its own on which a function runs, stops in the middle, and goes on later.
#ifndef PARTITA_TESTS_OPS_CUDA_FIBERS_FIBER_H_
#define PARTITA_TESTS_OPS_CUDA_FIBERS_FIBER_H_

#include <setjmp.h>
#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace partita::fibers {

class Fiber {
 public:
  // Arguments of a kernel, up to 32 KB, lie on it.
  static constexpr size_t kStackBytes = size_t{256} << 10;

  Fiber();
  // What stopped in the middle is dropped, without unwinding.
  ~Fiber() = default;
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Runs `work` until its end or its next Pause.
  void Start(std::function<void()> work);
  void Resume();
  bool done() const { return done_; }

  // Called on the fiber: back to who started or resumed it.
  void Pause();

  bool Owns(const void* address) const {
    return address >= stack_.get() && address < static_cast<const void*>(stack_.get() + kStackBytes);
  }

 private:
  static void Enter(unsigned high, unsigned low);
  [[noreturn]] void Work();

  const std::unique_ptr<char[]> stack_;
  std::function<void()> work_;
  bool entered_ = false, done_ = true;
  ucontext_t first_;  // only to come on the stack: later switches make no system call
  jmp_buf inside_, outside_;
  // For the address sanitizer: it must know on which stack it is.
  void *inside_frames_ = nullptr, *outside_frames_ = nullptr;
  const void* outside_stack_ = nullptr;
  size_t outside_bytes_ = 0;
};

}  // namespace partita::fibers

#endif  // PARTITA_TESTS_OPS_CUDA_FIBERS_FIBER_H_

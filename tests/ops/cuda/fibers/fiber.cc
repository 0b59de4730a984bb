#include "tests/ops/cuda/fibers/fiber.h"

#include <cstdint>
#include <utility>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

namespace partita::fibers {
namespace {

#ifdef __SANITIZE_ADDRESS__
void Leave(void** frames, const void* stack, size_t bytes) { __sanitizer_start_switch_fiber(frames, stack, bytes); }
void Arrive(void* frames, const void** stack, size_t* bytes) { __sanitizer_finish_switch_fiber(frames, stack, bytes); }
#else
void Leave(void**, const void*, size_t) {}
void Arrive(void*, const void**, size_t*) {}
#endif

}  // namespace

// Not filled: untouched pages of a stack cost nothing.
Fiber::Fiber() : stack_(new char[kStackBytes]) {}

void Fiber::Start(std::function<void()> work) {
  work_ = std::move(work);
  done_ = false;
  Resume();
}

void Fiber::Resume() {
  if (_setjmp(outside_) == 0) {
    Leave(&outside_frames_, stack_.get(), kStackBytes);
    if (entered_) _longjmp(inside_, 1);
    entered_ = true;
    getcontext(&first_);
    first_.uc_stack.ss_sp = stack_.get();
    first_.uc_stack.ss_size = kStackBytes;
    first_.uc_link = nullptr;
    const auto self = reinterpret_cast<uintptr_t>(this);
    makecontext(&first_, reinterpret_cast<void (*)()>(&Fiber::Enter), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
    setcontext(&first_);
  }
  Arrive(outside_frames_, nullptr, nullptr);
}

void Fiber::Pause() {
  if (_setjmp(inside_) == 0) {
    Leave(&inside_frames_, outside_stack_, outside_bytes_);
    _longjmp(outside_, 1);
  }
  Arrive(inside_frames_, &outside_stack_, &outside_bytes_);
}

void Fiber::Enter(unsigned high, unsigned low) {
  reinterpret_cast<Fiber*>(static_cast<uintptr_t>(high) << 32 | low)->Work();
}

void Fiber::Work() {
  Arrive(nullptr, &outside_stack_, &outside_bytes_);
  for (;;) {
    work_();
    done_ = true;
    Pause();
  }
}

}  // namespace partita::fibers

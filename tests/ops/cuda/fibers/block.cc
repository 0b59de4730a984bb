#include "tests/ops/cuda/fibers/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace partita::fibers {
namespace {

Block* the_running = nullptr;

}  // namespace

Block* Block::running() { return the_running; }

bool Block::Place::operator==(const Place& other) const {
  return line == other.line && mask == other.mask && std::strcmp(call, other.call) == 0;
}

Block::Block(BlockShape shape, std::function<void()> thread, Memory& memory, std::mt19937_64& order)
    : shape_(shape), work_(std::move(thread)), memory_(memory), order_(order) {
  const size_t threads = size_t{shape.lanes} * shape.depths;
  threads_.resize(threads);
  met_.resize((threads + kWarp - 1) / kWarp * kWarp);
}

std::string Block::Run(unsigned index) {
  index_ = index;
  shared_.BeginBlock();
  for (Thread& thread : threads_) thread.state = State::kReady;
  for (;;) {
    std::vector<unsigned> ready;
    for (unsigned t = 0; t < threads_.size(); ++t) {
      if (threads_[t].state == State::kReady) ready.push_back(t);
    }
    if (ready.empty()) return "";
    std::ranges::shuffle(ready, order_);
    for (const unsigned t : ready) {
      Continue(t);
      if (!failure_.empty()) return fmt::format("block {}, thread {}: {}", index_, t, failure_);
    }
    if (const std::string stuck = Release(); !stuck.empty()) return fmt::format("block {}: {}", index_, stuck);
  }
}

void Block::Continue(unsigned t) {
  Thread& thread = threads_[t];
  thread_ = t;
  the_running = this;
  const bool begins = thread.fiber == nullptr;
  if (begins) {
    if (idle_.empty()) idle_.push_back(std::make_unique<Fiber>());
    thread.fiber = std::move(idle_.back());
    idle_.pop_back();
  }
  fiber_ = thread.fiber.get();
  if (begins) {
    fiber_->Start(work_);
  } else {
    fiber_->Resume();
  }
  the_running = nullptr;
  if (!thread.fiber->done()) return;
  idle_.push_back(std::move(thread.fiber));
  thread.state = State::kEnded;
}

const uint64_t* Block::Meet(const Place& place, uint64_t given) {
  Thread& thread = threads_[thread_];
  thread.place = place;
  thread.given = given;
  thread.state = State::kWaits;
  thread.fiber->Pause();
  return &met_[thread_ / kWarp * kWarp];
}

void Block::Fail(std::string what) {
  failure_ = std::move(what);
  threads_[thread_].fiber->Pause();
}

void Block::Touch(const Access& access) {
  if (fiber_->Owns(access.address)) return;
  if (shared_.Holds(access.address)) return shared_.Touch(access);
  if (IsDeviceVariable(access.address)) return;
  if (!memory_.Touch(access)) Fail(memory_.Wrong(access));
}

bool Block::AllAt(size_t first, unsigned mask, const Place& place) const {
  for (size_t lane = 0; lane < kWarp; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    if (first + lane >= threads_.size()) return false;
    const Thread& other = threads_[first + lane];
    if (other.state != State::kWaits || !(other.place == place)) return false;
  }
  return true;
}

bool Block::ReleaseWarp(size_t first) {
  bool any = false;
  for (size_t t = first; t < std::min(first + kWarp, threads_.size()); ++t) {
    const Place place = threads_[t].place;
    if (threads_[t].state != State::kWaits || place.mask == 0 || !AllAt(first, place.mask, place)) continue;
    for (size_t lane = 0; lane < kWarp; ++lane) {
      if ((place.mask >> lane & 1) == 0) continue;
      met_[first + lane] = threads_[first + lane].given;
      threads_[first + lane].state = State::kReady;
    }
    any = true;
  }
  return any;
}

std::string Block::Release() {
  const auto ended = [](const Thread& thread) { return thread.state == State::kEnded; };
  if (std::ranges::all_of(threads_, ended)) return "";
  bool any = false;
  for (size_t first = 0; first < threads_.size(); first += kWarp) any = ReleaseWarp(first) || any;
  if (any) return "";
  const Place place = threads_[0].place;
  const auto here = [&](const Thread& thread) {
    return thread.state == State::kWaits && thread.place.mask == 0 && thread.place == place;
  };
  if (!std::ranges::all_of(threads_, here)) return Stuck();
  for (Thread& thread : threads_) thread.state = State::kReady;
  return "";
}

std::string Block::Stuck() const {
  std::map<std::string, std::vector<unsigned>> where;
  for (unsigned t = 0; t < threads_.size(); ++t) {
    const Place& place = threads_[t].place;
    std::string at = "have ended";
    if (threads_[t].state == State::kWaits) {
      at = place.mask == 0 ? fmt::format("wait in {}:{}", place.call, place.line)
                           : fmt::format("wait in {} of lanes {:#x}", place.call, place.mask);
    }
    where[at].push_back(t);
  }
  std::string text = "its threads do not meet:";
  for (const auto& [at, threads] : where) {
    text += fmt::format(" {} {} (the first is {});", threads.size(), at, threads.front());
  }
  return text;
}

}  // namespace partita::fibers

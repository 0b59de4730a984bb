// The sums of a program whose ranks are threads of one process, as MPI_Allreduce would make them on communicators.
#ifndef PARTITA_TESTS_TESTING_GROUP_SUMS_H_
#define PARTITA_TESTS_TESTING_GROUP_SUMS_H_

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace partita {

enum class SumType : uint8_t { kF32, kF64, kI32 };

// Thread-safe. No member touches another one's memory, so one that gives up may free its own.
class GroupSums {
 public:
  // One member's part. Adds in the order of `ranks`. False: a member was closed before all had come.
  bool Add(int self, int group, std::span<const int> ranks, SumType type, size_t count, const void* in, void* out) {
    std::unique_lock lock(mutex_);
    groups_.emplace(ranks.begin(), ranks.end());
    const Key key = {group, type, count};
    const std::pair<Key, int64_t> name = {key, ++calls_[{self, key}]};
    Sum& sum = sums_[name];
    const size_t bytes = count * (type == SumType::kF64 ? 8 : 4);
    sum.inputs[self].assign(static_cast<const char*>(in), bytes);
    if (sum.inputs.size() == ranks.size()) {
      for (const int rank : ranks) AddTo(type, sum.inputs[rank], sum.result);
      ++made_;
      changed_.notify_all();
    }
    const auto is_closed = [&] {
      return std::ranges::any_of(ranks, [&](int other) { return closed_.contains({self, other}); });
    };
    changed_.wait(lock, [&] { return !sum.result.empty() || is_closed(); });
    if (sum.result.empty()) return false;
    std::memcpy(out, sum.result.data(), bytes);
    if (++sum.taken == ranks.size()) sums_.erase(name);
    return true;
  }
  void Close(int self, int other) {
    const std::lock_guard lock(mutex_);
    closed_.insert({self, other});
    changed_.notify_all();
  }
  int64_t made() const { return made_; }                                // so far, by all groups
  const std::set<std::vector<int>>& groups() const { return groups_; }  // when nothing runs

 private:
  using Key = std::tuple<int, SumType, size_t>;
  struct Sum {
    std::map<int, std::string> inputs;
    std::string result;  // empty: not all have come
    size_t taken = 0;
  };

  template <typename T>
  static void AddElements(const std::string& from, std::string& to) {
    for (size_t at = 0; at < from.size(); at += sizeof(T)) {
      T a, b;
      std::memcpy(&a, &to[at], sizeof(T));
      std::memcpy(&b, &from[at], sizeof(T));
      a = a + b;
      std::memcpy(&to[at], &a, sizeof(T));
    }
  }
  static void AddTo(SumType type, const std::string& from, std::string& to) {
    if (to.empty()) {
      to = from;
    } else if (type == SumType::kF32) {
      AddElements<float>(from, to);
    } else if (type == SumType::kF64) {
      AddElements<double>(from, to);
    } else {
      AddElements<uint32_t>(from, to);  // wraps around
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, Key>, int64_t> calls_;
  std::map<std::pair<Key, int64_t>, Sum> sums_;
  std::set<std::pair<int, int>> closed_;
  std::set<std::vector<int>> groups_;
  int64_t made_ = 0;
};

}  // namespace partita

#endif  // PARTITA_TESTS_TESTING_GROUP_SUMS_H_

// The ranks of a group of the backend under test, and buffers of small integers, which every type adds exactly.
#ifndef PARTITA_TESTS_CONFORMANCE_COMM_FIXTURE_H_
#define PARTITA_TESTS_CONFORMANCE_COMM_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/comm/communicator.h"
#include "tests/conformance/comm_backend.h"
#include "tests/conformance/device_fixture.h"

namespace partita {

using Values = std::vector<double>;  // of one rank's buffer
using Counts = std::vector<int64_t>;

inline int64_t Total(const Counts& counts) {
  int64_t total = 0;
  for (int64_t count : counts) total += count;
  return total;
}

// Where block `rank` begins.
inline int64_t Begin(const Counts& counts, int rank) { return Total(Counts(counts.begin(), counts.begin() + rank)); }

inline Values Slice(const Values& values, int64_t begin, int64_t count) {
  return Values(values.begin() + begin, values.begin() + begin + count);
}

// Element i of a rank's input: an integer in -5..5 (u8: 0..10).
inline Values Input(int rank, int64_t count, DType dtype) {
  Values values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<double>((rank * 7 + i * 3 + i / 11) % 11) - (dtype == DType::kU8 ? 0 : 5);
  }
  return values;
}

inline Values Reduced(Reduction reduction, int ranks, int64_t count, DType dtype) {
  Values result = Input(0, count, dtype);
  for (int rank = 1; rank < ranks; ++rank) {
    const Values input = Input(rank, count, dtype);
    for (int64_t i = 0; i < count; ++i) {
      result[i] = reduction == Reduction::kSum ? result[i] + input[i] : std::max(result[i], input[i]);
    }
  }
  return result;
}

// Elements per rank from which on a backend may be expected to use its way for large buffers.
constexpr int64_t kLarge = 9001;

// And from which on it may be expected to cut what it moves.
constexpr int64_t kVeryLarge = 70'001;

// Blocks of the kinds that matter: even, uneven, with empty ones, all empty, large; of few ranks also very large.
inline std::vector<Counts> CountCases(int ranks) {
  std::vector<Counts> cases;
  for (const int64_t scale : std::initializer_list<int64_t>{0, 1, 5, kLarge}) {
    Counts even(ranks, scale), uneven, holes;
    for (int rank = 0; rank < ranks; ++rank) {
      uneven.push_back(scale + (rank * 5) % 3);
      holes.push_back(rank % 2 == 0 ? 0 : scale + rank);
    }
    cases.push_back(uneven);
    if (scale != kLarge) cases.insert(cases.end(), {even, holes});
  }
  if (ranks == 2) cases.push_back({kVeryLarge, kVeryLarge / 3});
  if (ranks == 3) cases.push_back({kVeryLarge, 0, kVeryLarge / 3});
  return cases;
}

constexpr DType kReducible[] = {DType::kF32, DType::kF64, DType::kI32, DType::kBF16};
constexpr DType kAll[] = {DType::kF32, DType::kF64, DType::kI32, DType::kU8, DType::kBF16};
constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kMax};

// Parameters: backend, number of ranks.
class CommTest : public testing::TestWithParam<std::tuple<const CommBackend*, int>> {
 protected:
  static constexpr int kGroup = 7;

  const CommBackend& backend() const { return *std::get<0>(GetParam()); }
  int p() const { return std::get<1>(GetParam()); }
  Communicator& comm(int rank) { return ranks_->communicator(rank); }
  Stream& stream(int rank) { return ranks_->stream(rank); }

  // Memory of a rank, filled with `values`, or with -1 (u8: 255) where nothing must be read. Valid until the test ends.
  Buffer NewBuffer(int rank, const Values& values, DType dtype);
  Buffer NewBuffer(int rank, int64_t count, DType dtype) {
    return NewBuffer(rank, Values(count, dtype == DType::kU8 ? 255 : -1), dtype);
  }
  Values Read(const Buffer& buffer) const;

  // Calls `enqueue(rank)` for all ranks, waits for all, and expects no error.
  void OnRanks(const std::function<absl::Status(int)>& enqueue);
  absl::Status Synchronize(int rank) { return stream(rank).Synchronize(); }

  // Expects that since the last call the group's traffic was this. Payload is counted once per call.
  void ExpectBytes(int64_t payload, int64_t wire);

  const std::unique_ptr<CommRanks> ranks_ = backend().CreateRanks(p(), kGroup);
  std::vector<std::unique_ptr<Arena>> arenas_;

 private:
  int64_t payload_ = 0;
  int64_t wire_ = 0;
};

inline Buffer Part(const Buffer& buffer, int64_t begin, int64_t count) {
  return {static_cast<char*>(buffer.data) + begin * SizeOf(buffer.dtype), count, buffer.dtype};
}

inline std::string CommCaseName(const testing::TestParamInfo<std::tuple<const CommBackend*, int>>& info) {
  return std::get<0>(info.param)->name() + "_" + std::to_string(std::get<1>(info.param));
}

}  // namespace partita

#endif  // PARTITA_TESTS_CONFORMANCE_COMM_FIXTURE_H_

#include "tools/benchmarks/comm/comm_cases.h"

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 16;    // of a halo's image
constexpr int64_t kRows = 4;        // of a rank
constexpr int64_t kColumns = 1024;  // of a repartitioned matrix

// Of `in`, samples of kRows rows; the last of them are ghosts of the rank behind, which are the first rows of its
// `out`. The last rank gives its first ones to the first rank.
absl::Status ExchangeHalo(CommRank& r, int ranks, int64_t n) {
  const int64_t row = n / kSamples;
  const auto rows = [row](int64_t first, int64_t of) {
    return StridedBlock{first * row, {{kSamples, of * row}, {row, 1}}};
  };
  std::vector<StridedBlock> sent(ranks), received(ranks);
  const int self = r.communicator->rank(), next = (self + 1) % ranks, before = (self + ranks - 1) % ranks;
  sent[next] = rows(kRows - 1, kRows);
  received[before] = rows(0, kRows + 1);
  return r.communicator->AllToAllBlocks(r.In(0, kSamples * kRows * row), sent, r.Out(0, kSamples * (kRows + 1) * row),
                                        received, *r.stream);
}

// From rows of a matrix to columns.
absl::Status Repartition(CommRank& r, int ranks, int64_t n) {
  const int64_t rows = n / kColumns, width = kColumns / ranks;
  std::vector<StridedBlock> sent, received;
  for (int64_t peer = 0; peer < ranks; ++peer) {
    sent.push_back({peer * width, {{rows, kColumns}, {width, 1}}});
    received.push_back({peer * rows * width, {{rows, width}, {width, 1}}});
  }
  return r.communicator->AllToAllBlocks(r.In(0, rows * kColumns), sent, r.Out(0, rows * width * ranks), received,
                                        *r.stream);
}

}  // namespace

std::vector<CommCase> Collectives(int ranks) {
  const double share = static_cast<double>(ranks - 1) / ranks;
  const auto blocks = [ranks](int64_t count) { return std::vector<int64_t>(ranks, count / ranks); };
  const auto own = [ranks](const CommRank& rank, int64_t count) { return rank.communicator->rank() * (count / ranks); };
  std::vector<CommCase> all = {
      {"all_reduce", false, 2 * share,
       [](CommRank& r, int64_t n) {
         return r.communicator->AllReduce(r.In(0, n), r.Out(0, n), Reduction::kSum, *r.stream);
       }},
      {"all_reduce", true, 2 * share,
       [](CommRank& r, int64_t n) {
         return r.communicator->AllReduce(r.Out(0, n), r.Out(0, n), Reduction::kSum, *r.stream);
       }},
      {"all_gather", false, share,
       [=](CommRank& r, int64_t n) {
         return r.communicator->AllGather(r.In(0, n / ranks), r.Out(0, n), blocks(n), *r.stream);
       }},
      {"all_gather", true, share,
       [=](CommRank& r, int64_t n) {
         return r.communicator->AllGather(r.Out(own(r, n), n / ranks), r.Out(0, n), blocks(n), *r.stream);
       }},
      {"reduce_scatter", false, share,
       [=](CommRank& r, int64_t n) {
         return r.communicator->ReduceScatter(r.In(0, n), r.Out(0, n / ranks), blocks(n), Reduction::kSum, *r.stream);
       }},
      {"reduce_scatter", true, share,
       [=](CommRank& r, int64_t n) {
         return r.communicator->ReduceScatter(r.Out(0, n), r.Out(own(r, n), n / ranks), blocks(n), Reduction::kSum,
                                              *r.stream);
       }},
      {"broadcast", false, 1,
       [](CommRank& r, int64_t n) { return r.communicator->Broadcast(r.In(0, n), r.Out(0, n), 0, *r.stream); }},
      {"broadcast", true, 1,
       [](CommRank& r, int64_t n) { return r.communicator->Broadcast(r.Out(0, n), r.Out(0, n), 0, *r.stream); }},
      {"reduce", false, 1,
       [](CommRank& r, int64_t n) {
         return r.communicator->Reduce(r.In(0, n), r.Out(0, n), 0, Reduction::kSum, *r.stream);
       }},
      {"reduce", true, 1,
       [](CommRank& r, int64_t n) {
         return r.communicator->Reduce(r.Out(0, n), r.Out(0, n), 0, Reduction::kSum, *r.stream);
       }},
      {"all_to_all", false, share,
       [=](CommRank& r, int64_t n) {
         return r.communicator->AllToAll(r.In(0, n), blocks(n), r.Out(0, n), blocks(n), *r.stream);
       }},
  };
  for (CommCase& one : all) one.least_count = ranks;
  return all;
}

std::vector<CommCase> Exchanges(int ranks) {
  constexpr int64_t kMost = 16 << 20;
  return {
      {"halo", false, 1, [=](CommRank& r, int64_t n) { return ExchangeHalo(r, ranks, n); }, kSamples, kMost},
      {"repartition", false, 1, [=](CommRank& r, int64_t n) { return Repartition(r, ranks, n); }, kColumns, kMost},
  };
}

absl::Status CopyPlainly(CommRank& r, int64_t n) {
  return r.stream->Copy(r.out->data(), r.in->data(), n * static_cast<int64_t>(sizeof(float)));
}

}  // namespace partita

#include "tools/benchmarks/comm_cases.h"

#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kSamples = 16;    // of a halo's image
constexpr int64_t kColumns = 1024;  // of a repartitioned matrix

// Copies `count` runs of `run` floats, `from_stride` and `to_stride` floats apart.
absl::Status CopyRuns(CommRank& rank, const float* from, float* to, int64_t run, int64_t count, int64_t from_stride,
                      int64_t to_stride) {
  constexpr int64_t kFloat = sizeof(float);
  rank.copies.push_back({reinterpret_cast<const char*>(from),
                         reinterpret_cast<char*>(to),
                         run * kFloat,
                         {{count, from_stride * kFloat, to_stride * kFloat}}});
  return rank.stream->CopyStrided(rank.copies.back());
}

// Of `in`, samples of a ghost row, kRows rows and a ghost row; edges are packed into `out`, and what comes lies behind.
absl::Status ExchangeHalo(CommRank& r, int ranks, int64_t n) {
  constexpr int64_t kRows = 4;
  const int64_t row = n / 2 / kSamples, sample = (kRows + 2) * row;
  const int next = (r.communicator->rank() + 1) % ranks, before = (r.communicator->rank() + ranks - 1) % ranks;
  float *const image = static_cast<float*>(r.in->data()), *const packed = static_cast<float*>(r.out->data());
  RETURN_IF_ERROR(CopyRuns(r, image + row, packed, row, kSamples, sample, row));
  RETURN_IF_ERROR(CopyRuns(r, image + kRows * row, packed + n / 2, row, kSamples, sample, row));
  const Transfer transfers[] = {Transfer::Send(before, r.Out(0, n / 2)), Transfer::Send(next, r.Out(n / 2, n / 2)),
                                Transfer::Receive(next, r.Out(n, n / 2)),
                                Transfer::Receive(before, r.Out(n + n / 2, n / 2))};
  RETURN_IF_ERROR(r.communicator->SendReceive(transfers, *r.stream));
  RETURN_IF_ERROR(CopyRuns(r, packed + n, image + (kRows + 1) * row, row, kSamples, row, sample));
  return CopyRuns(r, packed + n + n / 2, image, row, kSamples, row, sample);
}

absl::Status Repartition(CommRank& r, int ranks, int64_t n) {
  const int64_t rows = n / kColumns, width = kColumns / ranks;
  float *const matrix = static_cast<float*>(r.in->data()), *const packed = static_cast<float*>(r.out->data());
  for (int peer = 0; peer < ranks; ++peer) {
    RETURN_IF_ERROR(CopyRuns(r, matrix + peer * width, packed + peer * rows * width, width, rows, kColumns, width));
  }
  const std::vector<int64_t> counts(ranks, rows * width);
  return r.communicator->AllToAll(r.Out(0, rows * width * ranks), counts, r.In(n, rows * width * ranks), counts,
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
      {"send_receive", false, 1,
       [=](CommRank& r, int64_t n) {
         const int next = (r.communicator->rank() + 1) % ranks, before = (r.communicator->rank() + ranks - 1) % ranks;
         const Transfer transfers[] = {Transfer::Send(next, r.In(0, n)), Transfer::Receive(before, r.Out(0, n))};
         return r.communicator->SendReceive(transfers, *r.stream);
       }},
  };
  for (CommCase& one : all) one.least_count = ranks;
  return all;
}

std::vector<CommCase> Exchanges(int ranks) {
  constexpr int64_t kMost = 16 << 20;
  return {
      {"halo", false, 1, [=](CommRank& r, int64_t n) { return ExchangeHalo(r, ranks, n); }, 2 * kSamples, 3, kMost},
      {"repartition", false, 1, [=](CommRank& r, int64_t n) { return Repartition(r, ranks, n); }, kColumns, 2, kMost},
  };
}

absl::Status CopyPlainly(CommRank& r, int64_t n, int copies) {
  for (int64_t copy = 0; copy < copies; ++copy) {
    float* const from = static_cast<float*>((copy % 2 == 0 ? *r.in : *r.out).data()) + copy / 2 * n;
    float* const to = static_cast<float*>((copy % 2 == 0 ? *r.out : *r.in).data()) + (copy + 1) / 2 * n;
    RETURN_IF_ERROR(r.stream->Copy(to, from, n * static_cast<int64_t>(sizeof(float))));
  }
  return absl::OkStatus();
}

}  // namespace partita

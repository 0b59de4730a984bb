#include <limits>

#include "ops/cuda/launch/label_fault.h"
#include "ops/cuda/launch/rows.h"
#include "ops/cuda/loops/divisor.h"
#include "ops/cuda/loops/elementwise.h"
#include "ops/cuda/loops/loops.h"
#include "ops/cuda/loops/rows/count_body.h"

namespace partita::launch {
namespace {

// Neighbours in a row, as many as one memory access moves, or one.
template <typename T, bool kPacked>
struct Cells {
  static constexpr int kWidth = kPacked ? kPackWidth<T> : 1;
  struct alignas(sizeof(T) * kWidth) Cell {
    T at[kWidth];
  };
};

template <typename T, bool kPacked>
struct EmbeddingBody {
  using Cell = typename Cells<T, kPacked>::Cell;
  TableRows rows;
  const int32_t* ids;
  const Cell* table;
  Cell* y;
  uint64_t* fault;
  Divisor cells;  // of a row

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const Divisor::Divided place = cells(i);
    const int32_t id = ids[place.quotient];
    if (!IsClass(place.quotient, id, rows.all, fault)) return Fill(i, std::numeric_limits<float>::quiet_NaN());
    const int64_t row = rows.RowOf(id);
    if (row < 0) return Fill(i, 0);
    y[i] = table[row * cells.by() + place.rest];
  }

 private:
  PARTITA_HOST_DEVICE void Fill(int64_t i, float value) const {
    for (T& element : y[i].at) element = static_cast<T>(value);
  }
};

template <typename T, bool kPacked>
LaunchError ReadRows(const RowIds& rows, const void* table, void* y, uint64_t* fault, CudaQueue queue) {
  using Cell = typename Cells<T, kPacked>::Cell;
  const int64_t cells = rows.channels / Cells<T, kPacked>::kWidth;
  const EmbeddingBody<T, kPacked> body{rows.table, rows.ids, As<Cell>(table), As<Cell>(y), fault, Divisor(cells)};
  return ForEach(rows.count * cells, body, queue);
}

// The rows that ids choose; -1: none.
struct ChosenRows {
  TableRows table;
  const int32_t* ids;

  PARTITA_HOST_DEVICE int64_t operator[](int64_t i) const { return table.RowOf(ids[i]); }
};

// Where the i-th id comes among all, by rows, those of the same row in their order: a number for each, which a block
// counts. Ids of no row are the first.
template <typename Rows>
struct OrderBody : CountBody<OrderBody<Rows>> {
  Rows rows;
  int64_t count;
  int64_t* order;

  PARTITA_HOST_DEVICE int64_t End(int64_t) const { return count; }
  PARTITA_HOST_DEVICE bool Counts(int64_t i, int64_t own) const {
    const int64_t row = rows[own], other = rows[i];
    return other < row || (other == row && i < own);
  }
  PARTITA_HOST_DEVICE void Store(int64_t own, int64_t before) const { order[before] = own; }
};

// A channel of the run of ids of one row that begins at a place of the order.
template <typename T>
struct EmbeddingGradBody {
  ChosenRows rows;
  const int64_t* order;
  int64_t count;
  const T* dy;
  T* dtable;
  Divisor channels;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const auto [first, channel] = channels(i);
    const int64_t row = RowAt(first);
    if (row < 0 || (first > 0 && RowAt(first - 1) == row)) return;
    double sum = 0;
    for (int64_t k = first; k < count && RowAt(k) == row; ++k) {
      sum += static_cast<double>(dy[order[k] * channels.by() + channel]);
    }
    dtable[row * channels.by() + channel] = static_cast<T>(sum);
  }

 private:
  PARTITA_HOST_DEVICE int64_t RowAt(int64_t place) const { return rows[order[place]]; }
};

// Ids of all pairs behind each other; -1 for those that are left out.
struct ListBody {
  RowPairs pairs;
  int64_t* list;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const RowPairs::Pair& pair = PairOf(pairs, i);
    const int64_t id = pair.ids[i - pair.first];
    list[i] = id == pair.padding || id < 0 ? -1 : id;
  }
  PARTITA_HOST_DEVICE static const RowPairs::Pair& PairOf(const RowPairs& pairs, int64_t place) {
    int p = pairs.pairs - 1;
    while (pairs.pair[p].first > place) --p;
    return pairs.pair[p];
  }
};

PARTITA_HOST_DEVICE inline bool BeginsRun(const int64_t* list, const int64_t* order, int64_t place) {
  const int64_t id = list[order[place]];
  return id >= 0 && (place == 0 || list[order[place - 1]] != id);
}

// How many runs begin before each place of the order, and the id of that which begins there.
struct RunsBody : CountBody<RunsBody> {
  const int64_t *list, *order;
  int64_t* runs;
  int32_t* ids;

  PARTITA_HOST_DEVICE int64_t End(int64_t place) const { return place; }
  PARTITA_HOST_DEVICE bool Counts(int64_t i, int64_t) const { return BeginsRun(list, order, i); }
  PARTITA_HOST_DEVICE void Store(int64_t place, int64_t before) const {
    runs[place] = before;
    if (BeginsRun(list, order, place)) ids[before] = static_cast<int32_t>(list[order[place]]);
  }
};

struct NoIdsBody {
  int32_t* ids;
  PARTITA_HOST_DEVICE void operator()(int64_t i) const { ids[i] = -1; }
};

// A channel of the run that begins at a place of the order.
template <typename T>
struct MergeBody {
  RowPairs pairs;
  const int64_t *list, *order, *runs;
  T* rows;
  Divisor channels;

  PARTITA_HOST_DEVICE void operator()(int64_t i) const {
    const auto [first, channel] = channels(i);
    if (!BeginsRun(list, order, first)) return;
    const int64_t id = list[order[first]], run = runs[first];
    double sum = 0;
    for (int64_t k = first; k < pairs.count && list[order[k]] == id; ++k) {
      const RowPairs::Pair& pair = ListBody::PairOf(pairs, order[k]);
      sum += static_cast<double>(As<T>(pair.rows)[(order[k] - pair.first) * channels.by() + channel]);
    }
    rows[run * channels.by() + channel] = static_cast<T>(sum);
  }
};

}  // namespace

LaunchError Embedding(DType dtype, const RowIds& rows, const void* table, void* y, uint64_t* fault, CudaQueue queue) {
  return WithFloating(dtype, [&]<typename T>() {
    const bool packed = rows.channels % kPackWidth<T> == 0 && IsPackAligned(table) && IsPackAligned(y);
    return packed ? ReadRows<T, true>(rows, table, y, fault, queue) : ReadRows<T, false>(rows, table, y, fault, queue);
  });
}

LaunchError EmbeddingGrad(DType dtype, const RowIds& rows, const void* dy, void* dtable, int64_t* order,
                          CudaQueue queue) {
  const int64_t bytes = rows.table.rows * rows.channels * SizeOf(dtype);
  if (const LaunchError error = ZeroBytes(dtable, bytes, queue); error != kLaunched) return error;
  const ChosenRows chosen{rows.table, rows.ids};
  const OrderBody<ChosenRows> ordering{{}, chosen, rows.count, order};
  if (const LaunchError error = ReduceRows(rows.count, ordering, queue); error != kLaunched) return error;
  return WithFloating(dtype, [&]<typename T>() {
    const EmbeddingGradBody<T> body{chosen, order, rows.count, As<T>(dy), As<T>(dtable), Divisor(rows.channels)};
    return ForEach(rows.count * rows.channels, body, queue);
  });
}

LaunchError MergeRows(DType dtype, const RowPairs& pairs, int32_t* ids, void* rows, int64_t* workspace,
                      CudaQueue queue) {
  int64_t *const list = workspace, *const order = list + pairs.count, *const runs = order + pairs.count;
  LaunchError error = ZeroBytes(rows, pairs.count * pairs.channels * SizeOf(dtype), queue);
  if (error == kLaunched) error = ForEach(pairs.count, NoIdsBody{ids}, queue);
  if (error == kLaunched) error = ForEach(pairs.count, ListBody{pairs, list}, queue);
  if (error == kLaunched)
    error = ReduceRows(pairs.count, OrderBody<const int64_t*>{{}, list, pairs.count, order}, queue);
  if (error == kLaunched) error = ReduceRows(pairs.count, RunsBody{{}, list, order, runs, ids}, queue);
  if (error != kLaunched) return error;
  return WithWide(dtype, [&]<typename T>() {
    const MergeBody<T> body{pairs, list, order, runs, As<T>(rows), Divisor(pairs.channels)};
    return ForEach(pairs.count * pairs.channels, body, queue);
  });
}

}  // namespace partita::launch

// Scaled dot-product attention in blocks of queries and keys: products of matrices, and between them loops over rows of
// scores. Scores of one block lie in a thread's memory, no others anywhere.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/host/fast/exponential.h"
#include "ops/host/fast/row_lanes.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/sequence_lengths.h"
#include "ops/host/kernel/target_clones.h"
#include "ops/host/products/gemm.h"
#include "ops/host/recurrence/recurrence_kernels.h"
#include "ops/values/attention_geometry.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

// Of a block. Results are the same for every number of threads: these sizes alone decide in which order sums are made.
constexpr int64_t kQueries = 64, kKeys = 256;
constexpr int64_t kScores = kQueries * kKeys;

int64_t FloatBytes(int64_t elements) { return AlignUp(elements * static_cast<int64_t>(sizeof(float))); }

// What was added up for a query.
struct RunningRow {
  float largest = -std::numeric_limits<float>::infinity();  // of its scores
  float total = 0;                                          // of their exponentials, relative to the largest
};

// Products of a query with keys, of which it sees the first `seen`, become exponentials; the sums of a query so far are
// made relative to the largest score.
PARTITA_TARGET_CLONES void Exponentiate(float* scores, int64_t seen, float scale, RunningRow& row, float* sums,
                                        int64_t channels) {
  if (seen == 0) return;
  for (int64_t k = 0; k < seen; ++k) scores[k] *= scale;
  const float largest = std::max(row.largest, LargestOf(scores, seen));
  const float correction = ExponentialBelow0(row.largest - largest);
  PARTITA_INDEPENDENT
  for (int64_t k = 0; k < seen; ++k) scores[k] = ExponentialBelow0(scores[k] - largest);
  row.largest = largest;
  row.total = row.total * correction + SumOver(seen, [scores](int64_t k) { return scores[k]; });
  PARTITA_INDEPENDENT
  for (int64_t c = 0; c < channels; ++c) sums[c] *= correction;
}

PARTITA_TARGET_CLONES void Scale(const float* x, float factor, float* y, int64_t n) {
  PARTITA_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}

PARTITA_TARGET_CLONES float ProductOf(const float* x, const float* y, int64_t n) {
  return SumOver(n, [x, y](int64_t i) { return x[i] * y[i]; });
}

// Products of a query with keys become probabilities, and gradients of probabilities those of these products. `mean` is
// that of the gradients.
PARTITA_TARGET_CLONES void ProductGradients(float* scores, float* gradients, int64_t seen, float scale, float lse,
                                            float mean) {
  PARTITA_INDEPENDENT
  for (int64_t k = 0; k < seen; ++k) {
    scores[k] = ExponentialBelow0(scores[k] * scale - lse);
    gradients[k] = scores[k] * (gradients[k] - mean) * scale;
  }
}

// The parts of a node, and its operands as matrices of a head or group.
class Blocks {
 public:
  explicit Blocks(const DotProductSizes& sizes, const SequenceLengths& lengths) : s_(sizes), lengths_(lengths) {}

 protected:
  // Some queries of a head with some keys of its group, and how many keys each query sees.
  struct Block {
    int64_t sample, head, group;
    int64_t query, queries;
    int64_t key, keys;
  };

  int64_t query_blocks() const { return CeilDivide(s_.queries, kQueries); }
  int64_t key_blocks() const { return CeilDivide(s_.keys, kKeys); }
  int64_t work() const { return s_.rows() * s_.keys * (s_.depth + s_.channels); }
  int ThreadsFor(int64_t tasks) const {
    return work() < kParallelElements ? 1 : static_cast<int>(std::clamp<int64_t>(tasks, 1, MaxThreads()));
  }

  Block QueriesOf(int64_t sample, int64_t head, int64_t block) const {
    const int64_t query = block * kQueries;
    return {sample, head, s_.GroupOf(head), query, std::min(kQueries, s_.queries - query), 0, 0};
  }
  // Block `block` of the keys that any of the queries sees; without keys behind these.
  Block WithKeys(const KernelArguments& a, Block at, int64_t block) const {
    at.key = block * kKeys;
    const int64_t seen = s_.KeysSeen(at.query + at.queries - 1, lengths_.Of(a, at.sample));
    at.keys = std::clamp<int64_t>(seen - at.key, 0, kKeys);
    return at;
  }
  int64_t Seen(const KernelArguments& a, const Block& at, int64_t row) const {
    return std::clamp<int64_t>(s_.KeysSeen(at.query + row, lengths_.Of(a, at.sample)) - at.key, 0, at.keys);
  }

  // Of the block's queries, and of its keys, in an operand whose rows have `width` elements.
  int64_t QueryAt(const Block& at, int64_t width) const { return s_.QueryRow(at.sample, at.query, at.head) * width; }
  int64_t KeyAt(const Block& at, int64_t width) const { return s_.KeyRow(at.sample, at.key, at.group) * width; }
  int64_t query_stride(int64_t width) const { return s_.heads * width; }
  int64_t key_stride(int64_t width) const { return s_.groups * width; }
  MatrixView<float> Queries(const float* from, const Block& at, int64_t width) const {
    return {from + QueryAt(at, width), query_stride(width), 1};
  }
  MatrixView<float> Keys(const float* from, const Block& at, int64_t width) const {
    return {from + KeyAt(at, width), key_stride(width), 1};
  }
  static MatrixView<float> Transposed(const MatrixView<float>& view) {
    return {view.data, view.column_stride, view.row_stride};
  }

  // scores [queries,keys] of rows of `width`
  void Multiply(const float* of_queries, const float* of_keys, const Block& at, int64_t width, float* scores,
                float* workspace) const {
    Gemm(at.queries, at.keys, width, Queries(of_queries, at, width), Transposed(Keys(of_keys, at, width)), scores,
         kKeys, false, workspace);
  }

  const DotProductSizes s_;
  const SequenceLengths lengths_;
};

// A task is a block of queries.
class Forward : Blocks {
 public:
  using Places = DotProductForward;

  Forward(const DotProductSizes& sizes, const SequenceLengths& lengths)
      : Blocks(sizes, lengths), threads_(ThreadsFor(tasks())) {}

  int64_t workspace_bytes() const { return threads_ * Memory::Bytes(s_); }

  void Run(const KernelArguments& a) const {
    ParallelTasks(threads_, tasks(), [&](int thread, int64_t task) {
      const int64_t head = task / query_blocks();
      Attend(a, QueriesOf(head / s_.heads, head % s_.heads, task % query_blocks()),
             Memory(s_, Scratch<char>(a, thread * Memory::Bytes(s_))));
    });
  }

 private:
  // Of a thread.
  struct Memory {
    Memory(const DotProductSizes& s, char* begin)
        : scores(reinterpret_cast<float*>(begin)),
          sums(reinterpret_cast<float*>(begin + FloatBytes(kScores))),
          workspace(reinterpret_cast<float*>(begin + FloatBytes(kScores) + FloatBytes(kQueries * s.channels))) {}
    static int64_t Bytes(const DotProductSizes& s) {
      return FloatBytes(kScores) + FloatBytes(kQueries * s.channels) + FloatBytes(kGemmWorkspaceElements);
    }
    float *scores, *sums, *workspace;
  };

  int64_t tasks() const { return s_.samples * s_.heads * query_blocks(); }

  void Attend(const KernelArguments& a, const Block& queries, const Memory& memory) const {
    RunningRow rows[kQueries];
    std::fill_n(memory.sums, queries.queries * s_.channels, 0.0f);
    for (int64_t b = 0; b < key_blocks(); ++b) {
      const Block at = WithKeys(a, queries, b);
      if (at.keys == 0) break;
      Multiply(In<float>(a, Places::kQuery), In<float>(a, Places::kKeys), at, s_.depth, memory.scores,
               memory.workspace);
      for (int64_t r = 0; r < at.queries; ++r) {
        const int64_t seen = Seen(a, at, r);
        float* const scores = memory.scores + r * kKeys;
        Exponentiate(scores, seen, static_cast<float>(s_.scale), rows[r], memory.sums + r * s_.channels, s_.channels);
        std::fill(scores + seen, scores + at.keys, 0.0f);
      }
      Gemm(at.queries, s_.channels, at.keys, {memory.scores, kKeys, 1},
           Keys(In<float>(a, Places::kValues), at, s_.channels), memory.sums, s_.channels, true, memory.workspace);
    }
    for (int64_t r = 0; r < queries.queries; ++r) {
      const bool seen = rows[r].total != 0;
      float* const output = Out<float>(a, Places::kOutput) + QueryAt(queries, s_.channels);
      Scale(memory.sums + r * s_.channels, seen ? 1 / rows[r].total : 0, output + r * query_stride(s_.channels),
            s_.channels);
      Out<float>(a, Places::kLse)[s_.LseAt(queries.sample, queries.query + r, queries.head)] =
          seen ? rows[r].largest + std::log(rows[r].total) : 0;
    }
  }

  const int threads_;
};

// Sums over keys are made in the order of their blocks, those over queries in the order of heads and blocks of queries.
// A task is a sample's group; where these are fewer than threads, blocks of queries are tasks, then blocks of keys, and
// probabilities are made twice.
class Backward : Blocks {
 public:
  using Places = DotProductGrad;

  Backward(const DotProductSizes& sizes, const SequenceLengths& lengths)
      : Blocks(sizes, lengths), threads_(ThreadsFor(s_.samples * s_.heads * query_blocks())) {}

  int64_t workspace_bytes() const { return FloatBytes(s_.rows()) + threads_ * Memory::kBytes; }

  void Run(const KernelArguments& a) const {
    const int64_t query_rows = s_.rows(), key_rows = s_.samples * s_.keys * s_.groups;
    std::fill_n(Out<float>(a, Places::kDquery), query_rows * s_.depth, 0.0f);
    std::fill_n(Out<float>(a, Places::kDkeys), key_rows * s_.depth, 0.0f);
    std::fill_n(Out<float>(a, Places::kDvalues), key_rows * s_.channels, 0.0f);
    ParallelFor(query_rows, query_rows * s_.channels, [&](int64_t row) { WriteMean(a, row); });
    const int64_t of_groups = s_.samples * s_.groups;
    if (of_groups >= threads_) {
      ParallelTasks(threads_, of_groups, [&](int thread, int64_t task) {
        for (int64_t b = 0; b < key_blocks(); ++b) AddQueries(a, task, b, {true, true}, MemoryOf(a, thread));
      });
      return;
    }
    ParallelTasks(threads_, s_.samples * s_.heads * query_blocks(), [&](int thread, int64_t task) {
      const int64_t head = task / query_blocks();
      const Block queries = QueriesOf(head / s_.heads, head % s_.heads, task % query_blocks());
      for (int64_t b = 0; b < key_blocks(); ++b) {
        Add(a, WithKeys(a, queries, b), {true, false}, MemoryOf(a, thread));
      }
    });
    ParallelTasks(threads_, of_groups * key_blocks(), [&](int thread, int64_t task) {
      AddQueries(a, task / key_blocks(), task % key_blocks(), {false, true}, MemoryOf(a, thread));
    });
  }

 private:
  struct Memory {
    static constexpr int64_t kElements = 2 * kScores + kGemmWorkspaceElements;
    static constexpr int64_t kBytes = kElements * static_cast<int64_t>(sizeof(float));
    static_assert(kBytes % 64 == 0 && kScores % 16 == 0);

    float *scores, *gradients, *workspace;
  };
  Memory MemoryOf(const KernelArguments& a, int thread) const {
    float* const begin = Scratch<float>(a, FloatBytes(s_.rows()) + thread * Memory::kBytes);
    return {begin, begin + kScores, begin + 2 * kScores};
  }
  float* Means(const KernelArguments& a) const { return Scratch<float>(a); }

  // Which gradients to add to.
  struct Wanted {
    bool query, keys;
  };

  void WriteMean(const KernelArguments& a, int64_t row) const {
    const int64_t at = row * s_.channels;
    Means(a)[row] = ProductOf(In<float>(a, Places::kDoutput) + at, In<float>(a, Places::kOutput) + at, s_.channels);
  }

  // All queries of a sample's group that see a key of a block.
  void AddQueries(const KernelArguments& a, int64_t group, int64_t key_block, const Wanted& wanted,
                  const Memory& memory) const {
    const IndexRange heads = s_.HeadsOf(group % s_.groups);
    for (int64_t head = heads.begin; head < heads.end; ++head) {
      for (int64_t b = s_.FirstQueryOf(key_block * kKeys) / kQueries; b < query_blocks(); ++b) {
        Add(a, WithKeys(a, QueriesOf(group / s_.groups, head, b), key_block), wanted, memory);
      }
    }
  }

  void Add(const KernelArguments& a, const Block& at, const Wanted& wanted, const Memory& memory) const {
    if (at.keys == 0) return;
    const auto *const query = In<float>(a, Places::kQuery), *const keys = In<float>(a, Places::kKeys);
    const auto *const doutput = In<float>(a, Places::kDoutput), *const values = In<float>(a, Places::kValues);
    Multiply(query, keys, at, s_.depth, memory.scores, memory.workspace);
    Multiply(doutput, values, at, s_.channels, memory.gradients, memory.workspace);
    for (int64_t r = 0; r < at.queries; ++r) {
      const int64_t seen = Seen(a, at, r), i = at.query + r;
      float *const scores = memory.scores + r * kKeys, *const gradients = memory.gradients + r * kKeys;
      ProductGradients(scores, gradients, seen, static_cast<float>(s_.scale),
                       In<float>(a, Places::kLse)[s_.LseAt(at.sample, i, at.head)],
                       Means(a)[s_.QueryRow(at.sample, i, at.head)]);
      std::fill(scores + seen, scores + at.keys, 0.0f);
      std::fill(gradients + seen, gradients + at.keys, 0.0f);
    }
    const MatrixView<float> p{memory.scores, kKeys, 1}, d{memory.gradients, kKeys, 1};
    if (wanted.query) {
      Gemm(at.queries, s_.depth, at.keys, d, Keys(keys, at, s_.depth),
           Out<float>(a, Places::kDquery) + QueryAt(at, s_.depth), query_stride(s_.depth), true, memory.workspace);
    }
    if (!wanted.keys) return;
    Gemm(at.keys, s_.depth, at.queries, Transposed(d), Queries(query, at, s_.depth),
         Out<float>(a, Places::kDkeys) + KeyAt(at, s_.depth), key_stride(s_.depth), true, memory.workspace);
    Gemm(at.keys, s_.channels, at.queries, Transposed(p), Queries(doutput, at, s_.channels),
         Out<float>(a, Places::kDvalues) + KeyAt(at, s_.channels), key_stride(s_.channels), true, memory.workspace);
  }

  const int threads_;
};

}  // namespace

absl::StatusOr<PreparedKernel> FastDotProductForward(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const DotProductSizes sizes = MakeDotProductForwardSizes(node);
  const SequenceLengths lengths(node, DotProductForward::kLengths, sizes.keys);
  return PreparedLoop(lengths, Forward(sizes, lengths));
}

absl::StatusOr<PreparedKernel> FastDotProductGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const DotProductSizes sizes = MakeDotProductGradSizes(node);
  const SequenceLengths lengths(node, DotProductGrad::kLengths, sizes.keys);
  return PreparedLoop(lengths, Backward(sizes, lengths));
}

}  // namespace partita

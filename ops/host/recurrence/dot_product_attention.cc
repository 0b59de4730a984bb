// Scaled dot-product attention in blocks of queries and keys: products of matrices, and between them loops over rows of
// scores. Scores of one block lie in a thread's memory, no others anywhere.
#include <algorithm>
#include <cmath>
#include <utility>

#include "ops/host/kernel/dropout_range.h"
#include "ops/host/kernel/node_dropout.h"
#include "ops/host/kernel/parallel.h"
#include "ops/host/kernel/sequence_lengths.h"
#include "ops/host/products/gemm.h"
#include "ops/host/recurrence/recurrence_kernels.h"
#include "ops/host/recurrence/score_rows.h"
#include "ops/values/attention_geometry.h"
#include "runtime/base/alignment.h"

namespace partita {
namespace {

// Of a block. Results are the same for every number of threads: these sizes alone decide in which order sums are made.
constexpr int64_t kQueries = 64, kKeys = 256;
constexpr int64_t kScores = kQueries * kKeys;

constexpr char kDropoutRate[] = "dropout_rate";

int64_t FloatBytes(int64_t elements) { return AlignUp(elements * static_cast<int64_t>(sizeof(float))); }

// The parts of a node, and its operands as matrices of a head or group.
class Blocks {
 public:
  Blocks(const DotProductSizes& sizes, const SequenceLengths& lengths, NodeDropout dropout)
      : s_(sizes), lengths_(lengths), dropout_(std::move(dropout)) {}

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
  bool drops() const { return dropout_.drops(); }
  DropoutStep StepOf(const KernelArguments& a) const { return drops() ? dropout_.Of(a) : DropoutStep(); }
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

  // Adds the bias, input `bias`, to the scores of a query, row `row` of the block. Returns what they are to be
  // multiplied by: the scale, or 1 if that is done.
  float WithBias(const float* bias, const Block& at, int64_t row, int64_t seen, float* scores) const {
    const auto scale = static_cast<float>(s_.scale);
    if (bias == nullptr) return scale;
    AddScoreBias(scores, seen, scale, bias + s_.bias.At(at.sample, at.head, at.query + row, at.key), s_.bias.key);
    return 1;
  }

  // Drops of the numbers beside the first `seen` keys of the block, of row `row` of its queries.
  void Drop(const DropoutStep& step, const Block& at, int64_t row, int64_t seen, float* numbers) const {
    if (!drops()) return;
    const uint64_t index = s_.ScoreIndex(at.sample, at.head, at.query + row) + static_cast<uint64_t>(at.key);
    DropoutRange(numbers, numbers, seen, index, step);
  }

  const DotProductSizes s_;
  const SequenceLengths lengths_;
  const NodeDropout dropout_;
};

// A task is a block of queries.
class Forward : Blocks {
 public:
  using Places = DotProductForward;

  Forward(const DotProductSizes& sizes, const SequenceLengths& lengths, const NodeDropout& dropout)
      : Blocks(sizes, lengths, dropout), threads_(ThreadsFor(tasks())) {}

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
    const DropoutStep step = StepOf(a);
    std::fill_n(memory.sums, queries.queries * s_.channels, 0.0f);
    for (int64_t b = 0; b < key_blocks(); ++b) {
      const Block at = WithKeys(a, queries, b);
      if (at.keys == 0) break;
      Multiply(In<float>(a, Places::kQuery), In<float>(a, Places::kKeys), at, s_.depth, memory.scores,
               memory.workspace);
      for (int64_t r = 0; r < at.queries; ++r) {
        const int64_t seen = Seen(a, at, r);
        float* const scores = memory.scores + r * kKeys;
        const float scale = WithBias(In<float>(a, Places::kBias), at, r, seen, scores);
        ExponentiateScores(scores, seen, scale, rows[r], memory.sums + r * s_.channels, s_.channels);
        Drop(step, at, r, seen, scores);
        std::fill(scores + seen, scores + at.keys, 0.0f);
      }
      Gemm(at.queries, s_.channels, at.keys, {memory.scores, kKeys, 1},
           Keys(In<float>(a, Places::kValues), at, s_.channels), memory.sums, s_.channels, true, memory.workspace);
    }
    for (int64_t r = 0; r < queries.queries; ++r) {
      const bool seen = rows[r].total != 0;
      float* const output = Out<float>(a, Places::kOutput) + QueryAt(queries, s_.channels);
      ScaleRow(memory.sums + r * s_.channels, seen ? 1 / rows[r].total : 0, output + r * query_stride(s_.channels),
               s_.channels);
      Out<float>(a, Places::kLse)[s_.LseAt(queries.sample, queries.query + r, queries.head)] =
          seen ? rows[r].largest + std::log(rows[r].total) : 0;
    }
  }

  const int threads_;
};

// A block of probabilities and of gradients, in a thread's memory.
class Gradients : protected Blocks {
 public:
  using Places = DotProductGrad;
  using Blocks::Blocks;

 protected:
  struct Memory {
    static constexpr int64_t kElements = 2 * kScores + kGemmWorkspaceElements;
    static constexpr int64_t kBytes = kElements * static_cast<int64_t>(sizeof(float));
    static_assert(kBytes % 64 == 0 && kScores % 16 == 0);

    explicit Memory(float* begin) : scores(begin), gradients(begin + kScores), workspace(begin + 2 * kScores) {}
    float *scores, *gradients, *workspace;
  };

  // Of a query: of the gradients of its probabilities.
  float MeanOf(const KernelArguments& a, int64_t row) const {
    const int64_t at = row * s_.channels;
    return ProductOfRows(In<float>(a, Places::kDoutput) + at, In<float>(a, Places::kOutput) + at, s_.channels);
  }

  // Fills the block: probabilities behind dropout, and gradients of scores times `factor`; 0 where a query does not see
  // a key. `mean_of(row)`: of the block's queries.
  template <typename MeanOfRow>
  void Fill(const KernelArguments& a, const Block& at, float factor, const MeanOfRow& mean_of,
            const Memory& memory) const {
    const DropoutStep step = StepOf(a);
    Multiply(In<float>(a, Places::kQuery), In<float>(a, Places::kKeys), at, s_.depth, memory.scores, memory.workspace);
    Multiply(In<float>(a, Places::kDoutput), In<float>(a, Places::kValues), at, s_.channels, memory.gradients,
             memory.workspace);
    for (int64_t r = 0; r < at.queries; ++r) {
      const int64_t seen = Seen(a, at, r), lse = s_.LseAt(at.sample, at.query + r, at.head);
      float *const scores = memory.scores + r * kKeys, *const gradients = memory.gradients + r * kKeys;
      const float scale = WithBias(In<float>(a, Places::kBias), at, r, seen, scores);
      Drop(step, at, r, seen, gradients);
      ScoreGradients(scores, gradients, seen, scale, In<float>(a, Places::kLse)[lse], mean_of(r), factor);
      Drop(step, at, r, seen, scores);
      std::fill(scores + seen, scores + at.keys, 0.0f);
      std::fill(gradients + seen, gradients + at.keys, 0.0f);
    }
  }
};

// Sums over keys are made in the order of their blocks, those over queries in the order of heads and blocks of queries.
// A task is a sample's group; where these are fewer than threads, blocks of queries are tasks, then blocks of keys, and
// probabilities are made twice.
class Backward : Gradients {
 public:
  Backward(const DotProductSizes& sizes, const SequenceLengths& lengths, const NodeDropout& dropout)
      : Gradients(sizes, lengths, dropout), threads_(ThreadsFor(s_.samples * s_.heads * query_blocks())) {}

  int64_t workspace_bytes() const { return FloatBytes(s_.rows()) + threads_ * Memory::kBytes; }

  void Run(const KernelArguments& a) const {
    const int64_t query_rows = s_.rows(), key_rows = s_.samples * s_.keys * s_.groups;
    std::fill_n(Out<float>(a, Places::kDquery), query_rows * s_.depth, 0.0f);
    std::fill_n(Out<float>(a, Places::kDkeys), key_rows * s_.depth, 0.0f);
    std::fill_n(Out<float>(a, Places::kDvalues), key_rows * s_.channels, 0.0f);
    ParallelFor(query_rows, query_rows * s_.channels, [&](int64_t row) { Means(a)[row] = MeanOf(a, row); });
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
  Memory MemoryOf(const KernelArguments& a, int thread) const {
    return Memory(Scratch<float>(a, FloatBytes(s_.rows()) + thread * Memory::kBytes));
  }
  float* Means(const KernelArguments& a) const { return Scratch<float>(a); }

  // Which gradients to add to.
  struct Wanted {
    bool query, keys;
  };

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
    const auto* const doutput = In<float>(a, Places::kDoutput);
    const auto mean_of = [&](int64_t row) { return Means(a)[s_.QueryRow(at.sample, at.query + row, at.head)]; };
    Fill(a, at, static_cast<float>(s_.scale), mean_of, memory);
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

// A task is what one sample, head and block of queries of the bias is added to: with a bias that is the same for all of
// these, one after the other. Sums are made in the order of samples, heads and blocks.
class BiasBackward : Gradients {
 public:
  BiasBackward(const DotProductSizes& sizes, const SequenceLengths& lengths, const NodeDropout& dropout,
               int64_t elements)
      : Gradients(sizes, lengths, dropout),
        elements_(elements),
        samples_(sizes.bias.sample == 0 ? 1 : sizes.samples),
        heads_(sizes.bias.head == 0 ? 1 : sizes.heads),
        blocks_(sizes.bias.query == 0 ? 1 : query_blocks()),
        threads_(ThreadsFor(tasks())) {}

  int64_t workspace_bytes() const { return threads_ * Memory::kBytes; }

  void Run(const KernelArguments& a) const {
    std::fill_n(Out<float>(a, 0), elements_, 0.0f);
    ParallelTasks(threads_, tasks(), [&](int thread, int64_t task) {
      const Memory memory(Scratch<float>(a, thread * Memory::kBytes));
      const int64_t block = task % blocks_, head = task / blocks_ % heads_, sample = task / blocks_ / heads_;
      ForAll(samples_, s_.samples, sample, [&](int64_t n) {
        ForAll(heads_, s_.heads, head, [&](int64_t h) {
          ForAll(blocks_, query_blocks(), block, [&](int64_t b) { Add(a, QueriesOf(n, h, b), memory); });
        });
      });
    });
  }

 private:
  int64_t tasks() const { return samples_ * heads_ * blocks_; }

  // f(own), or of all of them where the bias has one for all.
  template <typename F>
  static void ForAll(int64_t of_bias, int64_t all, int64_t own, const F& f) {
    if (of_bias > 1) return f(own);
    for (int64_t i = 0; i < all; ++i) f(i);
  }

  void Add(const KernelArguments& a, const Block& queries, const Memory& memory) const {
    float means[kQueries];
    for (int64_t r = 0; r < queries.queries; ++r) {
      means[r] = MeanOf(a, s_.QueryRow(queries.sample, queries.query + r, queries.head));
    }
    for (int64_t b = 0; b < key_blocks(); ++b) {
      const Block at = WithKeys(a, queries, b);
      if (at.keys == 0) break;
      Fill(
          a, at, 1, [&](int64_t row) { return means[row]; }, memory);
      for (int64_t r = 0; r < at.queries; ++r) {
        const float* const gradients = memory.gradients + r * kKeys;
        float* const to = Out<float>(a, 0) + s_.bias.At(at.sample, at.head, at.query + r, at.key);
        if (s_.bias.key == 0) {
          *to += SumOfRow(gradients, at.keys);
        } else {
          AddRow(gradients, to, at.keys);
        }
      }
    }
  }

  const int64_t elements_;
  const int64_t samples_, heads_, blocks_;  // that the bias tells apart
  const int threads_;
};

}  // namespace

absl::StatusOr<PreparedKernel> FastDotProductForward(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const DotProductSizes sizes = MakeDotProductForwardSizes(node);
  const SequenceLengths lengths(node, DotProductForward::kLengths, sizes.keys);
  return PreparedLoop(lengths, Forward(sizes, lengths, {node, kDropoutRate, DotProductForward::kIteration}));
}

absl::StatusOr<PreparedKernel> FastDotProductGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(node.outputs[0].dtype));
  const DotProductSizes sizes = MakeDotProductGradSizes(node);
  const SequenceLengths lengths(node, DotProductGrad::kLengths, sizes.keys);
  return PreparedLoop(lengths, Backward(sizes, lengths, {node, kDropoutRate, DotProductGrad::kIteration}));
}

absl::StatusOr<PreparedKernel> FastDotProductBiasGrad(const LocalNode& node) {
  RETURN_IF_ERROR(RequireF32(Input(node, DotProductGrad::kQuery).dtype));
  const DotProductSizes sizes = MakeDotProductGradSizes(node);
  const SequenceLengths lengths(node, DotProductGrad::kLengths, sizes.keys);
  const NodeDropout dropout(node, kDropoutRate, DotProductGrad::kIteration);
  return PreparedLoop(lengths, BiasBackward(sizes, lengths, dropout, node.outputs[0].elements()));
}

}  // namespace partita

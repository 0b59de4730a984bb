// T5 (Raffel et al. 2020): an encoder and a decoder of blocks of attention and a layer of relus, each behind a norm of
// root mean squares and beside a residual, whose attention adds a number for each head and distance to the scores.
#ifndef PARTITA_TOOLS_MODELS_TRANSFORMERS_T5_H_
#define PARTITA_TOOLS_MODELS_TRANSFORMERS_T5_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// T5-Small: 60,506,624 parameters.
struct T5Options {
  int64_t batch = 64;           // pairs of sequences, global
  int64_t source_places = 128;  // of the sequence that is read, padding included
  int64_t target_places = 128;  // of the one that is written
  int64_t words = 32'128;       // of the vocabulary
  int64_t width = 512;
  int64_t heads = 8;               // divides the width
  int64_t layers = 6;              // of encoder and decoder each
  int64_t distances = 32;          // rows of the tables of distances
  int64_t longest_distance = 128;  // further ones share the last row
  double dropout_rate = 0.1;
  DType dtype = DType::kF32;
};

// The row for each distance from -(places - 1) to places - 1 of a key behind its query: near ones have a row each, far
// ones share rows by their logarithm. `two_ways`: half of the rows are of keys behind the query; otherwise such keys,
// which the decoder does not read, have row 0.
std::vector<int64_t> DistanceRows(int64_t places, int64_t rows, int64_t longest, bool two_ways);

// It reads what GNMT reads (tools/models/gnmt.h): `source` with `source_lengths`, `ids`, `targets` and `weights`, and
// minimises `loss`, the mean over all words of the batch. Parameters: "words/table" [words, width], which is also the
// classifier; of block i from 1 of the encoder "encoder<i>/norm1/gain", "encoder<i>/query/weights", ".../key/weights",
// ".../value/weights", ".../output/weights", ".../norm2/gain", ".../up/weights" and ".../down/weights"; of the decoder
// the same under "decoder<i>", and for the attention to the encoder "decoder<i>/source/norm/gain" and
// "decoder<i>/source/query/weights" to ".../output/weights"; "encoder/distances/table" [distances, heads],
// "encoder/norm/gain", and both of the decoder. kInvalidArgument: sizes that it cannot have.
absl::StatusOr<Model> MakeT5(const T5Options& options, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_TRANSFORMERS_T5_H_

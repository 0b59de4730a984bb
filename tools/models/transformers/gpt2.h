// GPT-2 (Radford et al. 2019): words and positions, blocks of causal attention and a layer of four times the width,
// each behind a layer norm and beside a residual, and a softmax over the words that reads the words' own table.
#ifndef PARTITA_TOOLS_MODELS_TRANSFORMERS_GPT2_H_
#define PARTITA_TOOLS_MODELS_TRANSFORMERS_GPT2_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// As the smallest of the authors' four models: 124,439,808 parameters.
struct Gpt2Options {
  int64_t batch = 64;        // sequences, global
  int64_t length = 1024;     // words of each
  int64_t positions = 1024;  // rows of the table of positions; at least as many as `length`
  int64_t words = 50'257;    // of the vocabulary
  int64_t width = 768;
  int64_t heads = 12;  // divides the width
  int64_t layers = 12;
  double dropout_rate = 0.1;  // behind the embedding and each branch; 0: none. Attention has none of its own.
  DType dtype = DType::kF32;
};

// It reads `ids` [batch, length], the words, `targets`, those that follow, and `weights` of the same shape, what each
// of these counts, and minimises `loss`, their mean. Parameters: "words/table" [words, width], "positions/table"
// [positions, width]; of block i from 1 "block1/norm1/gain" and ".../offset", "block1/query/weights" [width, width] and
// "block1/query/bias/values", "key", "value" and "output" likewise, "block1/norm2/...", "block1/up/...",
// "block1/down/..."; "norm/gain", "norm/offset". The authors' one matrix for queries, keys and values is three here, so
// that each can be split between heads. kInvalidArgument: sizes that it cannot have.
absl::StatusOr<Model> MakeGpt2(const Gpt2Options& options, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_TRANSFORMERS_GPT2_H_

// BERT (Devlin et al. 2019): words, positions and segments, blocks of attention over all words of a sequence and a
// layer of four times the width, each with a layer norm behind its residual; and a head that training needs.
#ifndef PARTITA_TOOLS_MODELS_TRANSFORMERS_BERT_H_
#define PARTITA_TOOLS_MODELS_TRANSFORMERS_BERT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

enum class BertHead {
  kWords,       // which word was at a place: masked language modelling, for training from nothing
  kClassifier,  // which class a sequence has
};

// As the authors' base model. Of the base model with its pooler, as a classifier has it, there are 109,482,240
// parameters; a classifier has 769 more for each class, and with the head of words and without the pooler there are
// 109,514,298.
struct BertOptions {
  int64_t batch = 32;       // sequences, global
  int64_t length = 128;     // words of each, at most
  int64_t positions = 512;  // rows of the table of positions; at least as many as `length`
  int64_t words = 30'522;   // of the vocabulary
  int64_t segments = 2;     // kinds of them
  int64_t width = 768;
  int64_t heads = 12;  // divides the width
  int64_t layers = 12;
  BertHead head = BertHead::kWords;
  int64_t classes = 2;        // of kClassifier
  double dropout_rate = 0.1;  // of attention, and behind the embedding, each branch and the pooler; 0: none
  DType dtype = DType::kF32;
};

// It reads `ids` and `segments` [batch, length] and `lengths` [batch], how many words a sequence has, and minimises
// `loss`. With kWords, `labels` [batch, length] are the words to be found, and -100 at places that do not count; with
// kClassifier they are the classes [batch]. It reports `accuracy`. Parameters: "words/table", "positions/table",
// "segments/table", "embedding/norm/gain" and ".../offset"; of block i from 1 "block1/query/weights" [width, width] and
// "block1/query/bias/values", "key", "value" and "output" likewise, "block1/norm1/...", "block1/up/...",
// "block1/down/...", "block1/norm2/..."; then "transform/...", "transform/norm/..." and "logits/bias/values", behind
// the words' own table, or "pooler/..." and "logits/...". kInvalidArgument: sizes that it cannot have.
absl::StatusOr<Model> MakeBert(const BertOptions& options, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_TRANSFORMERS_BERT_H_

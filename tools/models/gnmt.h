// GNMT (Wu et al. 2016), in the form that NVIDIA trains as its second version: two stacks of LSTMs, and attention that
// the first layer of the decoder asks and all further ones read (docs/papers.md 11.8).
#ifndef PARTITA_TOOLS_MODELS_GNMT_H_
#define PARTITA_TOOLS_MODELS_GNMT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// As it is trained for German and English: 159,605,817 parameters.
struct GnmtOptions {
  int64_t batch = 128;         // pairs of sentences, global
  int64_t source_places = 50;  // of the sentence that is read, padding included
  int64_t target_places = 50;  // of the one that is written
  int64_t words = 31'800;      // of the vocabulary, which both languages share
  int64_t units = 1024;        // of each LSTM, and numbers of a word
  int64_t layers = 4;          // of encoder and decoder each; the encoder's first has two directions
  double dropout_rate = 0.2;   // before each LSTM; 0: none
  double label_smoothing = 0.1;
  int64_t steps = 0;  // of the whole training, for the learning rate; 0: 6 epochs of its 3.97 million pairs
  DType dtype = DType::kF32;
};

// It reads `source` [batch, source_places], words of which 0 is padding, with `source_lengths` [batch], what the
// decoder reads, `ids` [batch, target_places], what follows there, `targets`, and `weights` of the same shape, 1 at
// words and 0 at padding; it minimises `loss`, the mean over all words of the batch. A layer's LSTM is called
// "encoder1/forward", "encoder1/backward", "encoder2", ..., "decoder1", ...; its parameters "<lstm>/input/weights",
// "<lstm>/bias/values", "<lstm>/recurrent", and "<lstm>/recurrent_bias/values", which is added to the other bias, as in
// PyTorch's LSTMs. Others are "embedding/table" [words, units], "attention/query/weights", "attention/keys/weights",
// "attention/v", "attention/gain", "attention/bias", "classifier/matmul/weights" and "classifier/bias/values".
// kInvalidArgument: sizes that it cannot have.
absl::StatusOr<Model> MakeGnmt(const GnmtOptions& options, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_GNMT_H_

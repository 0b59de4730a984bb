// BigLSTM (Jozefowicz et al. 2016, section 4): an embedding, LSTMs with projections, and a softmax over the words;
// training computes the true one and some samples.
#ifndef PARTITA_TOOLS_MODELS_BIG_LSTM_H_
#define PARTITA_TOOLS_MODELS_BIG_LSTM_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"

namespace partita {

// As the paper's largest has them: 1,776,880,510 parameters.
struct BigLstmOptions {
  int64_t batch = 128;        // sequences, global
  int64_t places = 20;        // words of each; the next batch goes on behind them
  int64_t words = 793'470;    // of the vocabulary
  int64_t embedding = 0;      // numbers of a word; 0: as many as the projection
  int64_t units = 8192;       // of each LSTM
  int64_t projection = 1024;  // its outputs; as many as units: without a projection
  int64_t layers = 2;
  int64_t samples = 0;        // words that training's softmax draws; 0: 8192, or half of the words if those are fewer
  double dropout_rate = 0.1;  // behind the embedding and each LSTM; 0: none
  DType dtype = DType::kF32;
};

// It reads `ids` [batch, places], the words, `targets`, those that follow, and `weights` of the same shape, what each
// of these counts, and minimises `loss`, their mean. Parameters: "embedding/table" [words, embedding], of each layer
// "lstm1/input/weights", "lstm1/bias/values", "lstm1/recurrent", "lstm1/projection", and "softmax/weights"
// [words, projection], "softmax/bias". kInvalidArgument: sizes that it cannot have.
absl::StatusOr<Model> MakeBigLstm(const BigLstmOptions& options, const OpRegistry& registry);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_BIG_LSTM_H_

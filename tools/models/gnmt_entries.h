// The entry points of GNMT besides training: sizes for shorter sentences, and the steps of its decoder.
#ifndef PARTITA_TOOLS_MODELS_GNMT_ENTRIES_H_
#define PARTITA_TOOLS_MODELS_GNMT_ENTRIES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "graph/ir/model.h"
#include "graph/ir/op_definition.h"
#include "tools/models/gnmt.h"

namespace partita {

// Adds to a model that MakeGnmt made with these options:
//   bucket1, ...  sizes, `buckets` with the graph's own: of i / buckets of its places each
//   encode, step  what runtime/decode/set_decoder.h reads: a step of the decoder, whose LSTMs' states are inputs and
//                 results, with the attention's probabilities
// kInvalidArgument: fewer than 1 bucket, or more than there are places.
absl::Status AddGnmtEntries(const GnmtOptions& options, int64_t buckets, const OpRegistry& registry, Model& model);

}  // namespace partita

#endif  // PARTITA_TOOLS_MODELS_GNMT_ENTRIES_H_

// Pieces of a state, as files have them, to the ranks' parts of it.
#ifndef PARTITA_RUNTIME_TRAIN_SHARDED_FILL_PARTS_H_
#define PARTITA_RUNTIME_TRAIN_SHARDED_FILL_PARTS_H_

#include <span>

#include "runtime/api/session.h"

namespace partita {

// `bytes`: of the piece, in its row-major order. Each part takes what it has of it.
void FillParts(const Box& piece, const char* bytes, std::span<const HeldTensor> parts);

}  // namespace partita

#endif  // PARTITA_RUNTIME_TRAIN_SHARDED_FILL_PARTS_H_

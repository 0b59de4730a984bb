// Draws the initial values of a state by several threads, each those of a part of it.
//
// A value depends only on its index in the whole state (ops/values/initializer.h), so the bytes are equal for every
// number of threads.
#ifndef PARTITA_RUNTIME_API_RANK_INITIAL_VALUES_H_
#define PARTITA_RUNTIME_API_RANK_INITIAL_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/ir/kernel_catalogue.h"
#include "graph/value/attributes.h"
#include "graph/value/shape.h"

namespace partita {

// Boxes that lie one behind the other in `box`, dense and row-major, and are all of it: at most `pieces`, along the
// first dimension that has more than one element.
std::vector<Box> PiecesOf(const Box& box, int64_t pieces);

// Fills `data`, the elements of `tensor`. `drawn_as`: the name that the values depend on. Errors: those of Initialize.
absl::Status DrawInitialValues(const Attributes& attributes, const LocalTensor& tensor, uint64_t seed,
                               const std::string& drawn_as, int64_t threads, void* data);

}  // namespace partita

#endif  // PARTITA_RUNTIME_API_RANK_INITIAL_VALUES_H_

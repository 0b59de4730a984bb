// The adjoint test of moves, or of chains of moves: <F x, y> == <x, F* y> (Hewett and Grady, section 2), on ranks that
// really move bytes, for every form in which the cotangent y can come. Inner products pair duals: S with S, At with At,
// P with R, copies in ghosts with summands in ghosts.
#ifndef PARTITA_TESTS_GRAPH_DERIVE_ADJOINT_FIXTURE_H_
#define PARTITA_TESTS_GRAPH_DERIVE_ADJOINT_FIXTURE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/moves/plan_exchange.h"
#include "graph/value/layout.h"
#include "graph/value/mesh.h"

namespace partita {

struct AdjointCase {
  TensorType type;
  Layout from, to;  // on any of the meshes
  // Small integers instead of numbers in (-1, 1): all results must be exact. An i32 always has them, and only forms of
  // the cotangent that need no sum.
  bool integers = false;
};

// What was tested: (move or chain of moves, cotangent form).
struct AdjointTally {
  int cases = 0;
  std::map<std::string, int> by_primitive;  // cases in which F or F* has it
  int in_rounds = 0;                        // exchanges that were not made directly
};

// "a:S0 b:R" as a layout on the mesh.
Layout ParseLayout(const std::string& text, const Shape& shape, const Mesh& mesh);

// Moves random numbers from one layout to the other and cotangents back, all cases in one program. Metric of
// docs/papers.md 2.1, inner products in f64: 1e-13 in f64, 1e-6 in f32, integers exact. A move changes nothing of the
// value: F x is x wherever it is held. Margins of the result are zero, and the bytes counted are those predicted.
// Exchanges of tiles that several ranks want are made in `mode`, a chain in many chunks.
void ExpectAdjoints(const std::vector<Mesh>& meshes, const std::vector<AdjointCase>& cases, uint32_t seed,
                    AdjointTally& tally, ExchangeMode mode = ExchangeMode::kDirect);
inline void ExpectAdjoints(const Mesh& mesh, const std::vector<AdjointCase>& cases, uint32_t seed, AdjointTally& tally,
                           ExchangeMode mode = ExchangeMode::kDirect) {
  ExpectAdjoints(std::vector<Mesh>{mesh}, cases, seed, tally, mode);
}

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_DERIVE_ADJOINT_FIXTURE_H_

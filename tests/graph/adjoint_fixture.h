// The adjoint test of one move, or of a chain of moves: <F x, y> == <x, F* y> (Hewett and Grady, section 2), on ranks
// that really move bytes, for every form in which the cotangent y can come. Inner products pair duals: S with S, At
// with At, P with R, copies in ghosts with summands in ghosts.
#ifndef PARTITA_TESTS_GRAPH_ADJOINT_FIXTURE_H_
#define PARTITA_TESTS_GRAPH_ADJOINT_FIXTURE_H_

#include <cstdint>
#include <string>

#include "graph/layout.h"
#include "graph/mesh.h"
#include "graph/shape.h"

namespace partita {

struct AdjointCase {
  Mesh mesh;
  Shape shape;
  Layout from, to;
};

// "a:S0 b:R" as a layout.
Layout ParseLayout(const std::string& text, const Shape& shape, const Mesh& mesh);

// Moves random numbers from one layout to the other and cotangents back; metric of algorithms.md 2.8, 1e-13 in f64, or
// integers, which must agree exactly. Margins of the result are zero, and the bytes counted are those predicted.
// `tested` counts the cotangent forms.
void ExpectAdjoint(const AdjointCase& c, uint32_t seed, bool integers, int& tested);

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_ADJOINT_FIXTURE_H_

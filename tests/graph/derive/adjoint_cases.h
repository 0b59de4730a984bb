// Draws what the adjoint test is run on: meshes of 1 to 3 axes, tensors of 1 to 3 dimensions, layouts of every kind,
// cut anywhere, and sliding windows. The same seed draws the same on every machine.
#ifndef PARTITA_TESTS_GRAPH_DERIVE_ADJOINT_CASES_H_
#define PARTITA_TESTS_GRAPH_DERIVE_ADJOINT_CASES_H_

#include <cstdint>
#include <random>
#include <vector>

#include "tests/graph/derive/adjoint_fixture.h"

namespace partita {

// "a", "b", "c" of these sizes.
Mesh MeshOf(const std::vector<int>& sizes);

// 1 to 8 ranks.
std::vector<Mesh> AdjointMeshes();

// Several meshes of one program: the same ranks in other forms and in another order, some of them, others.
std::vector<std::vector<Mesh>> AdjointMeshSets();

class CaseDraw {
 public:
  explicit CaseDraw(uint32_t seed) : random_(seed) {}

  int64_t Between(int64_t from, int64_t to);
  bool Coin() { return Between(0, 1) == 1; }

  // p blocks of n elements: balanced (empty), or any cut points, so that blocks are often empty.
  std::vector<int64_t> Cuts(int64_t n, int p);
  // Windows over n elements, of any stride and dilation; at least one sees an element.
  Windows WindowsOver(int64_t n);
  // The splits of `dimension`, by windows.
  Layout Windowed(Layout layout, int dimension, const Shape& shape, const Mesh& mesh);

  // Two layouts that differ, without windows.
  AdjointCase AnyMove(const Mesh& mesh);
  // From a layout without windows to what windows over one to three dimensions need.
  AdjointCase AnyHalo(const Mesh& mesh);
  // From any layout on one of the meshes to any on another, some by windows.
  AdjointCase AnyReshard(const std::vector<Mesh>& meshes);
  // From summands in the ghosts of windows to a layout without windows.
  AdjointCase AnyHaloSum(const Mesh& mesh);

 private:
  TensorType Type(int64_t most);
  Layout AnyLayout(const Shape& shape, const Mesh& mesh, bool partial);
  // Every dimension that `layout` splits becomes one by windows; some stay.
  Layout WindowedSomewhere(Layout layout, const Shape& shape, const Mesh& mesh);

  std::mt19937 random_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_DERIVE_ADJOINT_CASES_H_

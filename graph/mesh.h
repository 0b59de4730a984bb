// A mesh: the ranks of a program arranged along named axes, e.g. `data:2 model:2`.
//
// Rank = row-major index over the axes (the last axis runs fastest). Sets of ranks that communicate are the ranks that
// differ only in their coordinates on a set of axes: over `data` of the mesh above {0,2} and {1,3}.
#ifndef PARTITA_GRAPH_MESH_H_
#define PARTITA_GRAPH_MESH_H_

#include <cstdint>
#include <string>
#include <vector>

namespace partita {

struct MeshAxis {
  std::string name;
  int size = 1;
  bool operator==(const MeshAxis&) const = default;
};

struct Mesh {
  std::vector<MeshAxis> axes;

  int size() const;                              // number of ranks; 1 for a mesh without axes
  int AxisIndex(const std::string& name) const;  // -1 if there is none
  std::vector<int> Coordinates(int rank) const;  // one per axis
  int Rank(const std::vector<int>& coordinates) const;

  // The ranks that `rank` meets when it communicates over `axes` (sorted axis indices): all ranks that agree with it on
  // every other axis, in row-major order of their coordinates on `axes`.
  std::vector<int> Group(int rank, const std::vector<int>& axes) const;
  // True if `rank` is the first of its group over `axes`.
  bool Leads(int rank, const std::vector<int>& axes) const;

  // "data:2 model:2"
  std::string ToString() const;
  bool operator==(const Mesh&) const = default;
};

}  // namespace partita

#endif  // PARTITA_GRAPH_MESH_H_

// A mesh: ranks of a program arranged along named axes, e.g. `data:2 model:2`.
//
// A program has one or several meshes. Its first one has all ranks, 0 to size() - 1; further ones have any of them:
// others, the same in another form, or some of both. The ranks of a mesh lie in row-major order of their coordinates
// (the last axis runs fastest). Sets of ranks that communicate are those that differ only in their coordinates on a set
// of axes: over `data` of the mesh above {0,2} and {1,3}.
#ifndef PARTITA_GRAPH_VALUE_MESH_H_
#define PARTITA_GRAPH_VALUE_MESH_H_

#include <cstdint>
#include <string>
#include <vector>

namespace partita {

struct MeshAxis {
  std::string name;  // of all axes of a program's meshes no two have the same: an axis says which mesh is meant
  int size = 1;
  bool operator==(const MeshAxis&) const = default;
};

struct Mesh {
  std::vector<MeshAxis> axes;
  std::string name = {};        // of a further mesh
  std::vector<int> ranks = {};  // one for each place; empty: 0 to size() - 1
  int id = 0;                   // place among the meshes of the program

  int size() const;                              // number of ranks; 1 for a mesh without axes
  int AxisIndex(const std::string& name) const;  // -1 if there is none
  int Place(int rank) const;                     // in row-major order; -1: the rank is not on the mesh
  bool Has(int rank) const { return Place(rank) >= 0; }
  int RankAt(int place) const { return ranks.empty() ? place : ranks[place]; }
  std::vector<int> Ranks() const;                // all, in row-major order
  std::vector<int> Coordinates(int rank) const;  // one per axis; of a rank that is on the mesh
  int Rank(const std::vector<int>& coordinates) const;

  // The ranks that `rank` meets when it communicates over `axes` (sorted axis indices): all ranks that agree with it on
  // every other axis, in row-major order of their coordinates on `axes`.
  std::vector<int> Group(int rank, const std::vector<int>& axes) const;
  // True if `rank` is the first of its group over `axes`.
  bool Leads(int rank, const std::vector<int>& axes) const;

  // "data:2 model:2"; a list of ranks is added: "x:2 {1,4}"
  std::string ToString() const;
  bool operator==(const Mesh&) const = default;
};

// An axis of one of several meshes; -1: there is none.
struct AxisPlace {
  int mesh = -1, axis = -1;
};
AxisPlace FindAxis(const std::vector<Mesh>& meshes, const std::string& name);

// "data:2 model:2, tail stage:2 {1,4}"
std::string ToString(const std::vector<Mesh>& meshes);

// The ranks of either mesh, ascending.
std::vector<int> RanksOfBoth(const Mesh& a, const Mesh& b);

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_MESH_H_

#include "graph/moves/elements_of_ranks.h"

#include "graph/value/held_along.h"

namespace partita {
namespace {

using Bits = uint64_t;  // a set of axes or of dimensions

// The axes that split each dimension.
std::vector<Bits> AxesSplitting(const Layout& layout, size_t dimensions) {
  std::vector<Bits> axes(dimensions, 0);
  for (size_t a = 0; a < layout.size(); ++a) {
    if (layout[a].split()) axes[layout[a].dimension] |= Bits{1} << a;
  }
  return axes;
}

// Ranks by their coordinates: on each axis a run of them.
class RankRuns {
 public:
  explicit RankRuns(const Mesh& mesh) : at_(mesh.axes.size(), 0) {
    runs_.reserve(mesh.axes.size());
    for (const MeshAxis& axis : mesh.axes) runs_.push_back({0, axis.size});
  }

  void Keep(int axis, int coordinate) { runs_[axis] = Overlap(runs_[axis], {coordinate, coordinate + 1}); }

  // Those alone that an At gives the value to.
  void KeepHolders(const Layout& layout) {
    for (size_t a = 0; a < layout.size(); ++a) {
      if (layout[a].at()) Keep(static_cast<int>(a), layout[a].coordinate);
    }
  }

  // The sum over all ranks of the product over all dimensions of `length(dimension, coordinates)`, which depends on the
  // coordinates on `axes_of` this dimension. Dimensions that have no axis in common are summed by themselves.
  template <typename Length>
  int64_t Sum(const std::vector<Bits>& axes_of, const Length& length) {
    int64_t sum = 1;
    Bits seen = 0, cutting = 0;
    for (size_t d = 0; d < axes_of.size(); ++d) {
      if ((seen >> d & 1) != 0) continue;
      Bits axes = axes_of[d];
      const Bits together = JoinedBy(axes_of, d, axes);
      seen |= together;
      cutting |= axes;
      sum *= SumOver(axes, [&] {
        int64_t product = 1;
        for (size_t e = d; e < axes_of.size(); ++e) {
          if ((together >> e & 1) != 0) product *= length(e, at_);
        }
        return product;
      });
    }
    for (size_t a = 0; a < runs_.size(); ++a) {
      if ((cutting >> a & 1) == 0) sum *= runs_[a].size();
    }
    return sum;
  }

 private:
  // The dimensions that share axes with this one, or with one that does; `axes` becomes those of all of them.
  static Bits JoinedBy(const std::vector<Bits>& axes_of, size_t dimension, Bits& axes) {
    Bits joined = Bits{1} << dimension;
    for (Bits before = 0; before != joined;) {
      before = joined;
      for (size_t e = 0; e < axes_of.size(); ++e) {
        if ((axes_of[e] & axes) == 0) continue;
        joined |= Bits{1} << e;
        axes |= axes_of[e];
      }
    }
    return joined;
  }

  // Over all coordinates on these axes.
  template <typename Product>
  int64_t SumOver(Bits axes, const Product& product) {
    for (size_t a = 0; a < runs_.size(); ++a) {
      if ((axes >> a & 1) == 0) continue;
      if (runs_[a].empty()) return 0;
      at_[a] = runs_[a].begin;
    }
    int64_t sum = 0;
    do {
      sum += product();
    } while (CountUp(axes));
    return sum;
  }

  // False behind the last coordinates, where it begins again.
  bool CountUp(Bits axes) {
    for (size_t a = 0; a < runs_.size(); ++a) {
      if ((axes >> a & 1) == 0) continue;
      if (++at_[a] < runs_[a].end) return true;
      at_[a] = runs_[a].begin;
    }
    return false;
  }

  std::vector<Range> runs_;  // by axis
  std::vector<int64_t> at_;
};

}  // namespace

int64_t ElementsHeld(const Layout& layout, const Shape& shape, const Mesh& mesh, const std::vector<int>& axes) {
  RankRuns ranks(mesh);
  ranks.KeepHolders(layout);
  for (const int axis : axes) ranks.Keep(axis, 0);
  return ranks.Sum(AxesSplitting(layout, shape.size()), [&](size_t d, const std::vector<int64_t>& at) {
    return HeldAlong(layout, d, shape[d], mesh, at).size();
  });
}

int64_t ElementsThatChangeRank(const Layout& from, const Layout& to, const Shape& shape, const Mesh& mesh) {
  const auto wanted = [&](size_t d, const std::vector<int64_t>& at) {
    return Overlap(HeldAlong(to, d, shape[d], mesh, at), {0, shape[d]});
  };
  RankRuns ranks(mesh);
  ranks.KeepHolders(to);
  std::vector<Bits> axes = AxesSplitting(to, shape.size());
  const int64_t all = ranks.Sum(axes, [&](size_t d, const std::vector<int64_t>& at) { return wanted(d, at).size(); });
  ranks.KeepHolders(from);
  const std::vector<Bits> before = AxesSplitting(from, shape.size());
  for (size_t d = 0; d < axes.size(); ++d) axes[d] |= before[d];
  const int64_t held = ranks.Sum(axes, [&](size_t d, const std::vector<int64_t>& at) {
    return Overlap(wanted(d, at), HeldAlong(from, d, shape[d], mesh, at)).size();
  });
  return all - held;
}

}  // namespace partita

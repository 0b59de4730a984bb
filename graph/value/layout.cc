#include "graph/value/layout.h"

#include <algorithm>
#include <charconv>

#include "graph/value/held_along.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kMostDimensions = 64;

bool ParseInt(const std::string& text, int64_t& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// "S1", "S1[0,22,43]", either followed by "(28x3/1-1)".
std::optional<AxisLayout> ParseSplit(const std::string& text) {
  AxisLayout split = AxisLayout::Split(0);
  const size_t round = text.find('('), square = text.find('[');
  if (round != std::string::npos) {
    if (text.back() != ')') return std::nullopt;
    const absl::StatusOr<Windows> windows = ParseWindows(text.substr(round + 1, text.size() - round - 2));
    if (!windows.ok()) return std::nullopt;
    split.windows = *windows;
  }
  const std::string cuts = square < round ? text.substr(square + 1, std::min(round, text.size()) - square - 1) : "";
  int64_t number = 0;
  if (!ParseInt(text.substr(1, std::min(square, round) - 1), number) || number < 0 || number > kMostDimensions) {
    return std::nullopt;
  }
  split.dimension = static_cast<int>(number);
  for (size_t begin = 0; begin < cuts.size();) {
    const size_t end = cuts.find_first_of(",]", begin);
    if (end == std::string::npos || !ParseInt(cuts.substr(begin, end - begin), number)) return std::nullopt;
    split.cuts.push_back(number);
    begin = end + 1;
    if (cuts[end] == ']' && begin != cuts.size()) return std::nullopt;
  }
  if (square < round && (split.cuts.size() < 2 || cuts.back() != ']')) return std::nullopt;
  return split;
}

// How many blocks' elements an axis layout cuts: of the dimension, or of its windows' outputs.
int64_t Cuttable(const AxisLayout& axis, int64_t dimension_size) {
  return axis.windows ? axis.windows->count : dimension_size;
}

// The cut points of one axis over a (parent) block of n elements.
std::vector<int64_t> Cuts(const AxisLayout& axis, int64_t n, int p) {
  return axis.cuts.empty() ? BalancedCuts(n, p) : axis.cuts;
}

}  // namespace

AxisLayout AxisLayout::Split(int dimension, std::vector<int64_t> cuts, std::optional<Windows> windows) {
  AxisLayout layout;
  layout.kind = Kind::kSplit;
  layout.dimension = dimension;
  layout.cuts = std::move(cuts);
  layout.windows = windows;
  return layout;
}

AxisLayout AxisLayout::Partial(Reduction reduction) {
  AxisLayout layout;
  layout.kind = Kind::kPartial;
  layout.reduction = reduction;
  return layout;
}

AxisLayout AxisLayout::At(int coordinate) {
  AxisLayout layout;
  layout.kind = Kind::kAt;
  layout.coordinate = coordinate;
  return layout;
}

std::string AxisLayout::ToString() const {
  switch (kind) {
    case Kind::kReplicate:
      return "R";
    case Kind::kPartial:
      return reduction == Reduction::kMax ? "P(max)" : "P";
    case Kind::kAt:
      return fmt::format("At{}", coordinate);
    case Kind::kSplit:
      break;
  }
  std::string text = fmt::format("S{}", dimension);
  if (!cuts.empty()) text += fmt::format("[{}]", fmt::join(cuts, ","));
  if (windows) text += fmt::format("({})", partita::ToString(*windows));
  return text;
}

Layout Replicated(const Mesh& mesh) {
  Layout layout(mesh.axes.size());
  layout.mesh = mesh.id;
  return layout;
}

std::string ToString(const Layout& layout, const Mesh& mesh) {
  std::string text = "{";
  for (size_t a = 0; a < layout.size(); ++a) {
    text += fmt::format("{}{}:{}", a == 0 ? "" : " ", mesh.axes[a].name, layout[a].ToString());
  }
  return text + "}";
}

absl::StatusOr<AxisLayout> ParseAxisLayout(const std::string& text) {
  int64_t number = 0;
  if (text == "R") return AxisLayout::Replicate();
  if (text == "P") return AxisLayout::Partial();
  if (text == "P(max)") return AxisLayout::Partial(Reduction::kMax);
  if (text.rfind("At", 0) == 0 && ParseInt(text.substr(2), number) && number >= 0) {
    return AxisLayout::At(static_cast<int>(number));
  }
  if (text.rfind("S", 0) == 0) {
    if (std::optional<AxisLayout> split = ParseSplit(text); split) return *split;
  }
  return InvalidArgument(
      "'{}' is no axis layout; allowed are R, P, P(max), At<c>, S<d>, S<d>[0,...] and S<d>(<windows>)", text);
}

std::vector<int64_t> BalancedCuts(int64_t n, int p) {
  std::vector<int64_t> cuts(p + 1, 0);
  for (int i = 0; i < p; ++i) cuts[i + 1] = cuts[i] + n / p + (i < n % p ? 1 : 0);
  return cuts;
}

namespace {

absl::Status CheckSameWindows(const Layout& layout, size_t a, const Mesh& mesh) {
  if (layout[a].windows) RETURN_IF_ERROR(CheckWindows(*layout[a].windows));
  for (size_t outer = 0; outer < a; ++outer) {
    if (!layout[outer].split() || layout[outer].dimension != layout[a].dimension) continue;
    if (layout[outer].windows == layout[a].windows) continue;
    return InvalidArgument("{} over axis '{}' and {} over axis '{}' split one dimension by different windows",
                           layout[outer].ToString(), mesh.axes[outer].name, layout[a].ToString(), mesh.axes[a].name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckLayout(const Layout& layout, const Shape& shape, const Mesh& mesh) {
  if (layout.mesh != mesh.id) {
    return InvalidArgument("the layout is one on mesh {}, not on mesh {} ('{}')", layout.mesh, mesh.id,
                           mesh.ToString());
  }
  if (layout.size() != mesh.axes.size()) {
    return InvalidArgument("the layout names {}; the mesh '{}' has {}", Counted(layout.size(), "axis"), mesh.ToString(),
                           mesh.axes.size());
  }
  for (size_t a = 0; a < layout.size(); ++a) {
    const AxisLayout& axis = layout[a];
    const MeshAxis& mesh_axis = mesh.axes[a];
    if (axis.at() && (axis.coordinate < 0 || axis.coordinate >= mesh_axis.size)) {
      return InvalidArgument("{} lies off axis '{}' of size {}", axis.ToString(), mesh_axis.name, mesh_axis.size);
    }
    for (size_t b = 0; axis.partial() && b < a; ++b) {
      if (!layout[b].partial() || layout[b].reduction == axis.reduction) continue;
      return InvalidArgument("{} over axis '{}' and {} over axis '{}': sums and maxima do not mix",
                             layout[b].ToString(), mesh.axes[b].name, axis.ToString(), mesh_axis.name);
    }
    if (!axis.split()) continue;
    if (axis.dimension < 0 || axis.dimension >= static_cast<int>(shape.size())) {
      return InvalidArgument("{} over axis '{}' splits a dimension that shape {} does not have", axis.ToString(),
                             mesh_axis.name, ToString(shape));
    }
    RETURN_IF_ERROR(CheckSameWindows(layout, a, mesh));
    if (axis.cuts.empty()) continue;
    // An outer split of the same dimension leaves parent blocks; explicit cuts must fit all of them, so these must be
    // equal.
    int64_t n = Cuttable(axis, shape[axis.dimension]);
    for (size_t outer = 0; outer < a; ++outer) {
      if (!layout[outer].split() || layout[outer].dimension != axis.dimension) continue;
      const std::vector<int64_t> cuts = Cuts(layout[outer], n, mesh.axes[outer].size);
      for (size_t i = 1; i + 1 < cuts.size(); ++i) {
        if (cuts[i + 1] - cuts[i] != cuts[1] - cuts[0]) {
          return InvalidArgument(
              "{} over axis '{}': axis '{}' cuts the same dimension into blocks of different sizes, at [{}], and these "
              "cuts must fit all of them; give that axis equal cuts, or omit the cuts of '{}'",
              axis.ToString(), mesh_axis.name, mesh.axes[outer].name, fmt::join(cuts, ","), mesh_axis.name);
        }
      }
      n = cuts[1] - cuts[0];
    }
    bool rises = axis.cuts.front() == 0 && axis.cuts.back() == n;
    for (size_t i = 0; i + 1 < axis.cuts.size(); ++i) rises = rises && axis.cuts[i] <= axis.cuts[i + 1];
    if (!rises || static_cast<int>(axis.cuts.size()) != mesh_axis.size + 1) {
      return InvalidArgument("{} over axis '{}': {} cut points that rise from 0 to {} are needed", axis.ToString(),
                             mesh_axis.name, mesh_axis.size + 1, n);
    }
  }
  return absl::OkStatus();
}

namespace {

// True if an axis before `a` splits the dimension that `a` splits.
bool SplitBefore(const Layout& layout, size_t a) {
  for (size_t outer = 0; outer < a; ++outer) {
    if (layout[outer].split() && layout[outer].dimension == layout[a].dimension) return true;
  }
  return false;
}

}  // namespace

std::optional<Box> LocalBox(const Layout& layout, const Shape& shape, const Mesh& mesh, int rank) {
  const int place = mesh.Place(rank);
  if (place < 0) return std::nullopt;
  Box box = WholeBox(shape);
  int ranks = mesh.size();  // that share the coordinates so far
  for (size_t a = 0; a < layout.size(); ++a) {
    const AxisLayout& axis = layout[a];
    const int size = mesh.axes[a].size;
    ranks /= size;
    const int coordinate = place / ranks % size;
    if (axis.at() && axis.coordinate != coordinate) return std::nullopt;
    if (!axis.split()) continue;
    const int d = axis.dimension;
    // Until the end, the box counts outputs in dimensions that are split by windows.
    if (axis.windows && !SplitBefore(layout, a)) box.size[d] = axis.windows->count;
    const Range block = CutBlock(axis, box.size[d], size, coordinate);
    box.offset[d] += block.begin;
    box.size[d] = block.size();
  }
  for (size_t a = 0; a < layout.size(); ++a) {
    if (!layout[a].windows || SplitBefore(layout, a)) continue;
    const int d = layout[a].dimension;
    const Range block = BlockOf(*layout[a].windows, {box.offset[d], box.offset[d] + box.size[d]}, shape[d]);
    box.offset[d] = block.begin;
    box.size[d] = block.size();
  }
  return box;
}

bool SameAxis(const AxisLayout& a, const AxisLayout& b, int64_t dimension_size, int axis_size) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case AxisLayout::Kind::kReplicate:
      return true;
    case AxisLayout::Kind::kPartial:
      return a.reduction == b.reduction;
    case AxisLayout::Kind::kAt:
      return a.coordinate == b.coordinate;
    case AxisLayout::Kind::kSplit:
      break;
  }
  if (a.dimension != b.dimension || a.windows != b.windows) return false;
  if (a.cuts == b.cuts) return true;
  const int64_t n = Cuttable(a, dimension_size);
  return Cuts(a, n, axis_size) == Cuts(b, n, axis_size);
}

}  // namespace partita

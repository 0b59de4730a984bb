#include "tests/graph/derive/adjoint_cases.h"

#include <algorithm>

namespace partita {
namespace {

bool SomeSplit(const Layout& layout) {
  return std::any_of(layout.begin(), layout.end(), [](const AxisLayout& axis) { return axis.split(); });
}

bool SomeWindows(const Layout& layout) {
  return std::any_of(layout.begin(), layout.end(), [](const AxisLayout& axis) { return axis.windows.has_value(); });
}

bool SomeSum(const Layout& layout) {
  return std::any_of(layout.begin(), layout.end(), [](const AxisLayout& axis) { return axis.partial(); });
}

}  // namespace

Mesh MeshOf(const std::vector<int>& sizes) {
  Mesh mesh;
  for (size_t a = 0; a < sizes.size(); ++a) mesh.axes.push_back({std::string(1, static_cast<char>('a' + a)), sizes[a]});
  return mesh;
}

std::vector<Mesh> AdjointMeshes() {
  std::vector<Mesh> meshes;
  for (const std::vector<int>& sizes : std::vector<std::vector<int>>{{1},
                                                                     {2},
                                                                     {3},
                                                                     {4},
                                                                     {5},
                                                                     {6},
                                                                     {7},
                                                                     {2, 2},
                                                                     {2, 3},
                                                                     {3, 2},
                                                                     {1, 4},
                                                                     {5, 1},
                                                                     {1, 2, 3},
                                                                     {3, 1, 2},
                                                                     {2, 2, 1},
                                                                     {2, 2, 2}}) {
    meshes.push_back(MeshOf(sizes));
  }
  return meshes;
}

std::vector<std::vector<Mesh>> AdjointMeshSets() {
  struct Part {
    std::vector<int> sizes, ranks;
  };
  const std::vector<std::vector<Part>> sets = {
      {{{2, 3}, {}}, {{3, 2}, {}}, {{6}, {5, 0, 4, 1, 3, 2}}, {{2}, {1, 4}}, {{3}, {2, 3, 5}}},
      {{{4}, {}}, {{2, 2}, {}}, {{2}, {}}, {{2}, {3, 2}}, {{1}, {2}}},
      {{{3}, {}}, {{2}, {}}, {{1, 2}, {2, 1}}, {{1}, {}}},
      {{{7}, {}}, {{2, 2}, {0, 1, 2, 3}}, {{3}, {4, 5, 6}}, {{3, 2}, {6, 1, 5, 2, 4, 3}}},
      {{{2, 1, 2}, {}}, {{3}, {3, 1, 0}}, {{2}, {1, 2}}},
  };
  std::vector<std::vector<Mesh>> mesh_sets;
  for (const std::vector<Part>& parts : sets) {
    std::vector<Mesh>& meshes = mesh_sets.emplace_back();
    for (const Part& part : parts) {
      Mesh mesh = MeshOf(part.sizes);
      mesh.id = static_cast<int>(meshes.size());
      mesh.ranks = part.ranks;
      if (mesh.id > 0) mesh.name = "m" + std::to_string(mesh.id);
      for (MeshAxis& axis : mesh.axes) axis.name += mesh.id > 0 ? std::to_string(mesh.id) : "";
      meshes.push_back(std::move(mesh));
    }
  }
  return mesh_sets;
}

int64_t CaseDraw::Between(int64_t from, int64_t to) {
  return from + static_cast<int64_t>(random_() % static_cast<uint64_t>(to - from + 1));
}

std::vector<int64_t> CaseDraw::Cuts(int64_t n, int p) {
  if (Coin()) return {};
  std::vector<int64_t> cuts = {0, n};
  for (int r = 1; r < p; ++r) cuts.push_back(Between(0, n));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

Windows CaseDraw::WindowsOver(int64_t n) {
  while (true) {
    Windows windows;
    windows.extent = Between(1, 3) * (Between(1, 4) - 1) + 1;
    windows.stride = Between(1, 4);
    windows.before = Between(0, 4);
    const int64_t after = Between(0, 3);
    windows.extent = std::min(windows.extent, n + windows.before + after);
    windows.count = (n + windows.before + after - windows.extent) / windows.stride + 1;
    windows.clipped = Coin();
    for (int64_t o = 0; o < windows.count; ++o) {
      if (!Overlap(SpanOf(windows, {o, o + 1}), {0, n}).empty()) return windows;
    }
  }
}

Layout CaseDraw::Windowed(Layout layout, int dimension, const Shape& shape, const Mesh& mesh) {
  const Windows windows = WindowsOver(shape[dimension]);
  bool nested = false;
  for (size_t a = 0; a < layout.size(); ++a) {
    if (!layout[a].split() || layout[a].dimension != dimension) continue;
    std::vector<int64_t> cuts = nested ? std::vector<int64_t>() : Cuts(windows.count, mesh.axes[a].size);
    layout[a] = AxisLayout::Split(dimension, std::move(cuts), windows);
    nested = true;
  }
  return layout;
}

TensorType CaseDraw::Type(int64_t most) {
  Shape shape(Between(1, 3));
  for (int64_t& size : shape) size = Between(1, most);
  const DType dtypes[] = {DType::kF64, DType::kF64, DType::kF32};
  return {dtypes[Between(0, 2)], std::move(shape)};
}

Layout CaseDraw::AnyLayout(const Shape& shape, const Mesh& mesh, bool partial) {
  while (true) {
    Layout layout;
    layout.mesh = mesh.id;
    for (const MeshAxis& axis : mesh.axes) {
      const int64_t kind = Between(0, partial ? 6 : 5);
      const int dimension = static_cast<int>(Between(0, static_cast<int64_t>(shape.size()) - 1));
      if (kind == 0) layout.push_back(AxisLayout::Replicate());
      if (kind == 1) layout.push_back(AxisLayout::At(static_cast<int>(Between(0, axis.size - 1))));
      if (kind == 6) layout.push_back(AxisLayout::Partial());
      if (kind >= 2 && kind <= 5) layout.push_back(AxisLayout::Split(dimension, Cuts(shape[dimension], axis.size)));
    }
    for (size_t a = 0; a < layout.size(); ++a) {  // cuts inside blocks are drawn again as what these need
      if (!layout[a].split() || layout[a].cuts.empty()) continue;
      int64_t n = shape[layout[a].dimension];
      for (size_t outer = 0; outer < a; ++outer) {
        if (layout[outer].split() && layout[outer].dimension == layout[a].dimension) n /= mesh.axes[outer].size;
      }
      if (n != shape[layout[a].dimension]) layout[a].cuts = Cuts(n, mesh.axes[a].size);
    }
    if (CheckLayout(layout, shape, mesh).ok()) return layout;
  }
}

Layout CaseDraw::WindowedSomewhere(Layout layout, const Shape& shape, const Mesh& mesh) {
  while (!SomeWindows(layout)) {
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
      if (Between(0, 3) > 0) layout = Windowed(std::move(layout), d, shape, mesh);
    }
  }
  return layout;
}

AdjointCase CaseDraw::AnyMove(const Mesh& mesh) {
  AdjointCase c;
  c.type = Type(6);
  c.integers = Between(0, 3) == 0;
  do {
    c.from = AnyLayout(c.type.shape, mesh, true);
    c.to = AnyLayout(c.type.shape, mesh, Between(0, 3) == 0);
  } while (c.from == c.to);
  if (c.integers && Coin() && !SomeSum(c.from) && !SomeSum(c.to)) c.type.dtype = DType::kI32;
  return c;
}

AdjointCase CaseDraw::AnyHalo(const Mesh& mesh) {
  AdjointCase c;
  c.type = Type(9);
  c.integers = Between(0, 3) == 0;
  do {
    c.from = AnyLayout(c.type.shape, mesh, Between(0, 3) == 0);
    c.to = Between(0, 3) == 0 ? AnyLayout(c.type.shape, mesh, false) : c.from;
  } while (!SomeSplit(c.to));
  c.to = WindowedSomewhere(c.to, c.type.shape, mesh);
  return c;
}

AdjointCase CaseDraw::AnyReshard(const std::vector<Mesh>& meshes) {
  const int last = static_cast<int>(meshes.size()) - 1;
  const int64_t source = Between(0, last), target = (source + Between(1, last)) % (last + 1);
  AdjointCase c;
  c.type = Type(7);
  c.integers = Between(0, 3) == 0;
  c.from = AnyLayout(c.type.shape, meshes[source], true);
  c.to = AnyLayout(c.type.shape, meshes[target], Between(0, 3) == 0);
  if (c.integers && Coin() && !SomeSum(c.from) && !SomeSum(c.to)) c.type.dtype = DType::kI32;
  if (c.type.dtype == DType::kI32) return c;
  if (SomeSplit(c.to) && Between(0, 3) == 0) c.to = WindowedSomewhere(c.to, c.type.shape, meshes[target]);
  if (!SomeSplit(c.from) || Between(0, 3) > 0) return c;
  c.from = WindowedSomewhere(c.from, c.type.shape, meshes[source]);
  for (AxisLayout& axis : c.from) {
    if (axis.windows) axis.windows->summed = true;
  }
  return c;
}

AdjointCase CaseDraw::AnyHaloSum(const Mesh& mesh) {
  AdjointCase c = AnyHalo(mesh);
  std::swap(c.from, c.to);
  for (AxisLayout& axis : c.from) {
    if (axis.windows) axis.windows->summed = true;
  }
  return c;
}

}  // namespace partita

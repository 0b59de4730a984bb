#include "tests/graph/derive/adjoint_fixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "graph/derive/adjoint.h"
#include "graph/ir/group_key.h"
#include "graph/make_program.h"
#include "graph/passes/choose_exchanges.h"
#include "graph/text/text.h"
#include "ops/registry.h"
#include "runtime/api/session.h"

namespace partita {
namespace {

struct Cotangent {
  std::string y, back;  // names of y and of F* y
  std::set<std::string> primitives;
};

// One case in the graph: a value at `from`, moved to `to`, and cotangents of the result in every legal form, each moved
// back.
struct Moved {
  const AdjointCase* c = nullptr;
  std::string x, result;
  std::vector<Cotangent> cotangents;
};

// The forms of a cotangent on an axis: S and At as they are, of R either R or P, of P only R; of copies in ghosts
// summands.
std::vector<Layout> CotangentForms(const AdjointCase& c) {
  std::vector<Layout> forms(1);
  forms[0].mesh = c.to.mesh;
  for (const AxisLayout& axis : c.to) {
    std::vector<Layout> longer;
    for (const Layout& form : forms) {
      std::vector<AxisLayout> options = DualLayout({axis});
      if (axis.replicated() && IsFloating(c.type.dtype)) options.push_back(AxisLayout::Partial());
      for (const AxisLayout& option : options) {
        longer.push_back(form);
        longer.back().push_back(option);
      }
    }
    forms = std::move(longer);
  }
  return forms;
}

std::set<std::string> OpsFrom(const Graph& graph, size_t first) {
  std::set<std::string> ops;
  for (size_t id = first; id < graph.nodes().size(); ++id) ops.insert(graph.node(static_cast<NodeId>(id)).op->name);
  return ops;
}

absl::StatusOr<Moved> Append(LayoutBuilder& builder, const AdjointCase& c, const std::string& name) {
  const Graph& graph = builder.graph();
  Moved moved{&c, name + "x", "", {}};
  const Attributes type{{"dtype", std::string(Name(c.type.dtype))}, {"shape", c.type.shape}};
  absl::StatusOr<ValueId> x =
      builder.AddSource(builder.registry().Get(Role::kInput), type, moved.x, c.from, Phase::kForward);
  if (!x.ok()) return x.status();
  const size_t first = graph.nodes().size();
  const ValueId result = builder.MoveTo(*x, c.to, Phase::kForward);
  moved.result = graph.value(result).name;
  const size_t end = graph.nodes().size();
  for (const Layout& form : CotangentForms(c)) {
    const std::string y_name = name + "y" + std::to_string(moved.cotangents.size());
    absl::StatusOr<ValueId> y =
        builder.AddSource(builder.registry().Get(Role::kInput), type, y_name, form, Phase::kBackward);
    if (!y.ok()) return y.status();
    const size_t backward = graph.nodes().size();
    ValueId back = *y;
    for (size_t m = end; m-- > first;) {
      back = AppendMoveAdjoint(builder, Node(graph.node(static_cast<NodeId>(m))), back);
    }
    std::set<std::string> primitives = OpsFrom(graph, backward);
    for (size_t m = first; m < end; ++m) primitives.insert(graph.node(static_cast<NodeId>(m)).op->name);
    moved.cotangents.push_back({y_name, graph.value(back).name, std::move(primitives)});
  }
  return moved;
}

double Inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// What ranks with the same coordinates on axes of sums hold together: a whole tensor, of which some elements are held.
struct Summand {
  std::vector<double> numbers;
  std::vector<bool> held;
};

template <typename Visit>
void ForEachElement(const Shape& global_shape, const Box& box, const Visit& visit) {
  for (int64_t i = 0; i < box.elements(); ++i) {
    int64_t rest = i, global = 0, stride = 1;
    bool inside = true;
    for (size_t d = global_shape.size(); d-- > 0;) {
      const int64_t at = rest % box.size[d] + box.offset[d];
      inside = inside && at >= 0 && at < global_shape[d];
      global += at * stride;
      rest /= box.size[d];
      stride *= global_shape[d];
    }
    visit(i, inside ? global : -1);
  }
}

void Store(DType dtype, void* data, int64_t i, double number) {
  if (dtype == DType::kF64) static_cast<double*>(data)[i] = number;
  if (dtype == DType::kF32) static_cast<float*>(data)[i] = static_cast<float>(number);
  if (dtype == DType::kI32) static_cast<int32_t*>(data)[i] = static_cast<int32_t>(number);
}

double Load(DType dtype, const void* data, int64_t i) {
  if (dtype == DType::kF64) return static_cast<const double*>(data)[i];
  if (dtype == DType::kF32) return static_cast<const float*>(data)[i];
  return static_cast<const int32_t*>(data)[i];
}

// Of a value that is a sum, all positive: nothing cancels, so tolerances hold for the smallest tensors too.
Summand RandomSummand(const AdjointCase& c, bool positive, std::mt19937& random) {
  const double unit = 1.0 / 4294967296.0;
  Summand summand;
  for (int64_t i = 0; i < Elements(c.type.shape); ++i) {
    const double drawn = 2 * unit * static_cast<double>(random()) - 1;
    const double number = positive ? std::abs(drawn) : drawn;
    // What f32 can hold, so that all ranks hold what is compared.
    summand.numbers.push_back(c.integers ? std::round(number * 8) : static_cast<double>(static_cast<float>(number)));
  }
  summand.held.resize(summand.numbers.size());
  return summand;
}

// Fills what every rank holds of an input with random numbers; ranks that share an R get the same. Margins hold what
// must never be seen. Returns the value.
std::vector<double> Fill(Session& session, const std::string& name, const AdjointCase& c, std::mt19937& random) {
  const Graph& graph = session.graph(kTrainEntry);
  const Layout& layout = graph.layout(graph.Find(name));
  const Mesh& mesh = graph.mesh(layout);
  const bool sum =
      std::any_of(layout.begin(), layout.end(), [](const AxisLayout& a) { return a.partial() || a.summed(); });
  std::map<std::string, Summand> summands;
  for (int rank : mesh.Ranks()) {
    const std::vector<int> at = mesh.Coordinates(rank);
    std::string place;
    for (size_t a = 0; a < at.size(); ++a) {
      if (layout[a].partial() || layout[a].summed()) place += std::to_string(at[a]) + ",";
    }
    auto [entry, made] = summands.try_emplace(place);
    Summand& summand = entry->second;
    if (made) summand = RandomSummand(c, sum, random);
    const absl::StatusOr<std::vector<HeldTensor>> parts = session.InputPlacements(kTrainEntry, name, rank);
    EXPECT_TRUE(parts.ok()) << parts.status();
    if (!parts.ok() || parts->at(0).data == nullptr) continue;
    const HeldTensor& part = parts->at(0);
    ForEachElement(c.type.shape, part.tensor.box, [&](int64_t local, int64_t global) {
      Store(c.type.dtype, part.data, local, global < 0 ? 1e6 : summand.numbers[global]);
      if (global >= 0) summand.held[global] = true;
    });
  }
  std::vector<double> whole(Elements(c.type.shape), 0.0);
  for (const auto& [place, summand] : summands) {
    for (size_t i = 0; i < whole.size(); ++i) whole[i] += summand.held[i] ? summand.numbers[i] : 0.0;
  }
  return whole;
}

double Tolerance(const AdjointCase& c) { return c.integers ? 0.0 : c.type.dtype == DType::kF64 ? 1e-13 : 1e-6; }

void ExpectZeroMargins(const Session& session, const Moved& moved) {
  for (int rank = 0; rank < session.ranks(); ++rank) {
    const HeldTensor part = session.ObservedPart(session.graph(kTrainEntry).Find(moved.result), rank);
    if (part.data == nullptr) continue;
    ForEachElement(moved.c->type.shape, part.tensor.box, [&](int64_t local, int64_t global) {
      const double number = Load(moved.c->type.dtype, part.data, local);
      EXPECT_TRUE(global >= 0 || number == 0) << number << " in the margin of rank " << rank;
    });
  }
}

// Of x what ranks hold after the move: all, unless windows leave elements out.
std::vector<double> Arriving(const Mesh& mesh, const AdjointCase& c, const std::vector<double>& x) {
  std::vector<double> arriving(x.size(), 0.0);
  for (int rank : mesh.Ranks()) {
    const std::optional<Box> box = LocalBox(c.to, c.type.shape, mesh, rank);
    if (!box) continue;
    ForEachElement(c.type.shape, *box, [&](int64_t, int64_t global) {
      if (global >= 0) arriving[global] = x[global];
    });
  }
  return arriving;
}

std::string Describe(const AdjointCase& c, const std::vector<Mesh>& meshes) {
  return ToString(meshes) + ": " + Name(c.type.dtype) + ToString(c.type.shape) + " " +
         ToString(c.from, meshes[c.from.mesh]) + " -> " + ToString(c.to, meshes[c.to.mesh]);
}

void ExpectMoved(const Session& session, const Moved& moved, const std::vector<double>& x,
                 const std::vector<std::vector<double>>& ys) {
  const AdjointCase& c = *moved.c;
  const std::vector<Mesh>& meshes = session.program().meshes;
  SCOPED_TRACE(Describe(c, meshes));
  const absl::StatusOr<WholeValue> fx = session.Observed(moved.result);
  ASSERT_TRUE(fx.ok()) << fx.status();
  EXPECT_TRUE(fx->replicas_equal);
  ExpectZeroMargins(session, moved);
  const std::vector<double> arriving = Arriving(meshes[c.to.mesh], c, x);
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(fx->elements[i], arriving[i], Tolerance(c) * 10) << "element " << i << " of the result";
  }
  for (size_t i = 0; i < ys.size(); ++i) {
    const absl::StatusOr<WholeValue> back = session.Observed(moved.cotangents[i].back);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(back->replicas_equal) << "cotangent " << moved.cotangents[i].y;
    const double left = Inner(fx->elements, ys[i]), right = Inner(x, back->elements);
    const double scale = std::max(std::sqrt(Inner(fx->elements, fx->elements) * Inner(ys[i], ys[i])),
                                  std::sqrt(Inner(x, x) * Inner(back->elements, back->elements)));
    EXPECT_LE(std::abs(left - right), Tolerance(c) * scale) << "cotangent " << moved.cotangents[i].y;
    EXPECT_TRUE(c.integers || scale > 0) << "nothing was compared";
  }
}

// What moved is what was predicted.
bool BytesAreThose(const Session& session) {
  const std::vector<MoveBytes> predicted = session.PredictedBytes(kTrainEntry);
  const std::vector<GroupTraffic> counted = session.Traffic();
  bool equal = true;
  for (size_t g = 0; g < predicted.size(); ++g) equal = equal && counted[g].bytes == predicted[g];
  return equal;
}

absl::StatusOr<std::unique_ptr<Session>> Start(const std::vector<Mesh>& meshes, Graph graph) {
  Program program;
  program.meshes = meshes;
  program.entries.push_back(MakeEntryPoint(kTrainEntry, std::move(graph)));
  CollectGroups(program.graph(kTrainEntry), program);
  SessionOptions options;
  options.threads_per_rank = 1;
  options.tests.observe = true;
  return Session::Start(std::move(program), options);
}

}  // namespace

Layout ParseLayout(const std::string& text, const Shape& shape, const Mesh& mesh) {
  const absl::StatusOr<Graph> graph = ParseText(
      "mesh " + Mesh{mesh.axes}.ToString() + "\n%x = input() f64" + ToString(shape) + " {" + text + "}\n", Ops());
  EXPECT_TRUE(graph.ok()) << graph.status();
  Layout layout = graph->layout(0);
  layout.mesh = mesh.id;
  return layout;
}

void ExpectAdjoints(const std::vector<Mesh>& meshes, const std::vector<AdjointCase>& cases, uint32_t seed,
                    AdjointTally& tally, ExchangeMode mode) {
  Graph graph(meshes);
  LayoutBuilder builder(graph, Ops());
  std::vector<Moved> moved;
  for (const AdjointCase& c : cases) {
    absl::StatusOr<Moved> one = Append(builder, c, "c" + std::to_string(moved.size()));
    ASSERT_TRUE(one.ok()) << one.status();
    moved.push_back(*std::move(one));
  }
  graph = ChooseExchanges(std::move(graph), {0, 1}, mode);
  for (const Node& node : graph.nodes()) {
    tally.in_rounds += IsExchange(*node.op) && node.attributes.String("mode") != "direct" ? 1 : 0;
  }
  const absl::StatusOr<std::unique_ptr<Session>> session = Start(meshes, std::move(graph));
  ASSERT_TRUE(session.ok()) << session.status();
  std::mt19937 random(seed);
  std::vector<std::vector<double>> xs;
  std::vector<std::vector<std::vector<double>>> ys;
  for (const Moved& one : moved) {
    xs.push_back(Fill(**session, one.x, *one.c, random));
    ys.emplace_back();
    for (const Cotangent& cotangent : one.cotangents) {
      ys.back().push_back(Fill(**session, cotangent.y, *one.c, random));
    }
  }
  const absl::StatusOr<StepResult> step = (*session)->Train();
  ASSERT_TRUE(step.ok()) << step.status();
  for (size_t i = 0; i < moved.size(); ++i) {
    ExpectMoved(**session, moved[i], xs[i], ys[i]);
    for (const Cotangent& cotangent : moved[i].cotangents) {
      ++tally.cases;
      for (const std::string& primitive : cotangent.primitives) ++tally.by_primitive[primitive];
    }
  }
  if (BytesAreThose(**session)) return;
  if (cases.size() == 1) {
    FAIL() << "other bytes than predicted: " << Describe(cases[0], meshes);
  }
  AdjointTally again;  // one by one, to name the case
  for (const AdjointCase& c : cases) ExpectAdjoints(meshes, {c}, seed, again, mode);
  FAIL() << "other bytes than predicted";
}

}  // namespace partita

#include "tests/graph/adjoint_fixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "graph/adjoint.h"
#include "graph/make_program.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/api/session.h"

namespace partita {
namespace {

// A graph of one value at `from`, moved to `to`, and of cotangents of the result in every legal form, each moved back.
struct Moved {
  Program program;
  std::string result;                                      // name of F x
  std::vector<std::pair<std::string, std::string>> pairs;  // names of y and of F* y
};

// The forms of a cotangent on an axis: S and At as they are, of R either R or P, of P only R; of copies in ghosts
// summands.
std::vector<Layout> CotangentForms(const Layout& layout) {
  std::vector<Layout> forms = {{}};
  for (const AxisLayout& axis : layout) {
    std::vector<Layout> longer;
    for (const Layout& form : forms) {
      std::vector<AxisLayout> options = DualLayout({axis});
      if (axis.replicated()) options.push_back(AxisLayout::Partial());
      for (const AxisLayout& option : options) {
        longer.push_back(form);
        longer.back().push_back(option);
      }
    }
    forms = std::move(longer);
  }
  return forms;
}

absl::StatusOr<Moved> Build(const AdjointCase& c) {
  Moved moved;
  Graph graph(c.mesh);
  LayoutBuilder builder(graph, Ops());
  const Attributes type{{"dtype", std::string("f64")}, {"shape", c.shape}};
  absl::StatusOr<ValueId> x = builder.AddSource("input", type, "x", c.from, Phase::kForward);
  if (!x.ok()) return x.status();
  const ValueId result = builder.MoveTo(*x, c.to, Phase::kForward);
  moved.result = graph.value(result).name;
  std::vector<NodeId> moves;
  for (NodeId id = 1; id < static_cast<NodeId>(graph.nodes().size()); ++id) moves.push_back(id);
  for (const Layout& form : CotangentForms(c.to)) {
    const std::string name = "y" + std::to_string(moved.pairs.size());
    absl::StatusOr<ValueId> y = builder.AddSource("input", type, name, form, Phase::kBackward);
    if (!y.ok()) return y.status();
    ValueId back = *y;
    for (size_t m = moves.size(); m-- > 0;) back = AppendMoveAdjoint(builder, Node(graph.node(moves[m])), back);
    moved.pairs.emplace_back(name, graph.value(back).name);
  }
  moved.program.mesh = c.mesh;
  moved.program.train = graph;
  moved.program.evaluate = Graph(c.mesh);
  CollectGroups(moved.program.train, moved.program);
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
void ForEachElement(const LocalTensor& tensor, const Visit& visit) {
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    int64_t rest = i, global = 0, stride = 1;
    bool inside = true;
    for (size_t d = tensor.global.size(); d-- > 0;) {
      const int64_t at = rest % tensor.box.size[d] + tensor.box.offset[d];
      inside = inside && at >= 0 && at < tensor.global[d];
      global += at * stride;
      rest /= tensor.box.size[d];
      stride *= tensor.global[d];
    }
    visit(i, inside ? global : -1);
  }
}

// Fills what every rank holds of an input with random numbers; ranks that share an R get the same. Integers if asked.
// Margins hold what must never be seen.
std::vector<double> Fill(Session& session, const std::string& name, const Layout& layout, const TensorType& type,
                         std::mt19937& random, bool integers) {
  const Mesh& mesh = session.program().mesh;
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::map<std::string, Summand> summands;
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<int> at = mesh.Coordinates(rank);
    std::string place;
    for (size_t a = 0; a < at.size(); ++a) {
      if (layout[a].partial() || layout[a].summed()) place += std::to_string(at[a]) + ",";
    }
    auto [entry, made] = summands.try_emplace(place);
    Summand& summand = entry->second;
    if (made) {
      summand.held.resize(Elements(type.shape));
      for (int64_t i = 0; i < Elements(type.shape); ++i) {
        summand.numbers.push_back(integers ? std::round(uniform(random) * 8) : uniform(random));
      }
    }
    const absl::StatusOr<std::vector<HeldPart>> parts = session.InputPlacements(Entry::kTrain, name, rank);
    EXPECT_TRUE(parts.ok()) << parts.status();
    if (!parts.ok() || parts->at(0).data == nullptr) continue;
    const HeldPart& part = parts->at(0);
    ForEachElement(part.tensor, [&](int64_t local, int64_t global) {
      static_cast<double*>(part.data)[local] = global < 0 ? 1e6 : summand.numbers[global];
      if (global >= 0) summand.held[global] = true;
    });
  }
  std::vector<double> whole(Elements(type.shape), 0.0);
  for (const auto& [place, summand] : summands) {
    for (size_t i = 0; i < whole.size(); ++i) whole[i] += summand.held[i] ? summand.numbers[i] : 0.0;
  }
  return whole;
}

void ExpectZeroMargins(const Session& session, const std::string& name) {
  for (int rank = 0; rank < session.ranks(); ++rank) {
    const HeldPart part = session.ObservedPart(session.graph(Entry::kTrain).Find(name), rank);
    if (part.data == nullptr) continue;
    ForEachElement(part.tensor, [&](int64_t local, int64_t global) {
      const double number = static_cast<const double*>(part.data)[local];
      EXPECT_TRUE(global >= 0 || number == 0) << number << " in the margin of rank " << rank;
    });
  }
}

}  // namespace

Layout ParseLayout(const std::string& text, const Shape& shape, const Mesh& mesh) {
  const absl::StatusOr<Graph> graph =
      ParseText("mesh " + mesh.ToString() + "\n%x = input() f64" + ToString(shape) + " {" + text + "}\n", Ops());
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph->layout(0);
}

void ExpectAdjoint(const AdjointCase& c, uint32_t seed, bool integers, int& tested) {
  SCOPED_TRACE(c.mesh.ToString() + " " + ToString(c.shape) + " " + ToString(c.from, c.mesh) + " -> " +
               ToString(c.to, c.mesh));
  const absl::StatusOr<Moved> moved = Build(c);
  ASSERT_TRUE(moved.ok()) << moved.status();
  SessionOptions options;
  options.threads_per_rank = 1;
  options.observe = true;
  options.find_non_finite = false;
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Start(moved->program, options);
  ASSERT_TRUE(session.ok()) << session.status();
  const Graph& graph = (*session)->graph(Entry::kTrain);
  std::mt19937 random(seed);
  const TensorType type{DType::kF64, c.shape};
  const std::vector<double> x = Fill(**session, "x", graph.layout(graph.Find("x")), type, random, integers);
  std::vector<std::vector<double>> ys;
  for (const auto& [y, back] : moved->pairs) {
    ys.push_back(Fill(**session, y, graph.layout(graph.Find(y)), type, random, integers));
  }
  const absl::StatusOr<StepResult> step = (*session)->Train();
  ASSERT_TRUE(step.ok()) << step.status();
  const absl::StatusOr<WholeValue> fx = (*session)->Observed(moved->result);
  ASSERT_TRUE(fx.ok()) << fx.status();
  EXPECT_TRUE(fx->replicas_equal);
  ExpectZeroMargins(**session, moved->result);
  for (size_t i = 0; i < ys.size(); ++i) {
    const absl::StatusOr<WholeValue> back = (*session)->Observed(moved->pairs[i].second);
    ASSERT_TRUE(back.ok()) << back.status();
    const double left = Inner(fx->elements, ys[i]), right = Inner(x, back->elements);
    const double scale = std::max(std::sqrt(Inner(fx->elements, fx->elements) * Inner(ys[i], ys[i])),
                                  std::sqrt(Inner(x, x) * Inner(back->elements, back->elements)));
    EXPECT_LE(std::abs(left - right), integers ? 0.0 : 1e-13 * scale) << "cotangent " << moved->pairs[i].first;
    EXPECT_EQ(Elements(c.shape) == 0 || scale > 0, true) << "nothing was compared";
    ++tested;
  }
  // What moved is what was predicted.
  const std::vector<MoveBytes> predicted = (*session)->PredictedBytes(Entry::kTrain);
  const std::vector<GroupTraffic> counted = (*session)->Traffic();
  for (size_t g = 0; g < predicted.size(); ++g) {
    EXPECT_EQ(counted[g].bytes.payload, predicted[g].payload) << ToString(moved->program.groups[g], c.mesh);
    EXPECT_EQ(counted[g].bytes.wire, predicted[g].wire) << ToString(moved->program.groups[g], c.mesh);
  }
}

}  // namespace partita

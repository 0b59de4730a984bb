// <F x, y> == <x, F* y>: the backward of a move is its adjoint (Hewett and Grady, section 2), for every move and every
// form in which its cotangent can come, on ranks that really move bytes. Inner products pair duals: S with S, At with
// At, P with R.
#include "graph/adjoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "graph/make_program.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/api/session.h"

namespace partita {
namespace {

struct Case {
  Mesh mesh;
  Shape shape;
  std::string from, to;  // layouts as in the text form, without braces
};

Layout ParseLayout(const std::string& text, const Shape& shape, const Mesh& mesh) {
  const absl::StatusOr<Graph> graph =
      ParseText("mesh " + mesh.ToString() + "\n%x = input() f64" + ToString(shape) + " {" + text + "}\n", Ops());
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph->layout(0);
}

// A graph of one value at `from`, moved to `to`, and of cotangents of the result in every legal form, each moved back.
struct Moved {
  Program program;
  std::string result;                                      // name of F x
  std::vector<std::pair<std::string, std::string>> pairs;  // names of y and of F* y
};

// The forms of a cotangent on an axis: S and At as they are, of R either R or P, of P only R.
std::vector<Layout> CotangentForms(const Layout& layout) {
  std::vector<Layout> forms = {{}};
  for (const AxisLayout& axis : layout) {
    std::vector<Layout> longer;
    for (const Layout& form : forms) {
      std::vector<AxisLayout> options = {axis.partial() ? AxisLayout::Replicate() : axis};
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

absl::StatusOr<Moved> Build(const Case& c) {
  Moved moved;
  Graph graph(c.mesh);
  LayoutBuilder builder(graph, Ops());
  const Attributes type{{"dtype", std::string("f64")}, {"shape", c.shape}};
  const Layout from = ParseLayout(c.from, c.shape, c.mesh), to = ParseLayout(c.to, c.shape, c.mesh);
  absl::StatusOr<ValueId> x = builder.AddSource("input", type, "x", from, Phase::kForward);
  if (!x.ok()) return x.status();
  const ValueId result = builder.MoveTo(*x, to, Phase::kForward);
  moved.result = graph.value(result).name;
  std::vector<NodeId> moves;
  for (NodeId id = 1; id < static_cast<NodeId>(graph.nodes().size()); ++id) moves.push_back(id);
  for (const Layout& form : CotangentForms(to)) {
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

// Fills what every rank holds of an input with random numbers; ranks that share an R get the same. Integers if asked.
std::vector<double> Fill(Session& session, const std::string& name, const Layout& layout, const TensorType& type,
                         std::mt19937& random, bool integers) {
  std::vector<double> whole(Elements(type.shape), 0.0);
  const Mesh& mesh = session.program().mesh;
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::map<std::string, HostTensor> by_place;  // what ranks with the same coordinates on P axes write
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<int> at = mesh.Coordinates(rank);
    std::string place;
    for (size_t a = 0; a < at.size(); ++a) {
      if (layout[a].partial()) place += std::to_string(at[a]) + ",";
    }
    auto [entry, made] = by_place.try_emplace(place);
    if (made) {
      entry->second = {type.dtype, type.shape, std::vector<char>(whole.size() * sizeof(double))};
      double* numbers = reinterpret_cast<double*>(entry->second.bytes.data());
      for (size_t i = 0; i < whole.size(); ++i) {
        numbers[i] = integers ? std::round(uniform(random) * 8) : uniform(random);
        whole[i] += numbers[i];
      }
    }
    const absl::StatusOr<std::vector<HeldPart>> parts = session.InputPlacements(Entry::kTrain, name, rank);
    EXPECT_TRUE(parts.ok()) << parts.status();
    if (parts.ok() && parts->at(0).data != nullptr) CopyToPart(entry->second.bytes.data(), parts->at(0));
  }
  return whole;
}

void ExpectAdjoint(const Case& c, uint32_t seed, bool integers, int& tested) {
  SCOPED_TRACE(c.mesh.ToString() + " " + ToString(c.shape) + " {" + c.from + "} -> {" + c.to + "}");
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

// All pairs of layouts of one axis, uneven and with empty blocks.
TEST(EveryMove, BackwardIsAdjointOverOneAxis) {
  int tested = 0;
  for (int ranks = 2; ranks <= 5; ++ranks) {
    const Mesh mesh{{{"a", ranks}}};
    for (const Shape& shape : {Shape{7, 3}, Shape{3, 6}}) {
      std::vector<int64_t> cuts(ranks + 1, shape[0]);
      cuts[0] = 0;
      cuts[1] = 1;  // all but two ranks are empty
      const std::string uneven = "a:" + AxisLayout::Split(0, cuts).ToString();
      const std::string last = "a:At" + std::to_string(ranks - 1);
      const std::vector<std::string> forms = {"a:R", "a:P", "a:S0", "a:S1", uneven, "a:At0", last};
      for (const std::string& from : forms) {
        for (const std::string& to : forms) {
          if (from == to || to == "a:P") continue;
          ExpectAdjoint({mesh, shape, from, to}, 17 * ranks + tested, tested % 2 == 0, tested);
        }
      }
    }
  }
  EXPECT_GT(tested, 300);
}

TEST(EveryMove, BackwardIsAdjointOverTwoAxes) {
  int tested = 0;
  const std::vector<std::string> forms = {"R", "P", "S0", "S1", "At1"};
  for (const Mesh& mesh : {Mesh{{{"a", 2}, {"b", 2}}}, Mesh{{{"a", 2}, {"b", 3}}}}) {
    uint32_t drawn = 1;
    for (const std::string& f0 : forms) {
      for (const std::string& f1 : forms) {
        for (const std::string& t0 : forms) {
          for (const std::string& t1 : forms) {
            const std::string from = "a:" + f0 + " b:" + f1, to = "a:" + t0 + " b:" + t1;
            drawn = drawn * 1664525u + 1013904223u;
            if (from == to || t0 == "P" || t1 == "P" || (drawn >> 24) % 4 != 0) continue;
            ExpectAdjoint({mesh, {5, 4}, from, to}, drawn, false, tested);
          }
        }
      }
    }
  }
  EXPECT_GT(tested, 150);
}

}  // namespace
}  // namespace partita

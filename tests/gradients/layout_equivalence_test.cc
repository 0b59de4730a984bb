// A split op is the whole op: for every case of the table and every rule of its op, over 2 and 3 ranks, evenly or with
// empty blocks, and with two rules at once over 2 x 2 ranks, outputs and gradients are those of one rank, ranks that
// hold the same hold the same bits, and the bytes that moved are those predicted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <set>

#include "ops/registry.h"
#include "tests/gradients/op_program.h"

namespace partita {
namespace {

constexpr double kTolerance = 1e-10;

// What happens over one axis: a rule by name, or one that carries a P and follows how the inputs lie.
struct Choice {
  std::optional<AxisConfig> config;
  const Rule* rule = nullptr;  // nullptr: "at"

  std::string Name() const {
    if (!config) return "partial";
    std::string name = config->split;
    for (int64_t cut : config->cuts) name += "," + std::to_string(cut);
    return name;
  }
};

int64_t Units(const Rule& rule, const NodeView& view) {
  for (size_t i = 0; i < rule.inputs.size(); ++i) {
    const Pattern& pattern = rule.inputs[i];
    if (pattern.kind == AxisLayout::Kind::kSplit && view.inputs[i] != nullptr) {
      if (pattern.windows) return pattern.windows->count;
      return view.inputs[i]->shape[pattern.dimension] / pattern.unit;
    }
  }
  for (size_t o = 0; o < rule.outputs.size(); ++o) {
    const Pattern& pattern = rule.outputs[o];
    if (pattern.kind == AxisLayout::Kind::kSplit) return view.outputs[o].shape[pattern.dimension] / pattern.unit;
  }
  return 0;
}

// Balanced; one unit on the first rank and the rest on the last; everything on the last.
std::vector<std::vector<int64_t>> CutsOf(const Rule& rule, const NodeView& view, int ranks) {
  const int64_t units = Units(rule, view);
  std::vector<int64_t> one(ranks + 1, 1), all(ranks + 1, 0);
  one.front() = 0;
  one.back() = all.back() = units;
  if (units < 1) return {{}};
  return {{}, one, all};
}

class LayoutEquivalence : public testing::TestWithParam<OpCase> {
 protected:
  void SetUp() override {
    const absl::StatusOr<std::unique_ptr<OpProgram>> whole = OpProgram::Start(op_case_, {});
    ASSERT_TRUE(whole.ok()) << whole.status();
    absl::StatusOr<OpResult> expected = (*whole)->Run(inputs_, cotangents_);
    ASSERT_TRUE(expected.ok()) << expected.status();
    expected_ = *std::move(expected);
  }

  // The choices over an axis of so many ranks.
  std::vector<Choice> Choices(int ranks, bool cuts) const {
    std::vector<Choice> choices;
    for (const Rule& rule : rules_) {
      if (rule.name == "partial") {
        choices.push_back({std::nullopt, &rule});
        continue;
      }
      for (const std::vector<int64_t>& points : CutsOf(rule, view_, ranks)) {
        choices.push_back({AxisConfig{rule.name, 0, points}, &rule});
        if (!cuts) break;
      }
    }
    choices.push_back({AxisConfig{"at", ranks - 1, {}}, nullptr});
    return choices;
  }

  OpPlacement Placement(const Mesh& mesh, const std::vector<Choice>& choices) const {
    OpPlacement placement{mesh, {}, std::vector<Layout>(op_case_.inputs.size(), Replicated(mesh))};
    for (size_t a = 0; a < choices.size(); ++a) {
      placement.configs.push_back(choices[a].config);
      if (choices[a].config) continue;
      for (size_t i = 0; i < placement.inputs.size(); ++i) {
        if (choices[a].rule->inputs[i].kind == AxisLayout::Kind::kPartial) {
          placement.inputs[i][a] = AxisLayout::Partial(choices[a].rule->inputs[i].reduction);
        }
      }
    }
    return placement;
  }

  // The op really lies as the rule says, so that the rule is what is tested.
  void ExpectRule(const OpProgram& program, const std::vector<Choice>& choices) const {
    for (size_t a = 0; a < choices.size(); ++a) {
      if (choices[a].rule == nullptr) continue;
      const std::vector<Pattern>& outputs = choices[a].rule->outputs;
      for (size_t o = 0; o < outputs.size(); ++o) {
        const AxisLayout& layout = program.graph().layout(program.node().outputs[o])[a];
        EXPECT_EQ(layout.kind, outputs[o].kind) << "output " << o << " axis " << a;
        EXPECT_EQ(layout.dimension, layout.split() ? outputs[o].dimension : 0) << "output " << o << " axis " << a;
      }
    }
  }

  static void ExpectNear(const std::vector<double>& found, const std::vector<double>& expected,
                         const std::string& what) {
    ASSERT_EQ(found.size(), expected.size()) << what;
    double largest = 1e-3, difference = 0;
    for (size_t i = 0; i < found.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      difference = std::max(difference, std::abs(found[i] - expected[i]));
      ASSERT_TRUE(std::isfinite(found[i])) << what;
    }
    EXPECT_LE(difference, kTolerance * largest) << what;
  }

  // False if the op refuses to lie so.
  bool ExpectEqual(const Mesh& mesh, const std::vector<Choice>& choices) const {
    std::string name = mesh.ToString();
    for (const Choice& choice : choices) name += " " + choice.Name();
    SCOPED_TRACE(name);
    const absl::StatusOr<std::unique_ptr<OpProgram>> program = OpProgram::Start(op_case_, Placement(mesh, choices));
    if (program.status().code() == absl::StatusCode::kInvalidArgument) return false;
    EXPECT_TRUE(program.ok()) << program.status();
    if (!program.ok()) return true;
    ExpectRule(**program, choices);
    const absl::StatusOr<OpResult> result = (*program)->Run(inputs_, cotangents_);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return true;
    EXPECT_TRUE(result->replicas_equal);
    for (size_t o = 0; o < expected_.outputs.size(); ++o) {
      ExpectNear(result->outputs[o], expected_.outputs[o], "output " + std::to_string(o));
    }
    for (size_t i = 0; i < expected_.gradients.size(); ++i) {
      ExpectNear(result->gradients[i], expected_.gradients[i], "gradient " + std::to_string(i));
    }
    for (const MoveBytes& more : result->moved_more) {
      EXPECT_EQ(more.payload, 0);
      EXPECT_EQ(more.wire, 0);
    }
    return true;
  }

  const OpCase op_case_ = GetParam();
  const NodeView view_ = ViewOf(op_case_);
  const std::vector<Rule> rules_ =
      Ops().Find(op_case_.op)->rules ? Ops().Find(op_case_.op)->rules(view_) : std::vector<Rule>();
  const Tensors inputs_ = InputsOf(op_case_, 7);
  const Tensors cotangents_ = CotangentsOf(op_case_, 7);
  OpResult expected_;
};

// A strategy can say which rule it means.
TEST_P(LayoutEquivalence, RulesHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Rule& rule : rules_) {
    EXPECT_TRUE(rule.name == "partial" || names.insert(rule.name).second) << rule.name;
  }
}

TEST_P(LayoutEquivalence, OverOneAxis) {
  for (int ranks = 2; ranks <= 3; ++ranks) {
    const Mesh mesh{{{"a", ranks}}};
    for (const Choice& choice : Choices(ranks, true)) EXPECT_TRUE(ExpectEqual(mesh, {choice}));
  }
}

// A rule nested in itself may be refused where its units do not divide the outer blocks evenly.
TEST_P(LayoutEquivalence, OverTwoAxes) {
  const Mesh mesh{{{"a", 2}, {"b", 2}}};
  const std::vector<Choice> choices = Choices(2, false);
  for (const Choice& first : choices) {
    for (const Choice& second : choices) {
      const bool equal = ExpectEqual(mesh, {first, second});
      EXPECT_TRUE(equal || first.rule == second.rule) << first.Name() << " with " << second.Name();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, LayoutEquivalence, testing::ValuesIn(KernelCases()),
                         [](const testing::TestParamInfo<OpCase>& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace partita

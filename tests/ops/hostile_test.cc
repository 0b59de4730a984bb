// No attributes of the right types and no input types crash an op: it answers with shapes or a sentence, and what it
// accepted gets rules and a cost. Values are drawn by seed from the borders of what is allowed.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "ops/values/initializer.h"
#include "ops/values/learning_rate.h"
#include "tests/ops/infer.h"

namespace partita {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

class Draw {
 public:
  explicit Draw(uint64_t seed) : generator_(seed) {}

  size_t Below(size_t n) { return generator_() % n; }

  int64_t Integer() {
    constexpr int64_t kValues[] = {0,  1,  1,         1,         2,         3,    4,        8,
                                   -1, -2, 1LL << 31, 1LL << 32, 1LL << 62, kMax, kMax - 1, -kMax - 1};
    return Below(3) == 0 ? kValues[Below(16)] : static_cast<int64_t>(Below(5));
  }

  double Number() {
    const double kValues[] = {0, 1, 0.5, 0.9, -1, 1e-300, 1e300, std::numeric_limits<double>::infinity(), std::nan("")};
    return kValues[Below(9)];
  }

  IntList Integers() {
    IntList values(Below(2) == 0 ? 4 : Below(10));
    for (int64_t& value : values) value = Integer();
    return values;
  }

  std::string Text() {
    std::vector<std::string> words = {"", "f32", "f64", "i32", "u8", "conv", std::string("\0\x1b[1m", 5)};
    for (const std::string& name : InitializerNames()) words.push_back(name);
    for (const std::string& name : ScheduleNames()) words.push_back(name);
    return words[Below(words.size())];
  }

  Attribute Like(const Attribute& type) {
    switch (type.index()) {
      case 0:
        return Below(2) == 0;
      case 1:
        return Integer();
      case 2:
        return Number();
      case 3:
        return Text();
      default:
        return Integers();
    }
  }

  // Mostly plausible shapes, so that many draws pass the first checks.
  TensorType Type() {
    TensorType type{Below(4) == 0 ? static_cast<DType>(Below(4)) : DType::kF32, {}};
    const size_t rank = Below(4) == 0 ? Below(11) : 2 * Below(3);
    for (size_t d = 0; d < rank; ++d) type.shape.push_back(Below(8) == 0 ? Integer() : 1 + Below(4));
    return type;
  }

 private:
  std::mt19937_64 generator_;
};

// True if the op accepted the draw.
bool TryOnce(const OpDefinition& op, Draw& draw) {
  Attributes attributes;
  for (const AttributeDefinition& attribute : op.attributes) {
    const bool keep = !attribute.required && draw.Below(2) == 0;
    attributes.Set(attribute.name, keep ? attribute.type_and_default : draw.Like(attribute.type_and_default));
  }
  const TensorType common = draw.Type();
  std::vector<TensorType> types(op.inputs.size() + (op.variadic ? draw.Below(3) : 0));
  for (TensorType& type : types) type = draw.Below(2) == 0 ? common : draw.Type();
  NodeView view{attributes, {}, {}};
  for (const TensorType& type : types) view.inputs.push_back(draw.Below(16) == 0 ? nullptr : &type);
  const auto outputs = op.shape(view);
  if (!outputs.ok()) {
    EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument) << op.name;
    EXPECT_FALSE(outputs.status().message().empty()) << op.name;
    return false;
  }
  view.outputs = *outputs;
  EXPECT_EQ(static_cast<int>(outputs->size()), op.outputs) << op.name;
  for (const Rule& rule : op.rules(view)) EXPECT_EQ(rule.inputs.size(), view.inputs.size()) << op.name;
  EXPECT_GE(op.flops(view), 0) << op.name;
  return true;
}

TEST(Hostile, AttributesAndShapesAreAnsweredByEveryOp) {
  size_t accepted = 0;
  for (const std::string& name : Ops().Names()) {
    const OpDefinition& op = *Ops().Find(name);
    if (op.move) continue;
    Draw draw(std::hash<std::string>()(name));
    for (int i = 0; i < 5000; ++i) accepted += TryOnce(op, draw);
  }
  EXPECT_GT(accepted, 1000u);  // the draws are not all nonsense
}

}  // namespace
}  // namespace partita

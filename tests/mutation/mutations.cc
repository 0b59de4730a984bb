#include "tests/mutation/mutations.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "graph/ir/op_definition.h"
#include "ops/registry.h"
#include "tests/mutation/mutate_strategy.h"

namespace partita {
namespace {

using Ints = IntList;
using Mutation = std::string (*)(Subject&, Dice&);

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

int64_t DrawInt(int64_t now, Dice& dice) {
  const std::vector<int64_t> near = {0, 1, 2, 3, 5, now + 1, now - 1, 2 * now, -1};
  const std::vector<int64_t> far = {100, 5000, int64_t{1} << 31, int64_t{1} << 40, kHuge, -kHuge};
  return dice.OneIn(5) ? dice.Pick(far) : dice.Pick(near);
}

double DrawFloat(double now, Dice& dice) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> near = {0, 0.5, 0.9, 1, now / 2, 2 * now};
  const std::vector<double> far = {-1, 1e300, 1e-300, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
  return dice.OneIn(4) ? dice.Pick(far) : dice.Pick(near);
}

std::string DrawString(Dice& dice) {
  const std::vector<std::string> strings = {
      "f32", "f64", "i32", "u8", "f16", "", "constant", "he_normal", "glorot_uniform", "uniform", "cosine", "\x01\xff"};
  return dice.Pick(strings);
}

Ints DrawInts(Ints now, Dice& dice) {
  if (now.empty() || dice.OneIn(8)) {
    now.push_back(DrawInt(1, dice));
  } else if (dice.OneIn(8)) {
    now.pop_back();
  } else if (dice.OneIn(4)) {
    std::swap(dice.Pick(now), dice.Pick(now));
  } else {
    int64_t& one = dice.Pick(now);
    one = DrawInt(one, dice);
  }
  return now;
}

struct DrawValue {
  Dice& dice;
  Attribute operator()(bool now) const { return !now; }
  Attribute operator()(int64_t now) const { return DrawInt(now, dice); }
  Attribute operator()(double now) const { return DrawFloat(now, dice); }
  Attribute operator()(const std::string&) const { return DrawString(dice); }
  Attribute operator()(const Ints& now) const { return DrawInts(now, dice); }
};

// Of the ops that have attributes: another value, of the same type or of another, or none.
std::string ChangeAttribute(Subject& subject, Dice& dice) {
  NodeDescription& node = dice.Pick(subject.nodes);
  const OpDefinition* const op = Ops().Find(node.op);
  if (op == nullptr || op->attributes.empty()) return "nothing";
  const AttributeDefinition& attribute = dice.Pick(op->attributes);
  const Attribute* const given = node.attributes.Find(attribute.name);
  const Attribute now = given == nullptr ? attribute.type_and_default : *given;
  if (dice.OneIn(20)) {
    node.attributes.Remove(attribute.name);
    return fmt::format("{}: without {}", node.name, attribute.name);
  }
  const Attribute value = dice.OneIn(20) ? Attribute(DrawString(dice)) : std::visit(DrawValue{dice}, now);
  const std::string name = dice.OneIn(25) ? attribute.name + "s" : attribute.name;
  node.attributes.Set(name, value);
  return fmt::format("{}: {} = {}", node.name, name, ToString(value));
}

// The batch of all inputs, which leaves the graph valid.
std::string ChangeBatch(Subject& subject, Dice& dice) {
  const int64_t batch = DrawInt(4, dice);
  for (NodeDescription& node : subject.nodes) {
    if (node.op != "input" || !node.attributes.Has("shape") || node.attributes.Ints("shape").empty()) continue;
    Ints shape = node.attributes.Ints("shape");
    shape[0] = batch;
    node.attributes.Set("shape", shape);
  }
  return fmt::format("batch = {}", batch);
}

// One size in all parameters and states that have it: channels, units or classes, which often leaves the graph valid.
std::string ChangeWidth(Subject& subject, Dice& dice) {
  const NodeDescription& node = dice.Pick(subject.nodes);
  if (node.op != "parameter" || !node.attributes.Has("shape") || node.attributes.Ints("shape").empty())
    return "nothing";
  const int64_t from = node.attributes.Ints("shape").back();
  const int64_t to = dice.OneIn(6) ? 1000 : 1 + static_cast<int64_t>(dice.Below(12));
  for (NodeDescription& one : subject.nodes) {
    if ((one.op != "parameter" && one.op != "state") || !one.attributes.Has("shape")) continue;
    Ints shape = one.attributes.Ints("shape");
    std::replace(shape.begin(), shape.end(), from, to);
    one.attributes.Set("shape", shape);
  }
  return fmt::format("width {} is {}", from, to);
}

std::string SwapInputs(Subject& subject, Dice& dice) {
  NodeDescription& node = dice.Pick(subject.nodes);
  if (node.inputs.size() < 2) return "nothing";
  std::swap(node.inputs.front(), dice.Pick(node.inputs));
  return fmt::format("{}: inputs {}", node.name, fmt::join(node.inputs, ", "));
}

std::string RedirectInput(Subject& subject, Dice& dice) {
  NodeDescription& node = dice.Pick(subject.nodes);
  if (node.inputs.empty()) return "nothing";
  dice.Pick(node.inputs) = dice.OneIn(8) ? "nobody" : dice.Pick(subject.nodes).name;
  return fmt::format("{}: inputs {}", node.name, fmt::join(node.inputs, ", "));
}

std::string CountInputs(Subject& subject, Dice& dice) {
  NodeDescription& node = dice.Pick(subject.nodes);
  if (node.inputs.empty() || dice.OneIn(2)) {
    node.inputs.push_back(dice.OneIn(3) ? "" : dice.Pick(subject.nodes).name);
  } else {
    node.inputs.pop_back();
  }
  return fmt::format("{}: inputs {}", node.name, fmt::join(node.inputs, ", "));
}

void RenameReferences(Subject& subject, const std::string& from, const std::string& to) {
  for (NodeDescription& node : subject.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(subject.metrics.begin(), subject.metrics.end(), from, to);
  if (subject.loss == from) subject.loss = to;
}

std::string Rename(Subject& subject, Dice& dice) {
  NodeDescription& node = dice.Pick(subject.nodes);
  const std::vector<std::string> names = {"other", dice.Pick(subject.nodes).name, "", "a b", "%x", "x@d",
                                          "\xff",  std::string(5000, 'n')};
  const std::string from = node.name, to = dice.OneIn(2) ? "other" : dice.Pick(names);
  node.name = to;
  const bool everywhere = dice.OneIn(2);
  if (everywhere) RenameReferences(subject, from, to);
  return fmt::format("{} is called '{}'{}", from, to.substr(0, 20), everywhere ? " everywhere" : "");
}

// Its readers lose their input, or read its first input instead.
std::string Delete(Subject& subject, Dice& dice) {
  const size_t index = dice.Below(subject.nodes.size());
  const NodeDescription node = subject.nodes[index];
  if (subject.nodes.size() < 2) return "nothing";
  subject.nodes.erase(subject.nodes.begin() + static_cast<std::ptrdiff_t>(index));
  const bool splice = !node.inputs.empty() && !dice.OneIn(4);
  if (splice) RenameReferences(subject, node.name, node.inputs[0]);
  return fmt::format("{} is deleted{}", node.name, splice ? ", its input stays" : "");
}

// The copy has a name of its own, or not; a reader of the original may read it instead.
std::string Duplicate(Subject& subject, Dice& dice) {
  NodeDescription copy = dice.Pick(subject.nodes);
  const std::string name = copy.name;
  if (!dice.OneIn(4)) copy.name += "_copy";
  if (!dice.OneIn(3)) {
    NodeDescription& reader = dice.Pick(subject.nodes);
    std::replace(reader.inputs.begin(), reader.inputs.end(), name, copy.name);
  }
  subject.nodes.push_back(copy);
  return fmt::format("{} is there twice", name);
}

// A node between a node and its readers; most leave the graph valid.
std::string Insert(Subject& subject, Dice& dice) {
  const std::string from = dice.Pick(subject.nodes).name, to = from + "_more";
  std::vector<NodeDescription> kinds = {
      {to, "relu", {from}, {}},
      {to, "add", {from, from}, {}},
      {to, "add", {from, from, from}, {}},
      {to, "mul", {from, from}, {}},
      {to, "dropout", {from}, {{"rate", 0.25}}},
      {to, "dropout", {from}, {{"rate", 1.0}}},
      {to, "cast", {from}, {{"dtype", "f32"}}},
      {to, "cast", {from}, {{"dtype", "i32"}}},
      {to, "reshape", {from}, {{"shape", Ints{-1}}}},
      {to, "reshape", {from}, {{"shape", Ints{1, -1}}}},
      {to, "concat", {from, from}, {{"axis", int64_t{0}}}},
      {to, "concat", {from, from}, {{"axis", int64_t{1}}}},
      {to, "log_softmax", {from}, {}},
      {to, "average_pool", {from}, {{"kernel", Ints{2, 2}}}},
      {to, "max_pool", {from}, {{"kernel", Ints{3, 3}}, {"padding", Ints{1, 1, 1, 1}}}},
      {to, "slice", {from}, {{"begin", Ints{0, 0}}, {"size", Ints{2, 2}}}}};
  const NodeDescription node = dice.Pick(kinds);
  RenameReferences(subject, from, to);
  subject.nodes.push_back(node);
  return fmt::format("{} behind {}", node.op, from);
}

std::string ChangeOp(Subject& subject, Dice& dice) {
  NodeDescription& node = dice.Pick(subject.nodes);
  node.op = dice.OneIn(6) ? node.op + "x" : dice.Pick(Ops().Names());
  if (dice.OneIn(2)) node.attributes = {};
  return fmt::format("{} is a {}", node.name, node.op);
}

std::string ChangeResults(Subject& subject, Dice& dice) {
  const std::string name = dice.OneIn(6) ? "" : dice.Pick(subject.nodes).name;
  if (dice.OneIn(2)) {
    subject.metrics.push_back(name);
    return fmt::format("metric {}", name);
  }
  subject.loss = name;
  return fmt::format("loss {}", name);
}

std::string ChangeTraining(Subject& subject, Dice& dice) {
  Optimizer& optimizer = subject.optimizer;
  LearningRate& rate = subject.learning_rate;
  const Attributes& given = optimizer.attributes;
  double momentum = given.Has("momentum") ? given.Float("momentum") : 0;
  double decay = given.Has("weight_decay") ? given.Float("weight_decay") : 0;
  bool nesterov = given.Has("nesterov") && given.Bool("nesterov");
  const std::vector<double*> numbers = {&momentum, &decay, &optimizer.clip_norm, &rate.base, &rate.decay, &rate.final};
  const std::vector<int64_t*> counts = {&rate.steps, &rate.warmup_steps, &rate.decay_steps};
  const std::vector<std::string> schedules = {"step", "cosine", "exponential", "one_cycle", "linear"};
  if (dice.OneIn(6)) nesterov = !nesterov;
  if (dice.OneIn(3)) rate.schedule = dice.Pick(schedules);
  if (dice.OneIn(3)) {
    int64_t& count = *dice.Pick(counts);
    count = DrawInt(count, dice);
  }
  double& number = *dice.Pick(numbers);
  number = DrawFloat(number, dice);
  optimizer.attributes = {{"momentum", momentum}, {"weight_decay", decay}, {"nesterov", nesterov}};
  return fmt::format("momentum {} decay {} clip {} nesterov {} rate {} {} steps {}, {}, {}", momentum, decay,
                     optimizer.clip_norm, nesterov, rate.schedule, rate.base, rate.steps, rate.warmup_steps,
                     rate.decay_steps);
}

}  // namespace

std::string Mutate(Subject& subject, Dice& dice) {
  static const auto& mutations = *new std::vector<Mutation>{
      ChangeAttribute, ChangeAttribute, ChangeAttribute, ChangeBatch,    ChangeBatch,    ChangeWidth,
      ChangeWidth,     SwapInputs,      RedirectInput,   CountInputs,    Rename,         Delete,
      Duplicate,       Insert,          Insert,          Insert,         Insert,         ChangeOp,
      ChangeResults,   ChangeTraining,  MutateStrategy,  MutateStrategy, MutateStrategy, MutateStrategy,
      MutateStrategy,  MutateStrategy,  MutateStrategy,  MutateStrategy};
  std::string said = "nothing";
  while (said == "nothing") said = dice.Pick(mutations)(subject, dice);
  return said;
}

}  // namespace partita

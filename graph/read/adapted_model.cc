#include "graph/read/adapted_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "graph/optimizer/parameter_groups.h"
#include "graph/read/graph_assembler.h"
#include "graph/read/model_entries.h"
#include "graph/read/verify_model.h"
#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr char kDown[] = ".lora_A.weight";
constexpr char kUp[] = ".lora_B.weight";

bool IsWeightName(const std::string& name) {
  const std::string last = name.substr(name.find_last_of("./") + 1);
  return last == "weight" || last == "weights";
}

// A parameter or state, and how nodes read it.
struct Weight {
  Shape shape;
  bool trains = false;           // it is a parameter
  std::vector<size_t> products;  // places of nodes that multiply by it
  std::string other;             // a node that reads it otherwise, with its op; "": none
  bool transposed = false, both_ways = false;

  bool multiplies() const { return !products.empty() && other.empty() && !both_ways; }
  int64_t in() const { return shape[transposed ? 1 : 0]; }
  int64_t out() const { return shape[transposed ? 0 : 1]; }
};

bool Says(const NodeDescription& node, const char* attribute) {
  return node.attributes.Has(attribute) && node.attributes.Bool(attribute);
}

class Adaptation {
 public:
  Adaptation(const Model& model, const Lora& lora, const OpRegistry& registry)
      : lora_(lora), registry_(registry), nodes_(DescribeNodes(model)), optimizer_(model.optimizer) {
    for (const NodeDescription& node : nodes_) names_.insert(node.name);
  }

  absl::Status Run() {
    FindWeights();
    RETURN_IF_ERROR(ChooseWeights());
    RETURN_IF_ERROR(FreezeOthers());
    for (const std::string& weight : adapted_) RETURN_IF_ERROR(Adapt(weight));
    return absl::OkStatus();
  }

  const std::vector<NodeDescription>& nodes() const { return nodes_; }
  const Optimizer& optimizer() const { return optimizer_; }

 private:
  bool Is(const NodeDescription& node, Role role) const { return node.op == registry_.Get(role).name; }

  void FindWeights() {
    for (const NodeDescription& node : nodes_) {
      const bool trains = Is(node, Role::kParameter);
      if (!trains && !Is(node, Role::kState)) continue;
      weights_[node.name] = {node.attributes.Ints("shape"), trains, {}, {}, false, false};
      order_.push_back(node.name);
    }
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const NodeDescription& node = nodes_[n];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        const auto found = weights_.find(node.inputs[i]);
        if (found == weights_.end()) continue;
        Weight& weight = found->second;
        if (!Is(node, Role::kProduct) || i != 1 || Says(node, "transpose_x") || weight.shape.size() != 2) {
          weight.other = fmt::format("{} ({})", Quoted(node.name), node.op);
          continue;
        }
        const bool transposed = Says(node, "transpose_w");
        weight.both_ways = weight.both_ways || (!weight.products.empty() && transposed != weight.transposed);
        weight.transposed = transposed;
        weight.products.push_back(n);
      }
    }
  }

  // Parameters, and weights of products among states.
  std::vector<std::string> Candidates() const {
    std::vector<std::string> names;
    for (const std::string& name : order_) {
      const Weight& weight = weights_.at(name);
      if (weight.trains || (weight.multiplies() && IsWeightName(name))) names.push_back(name);
    }
    return names;
  }

  absl::Status ChooseWeights() {
    const std::vector<std::string> names = Candidates();
    std::vector<bool> matching(names.size(), true);
    if (!lora_.weights.empty()) {
      ASSIGN_OR_RETURN(matching, MatchingNames(lora_.weights, names));
    }
    std::vector<bool> trained(names.size(), false);
    if (!lora_.trained.empty() && lora_.weights.empty()) {  // those of --lora-train need no adapters
      ASSIGN_OR_RETURN(trained, MatchingNames(lora_.trained, names));
    }
    for (size_t i = 0; i < names.size(); ++i) {
      if (!matching[i] || trained[i]) continue;
      const Weight& weight = weights_.at(names[i]);
      if (!weight.multiplies()) {
        if (!lora_.weights.empty() && weight.shape.size() > 1) return Unsuitable(names[i], weight);
        continue;  // a bias or a norm
      }
      RETURN_IF_ERROR(CheckRank(names[i], weight));
      adapted_.push_back(names[i]);
    }
    if (adapted_.empty()) {
      return InvalidArgument("none of the {} parameters {}is the weight of a linear layer", names.size(),
                             lora_.weights.empty() ? "" : "that match ");
    }
    return absl::OkStatus();
  }

  static absl::Status Unsuitable(const std::string& name, const Weight& weight) {
    if (weight.both_ways && weight.other.empty()) {
      return InvalidArgument("{} is multiplied both as it is and transposed; expected one of them", Quoted(name));
    }
    return InvalidArgument("{} {} is read by {}; expected weights that only products (linear layers) read",
                           Quoted(name), ToString(weight.shape), weight.other);
  }

  absl::Status CheckRank(const std::string& name, const Weight& weight) const {
    const int64_t most = std::min(weight.in(), weight.out());
    if (lora_.rank >= 1 && lora_.rank <= most) return absl::OkStatus();
    return InvalidArgument(
        "the rank is {}, and {} is {}; expected 1 to {}, or patterns that leave it out (a small new layer can be "
        "trained whole)",
        lora_.rank, Quoted(name), ToString(weight.shape), most);
  }

  // All but the adapters, and what is named, stays as it is.
  absl::Status FreezeOthers() {
    const std::set<std::string> adapted(adapted_.begin(), adapted_.end());
    std::vector<std::string> before, others;
    for (const std::string& name : order_) {
      if (!weights_.at(name).trains) continue;
      before.push_back(name);
      if (!adapted.contains(name)) others.push_back(name);
    }
    std::set<std::string> trained;
    if (!lora_.trained.empty()) {
      ASSIGN_OR_RETURN(const std::vector<bool> matching, MatchingNames(lora_.trained, others));
      for (size_t i = 0; i < others.size(); ++i) {
        if (matching[i]) trained.insert(others[i]);
      }
    }
    std::vector<std::string> after(trained.begin(), trained.end());
    for (const std::string& name : adapted_) {
      for (const char* const which : {kDown, kUp}) after.push_back(ModuleOf(name) + which);
    }
    for (NodeDescription& node : nodes_) {
      if (Is(node, Role::kParameter) && !trained.contains(node.name)) node.op = registry_.Get(Role::kState).name;
    }
    std::erase_if(optimizer_.groups, [&](const ParameterGroup& group) {
      return !MatchingNames({group.pattern}, after).ok() && MatchingNames({group.pattern}, before).ok();
    });
    return absl::OkStatus();
  }

  std::string Unique(const std::string& name) {
    std::string unique = name;
    while (!names_.insert(unique).second) unique += "_";
    return unique;
  }

  absl::Status Adapt(const std::string& name) {
    const Weight& weight = weights_.at(name);
    const std::string module = ModuleOf(name);
    Attributes down{{"initializer", std::string("uniform")},
                    {"scale", 1 / std::sqrt(static_cast<double>(weight.in()))},
                    {"shape", Shape{lora_.rank, weight.in()}}};
    Attributes up{{"initializer", std::string("constant")}, {"scale", 0.0}, {"shape", Shape{weight.out(), lora_.rank}}};
    const auto stored = std::ranges::find(nodes_, name, &NodeDescription::name);
    if (const Attribute* const dtype = stored->attributes.Find("dtype")) {
      down.Set("dtype", *dtype);
      up.Set("dtype", *dtype);
    }
    const std::string& parameter = registry_.Get(Role::kParameter).name;
    for (const auto& [which, attributes] : {std::pair(kDown, down), std::pair(kUp, up)}) {
      if (!names_.insert(module + which).second) {
        return InvalidArgument("the graph has a node {} already; a model has adapters once", Quoted(module + which));
      }
      nodes_.push_back({module + which, parameter, {}, attributes});
    }
    for (const size_t place : weight.products) AddProducts(place, module);
    return absl::OkStatus();
  }

  // Whatever read the product reads the sum, which has its name.
  void AddProducts(size_t place, const std::string& module) {
    const std::string sum = nodes_[place].name, product = registry_.Get(Role::kProduct).name;
    std::string x = nodes_[place].inputs[0];
    nodes_[place].name = Unique(sum + ".base");
    const std::string base = nodes_[place].name;
    const Attributes transposed{{"transpose_w", true}};
    const auto add = [&](const std::string& name, const std::string& op, std::vector<std::string> inputs,
                         Attributes attributes) {
      nodes_.push_back({Unique(sum + name), op, std::move(inputs), std::move(attributes)});
      return nodes_.back().name;
    };
    if (lora_.dropout > 0) x = add(".lora_dropout", "dropout", {x}, {{"rate", lora_.dropout}});
    const std::string low = add(".lora_A", product, {x, module + kDown}, transposed);
    const double factor = lora_.alpha / static_cast<double>(lora_.rank);
    const std::string scaled = add(".lora_scaled", "scale", {low}, {{"factor", factor}});
    const std::string high = add(".lora_B", product, {scaled, module + kUp}, transposed);
    nodes_.push_back({sum, registry_.Get(Role::kAdd).name, {base, high}, {}});
  }

  const Lora& lora_;
  const OpRegistry& registry_;
  std::vector<NodeDescription> nodes_;
  Optimizer optimizer_;
  std::set<std::string> names_;
  std::map<std::string, Weight> weights_;
  std::vector<std::string> order_;    // the names of weights_ as the graph has them
  std::vector<std::string> adapted_;  // that get adapters
};

const Node* ProducerOf(const Graph& graph, ValueId value) {
  return value == kNoValue ? nullptr : &graph.node(graph.value(value).producer);
}

// The product, if the value is one with a weight of that ending; any for "".
const Node* ProductWith(const Graph& graph, ValueId value, const std::string& ending) {
  const Node* const node = ProducerOf(graph, value);
  const bool is_product = node != nullptr && node->op->role == Role::kProduct;
  return is_product && graph.value(node->inputs[1]).name.ends_with(ending) ? node : nullptr;
}

}  // namespace

absl::StatusOr<Model> WithAdapters(const Model& model, const Lora& lora, const OpRegistry& registry) {
  Adaptation adaptation(model, lora, registry);
  RETURN_IF_ERROR(adaptation.Run());
  Model result = model;
  result.optimizer = adaptation.optimizer();
  RETURN_IF_ERROR(BuildGraphs(adaptation.nodes(), DescribeResults(model.graph), registry, result));
  RETURN_IF_ERROR(VerifyPatterns(result.graph, result.optimizer));
  return result;
}

std::string ModuleOf(const std::string& weight) {
  const size_t end = weight.find_last_of("./");
  return IsWeightName(weight) && end != std::string::npos ? weight.substr(0, end) : weight;
}

std::vector<Adapter> AdaptersOf(const Graph& graph) {
  std::vector<Adapter> adapters;
  std::set<std::string> found;
  for (const Node& node : graph.nodes()) {
    if (node.op->role != Role::kAdd || node.inputs.size() != 2) continue;
    const Node* const base = ProductWith(graph, node.inputs[0], "");
    const Node* const up = ProductWith(graph, node.inputs[1], kUp);
    if (base == nullptr || up == nullptr) continue;
    const Node* const scale = ProducerOf(graph, up->inputs[0]);
    const Node* const down = scale->op->name == "scale" ? ProductWith(graph, scale->inputs[0], kDown) : nullptr;
    if (down == nullptr || !found.insert(graph.value(down->inputs[1]).name).second) continue;
    const std::string a = graph.value(down->inputs[1]).name;
    adapters.push_back({a.substr(0, a.size() - (sizeof(kDown) - 1)), graph.value(base->inputs[1]).name, a,
                        graph.value(up->inputs[1]).name, scale->attributes.Float("factor"),
                        base->attributes.Bool("transpose_w")});
  }
  return adapters;
}

}  // namespace partita

#include "importer/program/exported_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "graph/value/node_name.h"
#include "runtime/base/file_name.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLargestProgram = 64 << 20, kLargestConfig = 64 << 20;
constexpr size_t kMostNodes = 200'000, kMostDimensions = 16, kMostListed = 100'000;
constexpr int kDeepest = 64;
constexpr int64_t kSchema = 8;
constexpr int64_t kLargestSize = int64_t{1} << 40;

// How many objects and lists lie within each other at the deepest place of a JSON text.
int DepthOf(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      deepest = std::max(deepest, ++depth);
    } else if (!in_string && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return deepest;
}

// Depth is found beforehand: with a callback, the parser walks over all that an object has for each value that ends.
absl::StatusOr<Json> Parse(const std::string& place, const std::string& text) {
  if (DepthOf(text) > kDeepest) return InvalidArgument("{}: JSON is nested more than {} levels deep", place, kDeepest);
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return InvalidArgument("{}: found no JSON object", place);
  return json;
}

absl::StatusOr<const Json*> At(const Json& json, const char* key) {
  if (!json.is_object()) return InvalidArgument("found no object where one with {} is expected", Quoted(key));
  const auto found = json.find(key);
  if (found == json.end()) return InvalidArgument("key {} is missing", Quoted(key));
  return &*found;
}

absl::StatusOr<const Json*> ListAt(const Json& json, const char* key, size_t most) {
  ASSIGN_OR_RETURN(const Json* const list, At(json, key));
  if (!list->is_array()) return InvalidArgument("key {} is no list", Quoted(key));
  if (list->size() > most)
    return InvalidArgument("key {} has {} elements; expected at most {}", Quoted(key), list->size(), most);
  return list;
}

absl::StatusOr<std::string> TextAt(const Json& json, const char* key) {
  ASSIGN_OR_RETURN(const Json* const text, At(json, key));
  if (!text->is_string()) return InvalidArgument("key {} is no text", Quoted(key));
  return text->get<std::string>();
}

absl::StatusOr<int64_t> Integer(const Json& json) {
  if (!json.is_number_integer()) return InvalidArgument("found {} where an integer is expected", Quoted(json.dump()));
  if (json.is_number_unsigned() && json.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return InvalidArgument("found {}, which is too large", json.dump());
  }
  return json.get<int64_t>();
}

absl::StatusOr<int64_t> IntegerAt(const Json& json, const char* key) {
  ASSIGN_OR_RETURN(const Json* const number, At(json, key));
  return Integer(*number);
}

// A union of the schema is an object of one key, which says what it is.
absl::StatusOr<std::pair<std::string, const Json*>> Only(const Json& json) {
  if (!json.is_object() || json.size() != 1) return InvalidArgument("found no object of one key");
  return std::pair(json.begin().key(), &json.begin().value());
}

// An integer, or an expression with the value that it had at export.
absl::StatusOr<Size> ReadSize(const Json& json) {
  ASSIGN_OR_RETURN(const auto only, Only(json));
  const auto& [kind, value] = only;
  Size size;
  if (kind == "as_int") {
    ASSIGN_OR_RETURN(size.value, Integer(*value));
    return size;
  }
  if (kind != "as_expr") return InvalidArgument("a size is {}; expected as_int or as_expr", Quoted(kind));
  ASSIGN_OR_RETURN(size.symbol, TextAt(*value, "expr_str"));
  const auto hint = value->find("hint");
  if (hint == value->end() || !hint->is_object() || !hint->contains("as_int")) {
    return InvalidArgument("size {} depends on data: it has no value at export", Quoted(size.symbol));
  }
  ASSIGN_OR_RETURN(size.value, Integer(hint->at("as_int")));
  return size;
}

absl::StatusOr<TensorMeta> ReadMeta(const Json& json) {
  TensorMeta meta;
  ASSIGN_OR_RETURN(const int64_t type, IntegerAt(json, "dtype"));
  if (type < 1 || type > 13) return InvalidArgument("dtype is {}, which is not read", type);
  meta.type = static_cast<ScalarType>(type);
  ASSIGN_OR_RETURN(const Json* const sizes, ListAt(json, "sizes", kMostDimensions));
  int64_t elements = 1;
  for (const Json& one : *sizes) {
    ASSIGN_OR_RETURN(Size size, ReadSize(one));
    if (size.value < 0 || (size.value > 0 && elements > kLargestSize / size.value)) {
      return InvalidArgument("a tensor has size {}; expected 0 or more, and at most 2^40 elements", size.value);
    }
    elements *= std::max<int64_t>(size.value, 1);
    meta.sizes.push_back(std::move(size));
  }
  ASSIGN_OR_RETURN(const Json* const strides, ListAt(json, "strides", kMostDimensions));
  for (const Json& one : *strides) {
    ASSIGN_OR_RETURN(const Size stride, ReadSize(one));
    meta.strides.push_back(stride.value);
  }
  ASSIGN_OR_RETURN(const Json* const offset, At(json, "storage_offset"));
  ASSIGN_OR_RETURN(const Size begin, ReadSize(*offset));
  meta.offset = begin.value;
  if (const auto grad = json.find("requires_grad"); grad != json.end() && grad->is_boolean()) {
    meta.requires_grad = grad->get<bool>();
  }
  return meta;
}

// Blocks of a program that compute as if their nodes stood in it: under torch.no_grad, without gradients; under
// autocast, whose precision is that of the run here.
constexpr std::string_view kGradientBlock = "torch.ops.higher_order.wrap_with_set_grad_enabled";
constexpr std::string_view kBlocks[] = {kGradientBlock, "torch.ops.higher_order.wrap_with_autocast",
                                        "torch.ops.higher_order.tag_activation_checkpoint"};

class ProgramReader {
 public:
  // `names`: of a block, what the program calls the values that it takes. All must outlive the reader.
  ProgramReader(const Json& graph, ExportedProgram& program, std::map<std::string, std::string> names = {})
      : graph_(graph), program_(program), names_(std::move(names)) {}

  absl::Status Read() {
    ASSIGN_OR_RETURN(const Json* const tensors, At(graph_, "tensor_values"));
    for (const auto& [name, meta] : tensors->items()) {
      if (names_.contains(name)) continue;
      absl::StatusOr<TensorMeta> read = ReadMeta(meta);
      if (!read.ok()) return WithContext(fmt::format("tensor {}", Quoted(name)), read.status());
      std::string own = name;
      while (!program_.tensors.emplace(own, *read).second) own = fmt::format("{}.{}", name, program_.tensors.size());
      if (own != name) names_.emplace(name, std::move(own));
    }
    ASSIGN_OR_RETURN(const Json* const nodes, ListAt(graph_, "nodes", kMostNodes));
    for (const Json& one : *nodes) {
      const size_t place = program_.nodes.size();
      const absl::Status read = ReadNodeOrBlock(one);
      if (!read.ok()) return WithContext(fmt::format("node {}", place), read);
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::string> TensorNameOf(const Json& json) const {
    if (json.is_object() && json.contains("as_none")) return std::string();
    ASSIGN_OR_RETURN(std::string name,
                     TextAt(json.is_object() && json.contains("as_tensor") ? json["as_tensor"] : json, "name"));
    const auto outside = names_.find(name);
    return outside == names_.end() ? name : outside->second;
  }

  absl::Status ReadNodeOrBlock(const Json& json) {
    ASSIGN_OR_RETURN(const std::string target, TextAt(json, "target"));
    if (std::ranges::find(kBlocks, target) != std::end(kBlocks)) return WithContext(target, ReadBlock(json, target));
    ASSIGN_OR_RETURN(Node node, ReadNode(json));
    program_.nodes.push_back(std::move(node));
    return absl::OkStatus();
  }

  // The arguments are settings, the graph, and the values that it takes.
  absl::Status ReadBlock(const Json& json, const std::string& target) {
    ASSIGN_OR_RETURN(const Json* const arguments, ListAt(json, "inputs", kMostListed));
    bool gradients = target != kGradientBlock;
    const Json* graph = nullptr;
    std::vector<std::string> taken;
    for (const Json& argument : *arguments) {
      ASSIGN_OR_RETURN(const Json* const value, At(argument, "arg"));
      ASSIGN_OR_RETURN(const auto only, Only(*value));
      if (only.first == "as_graph" && graph == nullptr) {
        ASSIGN_OR_RETURN(graph, At(*only.second, "graph"));
      } else if (graph == nullptr) {
        gradients |= only.first == "as_bool" && only.second->is_boolean() && only.second->get<bool>();
      } else if (only.first == "as_tensor") {
        ASSIGN_OR_RETURN(std::string name, TensorNameOf(*only.second));
        taken.push_back(std::move(name));
      } else {
        taken.emplace_back();  // a number, which the block has taken in
      }
    }
    if (graph == nullptr) return InvalidArgument("it has no graph");
    ASSIGN_OR_RETURN(const Json* const inputs, ListAt(*graph, "inputs", kMostListed));
    if (inputs->size() > taken.size()) return InvalidArgument("its graph takes {} values", inputs->size());
    std::map<std::string, std::string> names;
    for (size_t i = 0; i < inputs->size(); ++i) {
      if (taken[i].empty()) continue;
      ASSIGN_OR_RETURN(const Json* const input, At((*inputs)[i], "as_tensor"));
      ASSIGN_OR_RETURN(const std::string name, TextAt(*input, "name"));
      names.emplace(name, taken[i]);
    }
    ProgramReader block(*graph, program_, std::move(names));
    RETURN_IF_ERROR(block.Read());
    return BindResults(json, block, gradients);
  }

  // What the node of a block is called here is an alias of what its graph returns.
  absl::Status BindResults(const Json& json, const ProgramReader& block, bool gradients) {
    ASSIGN_OR_RETURN(const Json* const inner, ListAt(block.graph_, "outputs", kMostListed));
    ASSIGN_OR_RETURN(const Json* const outer, ListAt(json, "outputs", kMostListed));
    ASSIGN_OR_RETURN(const std::vector<std::string> results, OutputsOf(*outer));
    if (results.size() != inner->size()) {
      return InvalidArgument("it has {} results, and its graph {}", results.size(), inner->size());
    }
    for (size_t i = 0; i < results.size(); ++i) {
      ASSIGN_OR_RETURN(std::string made, block.TensorNameOf((*inner)[i]));
      if (made.empty() || results[i].empty()) continue;
      const auto module = json.find("metadata");
      program_.nodes.push_back({gradients ? "torch.ops.aten.alias.default" : "torch.ops.aten.detach.default",
                                module == json.end() || !module->is_object() ? "" : ModuleOf(*module),
                                {{"self", TensorName{std::move(made)}}},
                                {results[i]}});
    }
    return absl::OkStatus();
  }

  // An integer of the program: a number, or the name of one that is computed.
  absl::StatusOr<Size> SymbolicInteger(const Json& json) const {
    ASSIGN_OR_RETURN(const auto only, Only(json));
    if (only.first == "as_int") return ReadSize(json);
    if (only.first != "as_name" || !only.second->is_string()) return InvalidArgument("found no integer");
    ASSIGN_OR_RETURN(const Json* const values, At(graph_, "sym_int_values"));
    const auto value = values->find(only.second->get<std::string>());
    if (value == values->end())
      return InvalidArgument("integer {} is unknown", Quoted(only.second->get<std::string>()));
    return ReadSize(*value);
  }

  absl::StatusOr<TensorNames> ReadNames(const Json& list) const {
    TensorNames names;
    if (!list.is_array() || list.size() > kMostListed) return InvalidArgument("found no list of tensors");
    for (const Json& one : list) {
      ASSIGN_OR_RETURN(std::string name, TensorNameOf(one));
      names.names.push_back(std::move(name));
    }
    return names;
  }

  absl::StatusOr<Integers> ReadIntegers(const Json& list, bool symbolic) const {
    Integers integers;
    if (!list.is_array() || list.size() > kMostListed) return InvalidArgument("found no list of integers");
    for (const Json& one : list) {
      if (symbolic) {
        ASSIGN_OR_RETURN(Size size, SymbolicInteger(one));
        integers.sizes.push_back(std::move(size));
      } else {
        ASSIGN_OR_RETURN(const int64_t value, Integer(one));
        integers.sizes.push_back({value});
      }
    }
    return integers;
  }

  absl::StatusOr<Argument> ReadArgument(const Json& json) const {
    ASSIGN_OR_RETURN(const auto only, Only(json));
    const auto& [kind, value] = only;
    if (kind == "as_none") return Argument(None{});
    if (kind == "as_bool" && value->is_boolean()) return Argument(value->get<bool>());
    if (kind == "as_float" && value->is_number()) return Argument(value->get<double>());
    if (kind == "as_float" && value->is_string()) {  // "Infinity", "-Infinity", "NaN"
      const std::string text = value->get<std::string>();
      const double infinity = std::numeric_limits<double>::infinity();
      if (text == "Infinity") return Argument(infinity);
      if (text == "-Infinity") return Argument(-infinity);
      return Argument(std::numeric_limits<double>::quiet_NaN());
    }
    if ((kind == "as_string" || kind == "as_operator") && value->is_string())
      return Argument(value->get<std::string>());
    if (kind == "as_int") {
      ASSIGN_OR_RETURN(const int64_t integer, Integer(*value));
      return Argument(Size{integer});
    }
    if (kind == "as_sym_float" || kind == "as_sym_bool") {  // its name is a symbol as that of a size is
      ASSIGN_OR_RETURN(const auto number, Only(*value));
      if (number.first == "as_float" && number.second->is_number()) return Argument(number.second->get<double>());
      if (number.first == "as_bool" && number.second->is_boolean()) return Argument(number.second->get<bool>());
      if (!number.second->is_string()) return InvalidArgument("found no number");
      return Argument(Size{0, number.second->get<std::string>()});
    }
    if (kind == "as_sym_int") {
      ASSIGN_OR_RETURN(Size size, SymbolicInteger(*value));
      return Argument(std::move(size));
    }
    if (kind == "as_ints" || kind == "as_sym_ints") {
      ASSIGN_OR_RETURN(Integers integers, ReadIntegers(*value, kind == "as_sym_ints"));
      return Argument(std::move(integers));
    }
    if (kind == "as_tensor" || kind == "as_optional_tensor") {
      ASSIGN_OR_RETURN(std::string name, TensorNameOf(*value));
      if (name.empty()) return Argument(None{});
      return Argument(TensorName{std::move(name)});
    }
    if (kind == "as_tensors" || kind == "as_optional_tensors") {
      ASSIGN_OR_RETURN(TensorNames names, ReadNames(*value));
      return Argument(std::move(names));
    }
    if (kind == "as_scalar_type") {
      ASSIGN_OR_RETURN(const int64_t type, Integer(*value));
      if (type < 1 || type > 13) return InvalidArgument("dtype is {}, which is not read", type);
      return Argument(static_cast<ScalarType>(type));
    }
    if (kind == "as_floats" && value->is_array()) {
      std::vector<double> numbers;
      for (const Json& one : *value) {
        if (!one.is_number()) return InvalidArgument("found no number in a list of numbers");
        numbers.push_back(one.get<double>());
      }
      return Argument(std::move(numbers));
    }
    if (kind == "as_bools" && value->is_array()) {
      std::vector<bool> switches;
      for (const Json& one : *value) {
        if (!one.is_boolean()) return InvalidArgument("found no truth value in a list of them");
        switches.push_back(one.get<bool>());
      }
      return Argument(std::move(switches));
    }
    if (kind == "as_graph") {
      return InvalidArgument(
          "the program branches or loops on data (a graph inside a node); export a module whose forward takes one "
          "path");
    }
    if (kind == "as_custom_obj")
      return InvalidArgument("the program has an object of its own class, which is not read");
    return Argument(None{});  // layouts, devices, memory formats: of no meaning here
  }

  absl::StatusOr<Node> ReadNode(const Json& json) const {
    Node node;
    ASSIGN_OR_RETURN(node.target, TextAt(json, "target"));
    ASSIGN_OR_RETURN(const Json* const inputs, ListAt(json, "inputs", kMostListed));
    for (const Json& input : *inputs) {
      ASSIGN_OR_RETURN(const std::string name, TextAt(input, "name"));
      ASSIGN_OR_RETURN(const Json* const value, At(input, "arg"));
      absl::StatusOr<Argument> argument = ReadArgument(*value);
      if (!argument.ok()) return WithContext(fmt::format("{}: {}", node.target, Quoted(name)), argument.status());
      node.arguments[name] = *std::move(argument);
    }
    ASSIGN_OR_RETURN(const Json* const outputs, ListAt(json, "outputs", kMostListed));
    ASSIGN_OR_RETURN(node.outputs, OutputsOf(*outputs));
    const auto metadata = json.find("metadata");
    if (metadata != json.end() && metadata->is_object()) node.module = ModuleOf(*metadata);
    return node;
  }

  absl::StatusOr<std::vector<std::string>> OutputsOf(const Json& outputs) const {
    std::vector<std::string> names;
    for (const Json& output : outputs) {
      ASSIGN_OR_RETURN(const auto only, Only(output));
      if (only.first == "as_tensors") {
        ASSIGN_OR_RETURN(const TensorNames list, ReadNames(*only.second));
        names.insert(names.end(), list.names.begin(), list.names.end());
        continue;
      }
      std::string name;
      if (only.first == "as_tensor") {
        ASSIGN_OR_RETURN(name, TensorNameOf(*only.second));
      }
      names.push_back(std::move(name));
    }
    return names;
  }

  // "L__self__,,Trained;L__self__model.conv,model.conv,torch.nn.Conv2d": the path of the last.
  static std::string ModuleOf(const Json& metadata) {
    const auto stack = metadata.find("nn_module_stack");
    if (stack == metadata.end() || !stack->is_string()) return "";
    std::string text = stack->get<std::string>();
    text = text.substr(text.rfind(';') + 1);
    const size_t first = text.find(','), second = text.find(',', first + 1);
    return second == std::string::npos ? "" : text.substr(first + 1, second - first - 1);
  }

  const Json& graph_;
  ExportedProgram& program_;
  std::map<std::string, std::string> names_;  // of this graph's values in the program, where they differ
};

absl::Status ReadSignature(const Json& signature, ExportedProgram& program) {
  ASSIGN_OR_RETURN(const Json* const inputs, ListAt(signature, "input_specs", kMostListed));
  for (const Json& spec : *inputs) {
    ASSIGN_OR_RETURN(const auto only, Only(spec));
    const auto& [kind, value] = only;
    Input input;
    if (kind == "constant_input") continue;  // None, or a number that the program has taken in
    ASSIGN_OR_RETURN(const Json* const argument, At(*value, "arg"));
    if (kind == "user_input") {
      if (!argument->is_object() || !argument->contains("as_tensor")) continue;  // a number or None
      ASSIGN_OR_RETURN(input.name, TextAt((*argument)["as_tensor"], "name"));
    } else if (kind == "parameter" || kind == "buffer" || kind == "tensor_constant") {
      input.kind = kind == "parameter" ? InputKind::kParameter
                   : kind == "buffer"  ? InputKind::kBuffer
                                       : InputKind::kConstant;
      ASSIGN_OR_RETURN(input.name, TextAt(*argument, "name"));
      ASSIGN_OR_RETURN(input.target, TextAt(*value, (kind + "_name").c_str()));
    } else {
      return InvalidArgument("input of kind {} is not read", Quoted(kind));
    }
    program.inputs.push_back(std::move(input));
  }
  ASSIGN_OR_RETURN(const Json* const outputs, ListAt(signature, "output_specs", kMostListed));
  for (const Json& spec : *outputs) {
    ASSIGN_OR_RETURN(const auto only, Only(spec));
    if (only.first != "user_output" && only.first != "loss_output") continue;  // buffers that are written
    ASSIGN_OR_RETURN(const Json* const argument, At(*only.second, "arg"));
    std::string name;
    if (argument->contains("as_tensor")) {
      ASSIGN_OR_RETURN(name, TextAt((*argument)["as_tensor"], "name"));
    } else if (argument->contains("name")) {
      ASSIGN_OR_RETURN(name, TextAt(*argument, "name"));
    }
    program.outputs.push_back(std::move(name));
  }
  return absl::OkStatus();
}

// The element furthest behind lies in the storage.
absl::Status CheckStorage(const StoredWeight& weight) {
  const TensorMeta& meta = weight.meta;
  if (meta.strides.size() != meta.sizes.size() || meta.offset < 0) return InvalidArgument("sizes and strides differ");
  int64_t last = meta.offset;
  for (size_t d = 0; d < meta.sizes.size(); ++d) {
    if (meta.sizes[d].value == 0) return absl::OkStatus();
    if (meta.strides[d] < 0 || meta.strides[d] > kLargestSize)
      return InvalidArgument("stride {} is not read", meta.strides[d]);
    last += (meta.sizes[d].value - 1) * meta.strides[d];
    if (last > kLargestSize) break;
  }
  const int64_t element =
      meta.type == ScalarType::kF64 || meta.type == ScalarType::kI64                                   ? 8
      : meta.type == ScalarType::kF32 || meta.type == ScalarType::kI32                                 ? 4
      : meta.type == ScalarType::kBool || meta.type == ScalarType::kU8 || meta.type == ScalarType::kI8 ? 1
                                                                                                       : 2;
  if (last < weight.member.size / element) return absl::OkStatus();
  return InvalidArgument("its elements end behind its {} bytes", weight.member.size);
}

absl::Status ReadWeights(const std::map<std::string, ZipMember>& members, const std::string& folder,
                         const std::string& config_name, bool persistent, ExportedProgram& program) {
  const auto config = members.find(folder + config_name);
  if (config == members.end()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, ReadMember(program.path, config->first, config->second, kLargestConfig));
  ASSIGN_OR_RETURN(const Json json, Parse(config->first, text));
  ASSIGN_OR_RETURN(const Json* const tensors, At(json, "config"));
  for (const auto& [name, entry] : tensors->items()) {
    const auto read = [&, &entry = entry]() -> absl::StatusOr<StoredWeight> {
      ASSIGN_OR_RETURN(const std::string file, TextAt(entry, "path_name"));
      if (entry.value("use_pickle", false)) {
        return InvalidArgument("it is pickled, and pickles are not opened; export again with plain tensors");
      }
      const auto member = members.find(folder + file);
      if (member == members.end()) return InvalidArgument("its member {} is missing", Quoted(folder + file));
      ASSIGN_OR_RETURN(const Json* const meta, At(entry, "tensor_meta"));
      StoredWeight weight{{}, member->second, persistent};
      ASSIGN_OR_RETURN(weight.meta, ReadMeta(*meta));
      RETURN_IF_ERROR(CheckStorage(weight));
      return weight;
    };
    absl::StatusOr<StoredWeight> weight = read();
    if (!weight.ok()) return WithContext(fmt::format("tensor {}", Quoted(name)), weight.status());
    program.weights.emplace(name, *std::move(weight));
  }
  return absl::OkStatus();
}

absl::Status CheckKind(const Json& json) {
  ASSIGN_OR_RETURN(const Json* const version, At(json, "schema_version"));
  ASSIGN_OR_RETURN(const int64_t major, IntegerAt(*version, "major"));
  if (major != kSchema) {
    const std::string torch = json.value("torch_version", std::string("of unknown version"));
    return InvalidArgument("schema version {} (PyTorch {}); expected {}: export again with {} PyTorch", major, torch,
                           kSchema, major < kSchema ? "a newer" : "an older");
  }
  return absl::OkStatus();
}

// What an archive without a program is.
absl::Status NoProgram(const std::string& path, const std::map<std::string, ZipMember>& members) {
  const bool is_checkpoint =
      std::ranges::any_of(members, [](const auto& member) { return HasEnding(member.first, "/data.pkl"); });
  if (is_checkpoint) {
    return InvalidArgument(
        "{}: is a PyTorch checkpoint (torch.save), not an exported program, and pickles are not opened; load it in "
        "PyTorch and write the module with torch.export.save (docs/guide/pytorch.md 1)",
        path);
  }
  return InvalidArgument("{}: found no models/model.json in the archive; expected what torch.export.save writes", path);
}

}  // namespace

std::string Name(ScalarType type) {
  constexpr const char* kNames[] = {"uint8",   "int8",      "int16",     "int32",      "int64", "float16", "float32",
                                    "float64", "complex32", "complex64", "complex128", "bool",  "bfloat16"};
  return kNames[static_cast<size_t>(type) - 1];
}

Shape TensorMeta::shape() const {
  Shape shape;
  for (const Size& size : sizes) shape.push_back(size.value);
  return shape;
}

bool TensorMeta::empty() const {
  return std::ranges::any_of(sizes, [](const Size& size) { return size.value == 0 && size.symbol.empty(); });
}

absl::StatusOr<ExportedProgram> ReadExportedProgram(const std::string& path) {
  ASSIGN_OR_RETURN(const auto members, MembersOfZip(path));
  std::string folder;
  for (const auto& [name, member] : members) {
    constexpr std::string_view kProgram = "/models/model.json";
    if (HasEnding(name, kProgram)) folder = name.substr(0, name.size() - kProgram.size()) + "/";
  }
  if (folder.empty()) return NoProgram(path, members);
  ExportedProgram program;
  program.path = path;
  const std::string place = folder + "models/model.json";
  const auto order = members.find(folder + "byteorder");
  if (order != members.end()) {
    ASSIGN_OR_RETURN(const std::string text, ReadMember(path, order->first, order->second, 64));
    if (text != "little") return InvalidArgument("{}: byteorder is {}; expected little", path, Quoted(text));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadMember(path, place, members.at(place), kLargestProgram));
  const auto read = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Json json, Parse(place, text));
    RETURN_IF_ERROR(CheckKind(json));
    ASSIGN_OR_RETURN(const Json* const module, At(json, "graph_module"));
    ASSIGN_OR_RETURN(const Json* const graph, At(*module, "graph"));
    ASSIGN_OR_RETURN(const Json* const signature, At(*module, "signature"));
    RETURN_IF_ERROR(ReadSignature(*signature, program));
    return ProgramReader(*graph, program).Read();
  };
  RETURN_IF_ERROR(WithContext(path, read()));
  RETURN_IF_ERROR(
      WithContext(path, ReadWeights(members, folder + "data/weights/", "model_weights_config.json", true, program)));
  RETURN_IF_ERROR(WithContext(
      path, ReadWeights(members, folder + "data/constants/", "model_constants_config.json", false, program)));
  return program;
}

}  // namespace partita::torch_export

#include "importer/import_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "graph/value/node_name.h"
#include "importer/added_loss.h"
#include "importer/moves.h"
#include "runtime/base/check.h"
#include "runtime/base/file_name.h"
#include "runtime/base/status.h"
#include "runtime/checkpoint/safetensors.h"

namespace partita {
namespace {

using namespace torch_export;

constexpr size_t kMostReasons = 20;

struct NamesOfArgument {
  std::vector<std::string> operator()(const TensorName& tensor) const { return {tensor.name}; }
  std::vector<std::string> operator()(const TensorNames& tensors) const { return tensors.names; }
  template <typename T>
  std::vector<std::string> operator()(const T&) const {
    return {};
  }
};

std::vector<std::string> ReadsOf(const torch_export::Node& node) {
  std::vector<std::string> reads;
  for (const auto& [name, argument] : node.arguments) {
    for (const std::string& tensor : std::visit(NamesOfArgument(), argument)) {
      if (!tensor.empty()) reads.push_back(tensor);
    }
  }
  return reads;
}

std::string Written(const torch_export::Node& node) {
  return IsInPlace(node.target) ? OptionalTensorOf(node, "self") : std::string();
}

// By name of a value: the value whose memory it shares, as views and results of writes do; itself if it has its own.
std::map<std::string, std::string> RootsOf(const ExportedProgram& program) {
  constexpr const char* kViews[] = {
      "view",      "slice",       "select",    "transpose",  "permute",          "t",       "expand",
      "unbind",    "split",       "chunk",     "alias",      "unsqueeze",        "squeeze", "flatten",
      "reshape",   "detach",      "unflatten", "contiguous", "split_with_sizes", "to",      "mT",
      "numpy_T",   "movedim",     "moveaxis",  "swapaxes",   "swapdims",         "narrow",  "view_as",
      "expand_as", "_unsafe_view"};
  std::map<std::string, std::string> roots;
  for (const torch_export::Node& node : program.nodes) {
    const bool views = std::ranges::find(kViews, OpOf(node.target)) != std::end(kViews) || IsInPlace(node.target);
    const std::string self = views ? OptionalTensorOf(node, "self") : std::string();
    const auto root = roots.find(self);
    for (const std::string& output : node.outputs) {
      roots[output] = self.empty() ? output : root == roots.end() ? self : root->second;
    }
  }
  return roots;
}

// What the losses and metrics need, writes into memory that is read behind them included. Steps of counters, checks of
// sizes and masks that nothing reads are not among it.
std::vector<bool> NeededNodes(const ExportedProgram& program, const std::vector<std::string>& results) {
  const std::map<std::string, std::string> roots = RootsOf(program);
  std::set<std::string> needed, needed_roots;
  const auto need = [&](const std::string& name) {
    needed.insert(name);
    const auto root = roots.find(name);
    needed_roots.insert(root == roots.end() ? name : root->second);
  };
  std::ranges::for_each(results, need);
  std::vector<bool> nodes(program.nodes.size(), false);
  for (size_t i = program.nodes.size(); i-- > 0;) {
    const torch_export::Node& node = program.nodes[i];
    const std::string written = Written(node);
    const auto root = roots.find(written);
    nodes[i] = std::ranges::any_of(node.outputs, [&](const std::string& name) { return needed.contains(name); }) ||
               (!written.empty() && needed_roots.contains(root == roots.end() ? written : root->second));
    if (nodes[i]) std::ranges::for_each(ReadsOf(node), need);
  }
  return nodes;
}

// What ops of images read, also behind ops that keep its dimensions where they are.
std::set<std::string> ImagesOf(const ExportedProgram& program) {
  constexpr const char* kKeep[] = {"pad", "add",   "sub",        "mul",  "div",  "clamp",
                                   "to",  "clone", "contiguous", "relu", "roll", "flip"};
  std::set<std::string> images;
  for (size_t i = program.nodes.size(); i-- > 0;) {
    const torch_export::Node& node = program.nodes[i];
    const std::string op = OpOf(node.target);
    const bool reads_images = op.starts_with("conv") || op.find("pool") != std::string::npos ||
                              op.starts_with("batch_norm") || op.find("upsample") != std::string::npos;
    const bool keeps =
        std::ranges::find(kKeep, op) != std::end(kKeep) &&
        std::ranges::any_of(node.outputs, [&](const std::string& name) { return images.contains(name); });
    if (!reads_images && !keeps) continue;
    for (const char* const argument : {"input", "self"}) images.insert(OptionalTensorOf(node, argument));
  }
  return images;
}

std::string Place(const torch_export::Node& node) {
  const std::string name = node.outputs.empty() ? "" : node.outputs[0];
  return fmt::format("node {} ({}{})", Quoted(name), node.target, node.module.empty() ? "" : " of " + node.module);
}

absl::Status TranslateNode(Translator& translator, const torch_export::Node& node) {
  const Translate translate = FindTranslation(node.target);
  if (translator.constants().Folds(node)) {
    const absl::Status folded = translator.constants().Fold(node);
    // What depends on how many samples there are is computed with the batch.
    if (folded.ok() || translate == nullptr || !Written(node).empty()) return folded;
  }
  if (translate == nullptr) return InvalidArgument("there is no translation of this op");
  if (node.outputs.empty() || node.outputs[0].empty()) return InvalidArgument("its result is no tensor");
  if (!translator.IsKnown(node.outputs[0])) return InvalidArgument("its result has no sizes");
  RETURN_IF_ERROR(translate(translator, node));
  ASSIGN_OR_RETURN(const Imported result, translator.Get(node.outputs[0]));
  if (result.rank() != translator.SizesOf(node.outputs[0]).size()) {
    return InvalidArgument("its result has {} dimensions here, and {} in the file", result.rank(),
                           translator.SizesOf(node.outputs[0]).size());
  }
  if (const std::string written = Written(node); !written.empty()) {
    ASSIGN_OR_RETURN(Imported value, translator.Get(node.outputs[0]));
    translator.Bind(written, std::move(value));
  }
  return absl::OkStatus();
}

// Names of one piece of memory: what views of a tensor, and writes into it, are called.
class Memory {
 public:
  Memory(const ExportedProgram& program, const std::vector<bool>& needed) : root_(RootsOf(program)) {
    for (size_t i = 0; i < program.nodes.size(); ++i) {
      const torch_export::Node& node = program.nodes[i];
      const std::string op = OpOf(node.target);
      for (const std::string& output : node.outputs) {
        made_[output] = i;
        if (op == "slice" || op == "select" || IsInPlace(node.target)) views_[output] = &node;
        names_[RootOf(output)].insert(output);
      }
      if (!needed[i]) continue;
      for (const std::string& name : ReadsOf(node)) last_read_[name] = i;
    }
    for (const std::string& output : program.outputs) last_read_[output] = program.nodes.size();
  }

  // The views, through which node `i` writes, that something reads behind it under their names or would see changed:
  // slices, selects and results of writes, from the one that it writes into to the whole. None if nothing does.
  // kInvalidArgument: something else shares the memory and is read.
  absl::StatusOr<std::vector<const torch_export::Node*>> ViewsWritten(size_t i, const torch_export::Node& node) const {
    const std::string written = Written(node);
    std::set<std::string> read;
    const auto note = [&](const std::string& name) {
      const auto last = last_read_.find(name);
      const auto made = made_.find(name);
      const bool before = made == made_.end() || made->second < i;  // later names are of what it has written
      if (last != last_read_.end() && last->second > i && name != written && before) read.insert(name);
    };
    const std::string root = RootOf(written);
    note(root);
    if (const auto names = names_.find(root); names != names_.end()) std::ranges::for_each(names->second, note);
    std::vector<const torch_export::Node*> views;
    for (std::string view = written; !read.empty();) {
      const auto found = views_.find(view);
      if (found == views_.end()) {
        return InvalidArgument("it writes into a tensor that is read under another name afterwards");
      }
      views.push_back(found->second);
      view = OptionalTensorOf(*found->second, "self");
      read.erase(view);
    }
    return views;
  }

 private:
  std::string RootOf(const std::string& name) const {
    const auto root = root_.find(name);
    return root == root_.end() ? name : root->second;
  }

  std::map<std::string, std::string> root_;
  std::map<std::string, std::set<std::string>> names_;      // by root
  std::map<std::string, const torch_export::Node*> views_;  // slices, selects and writes, by result
  std::map<std::string, size_t> made_, last_read_;          // the node that gives the name, and the last that reads it
};

// What it writes becomes visible in all of which it writes into a part.
absl::Status TranslateAt(const Memory& memory, size_t i, const torch_export::Node& node, Translator& translator) {
  const std::string written = Written(node);
  if (written.empty() || translator.constants().Folds(node)) return TranslateNode(translator, node);
  ASSIGN_OR_RETURN(const auto views, memory.ViewsWritten(i, node));
  RETURN_IF_ERROR(TranslateNode(translator, node));
  std::string part = written;
  for (const torch_export::Node* const view : views) {
    ASSIGN_OR_RETURN(const Imported value, translator.Get(part));
    part = OptionalTensorOf(*view, "self");
    if (IsInPlace(view->target)) {
      translator.Bind(part, value);
      continue;
    }
    ASSIGN_OR_RETURN(Imported replaced, Replaced(translator, *view, value, node.outputs[0]));
    translator.Bind(part, std::move(replaced));
  }
  translator.constants().Forget(written);
  return absl::OkStatus();
}

// A buffer that the module writes itself would be left as it is here. Counters that the loss does not read may be.
absl::Status CheckBuffers(const ExportedProgram& program, const std::vector<bool>& needed) {
  const std::map<std::string, std::string> roots = RootsOf(program);
  const auto root_of = [&](const std::string& name) {
    const auto root = roots.find(name);
    return root == roots.end() ? name : root->second;
  };
  std::map<std::string, std::string> buffers;  // by value: its name in the module
  for (const Input& input : program.inputs) {
    if (input.kind == InputKind::kBuffer) buffers[input.name] = input.target;
  }
  std::set<std::string> read, by_norms, beside_norms;
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const torch_export::Node& node = program.nodes[i];
    const bool updates = OpOf(node.target) == "batch_norm" && SwitchOf(node, "training", false);
    for (const std::string& name : ReadsOf(node)) {
      if (needed[i]) read.insert(root_of(name));
      const bool statistic =
          updates && (name == OptionalTensorOf(node, "running_mean") || name == OptionalTensorOf(node, "running_var"));
      (statistic ? by_norms : beside_norms).insert(root_of(name));
    }
  }
  for (const torch_export::Node& node : program.nodes) {
    const auto buffer = buffers.find(root_of(Written(node)));
    if (buffer == buffers.end()) continue;
    const auto meta = program.tensors.find(buffer->first);
    const bool counts = meta != program.tensors.end() && !IsFloat(meta->second.type);
    if (counts && !read.contains(buffer->first)) continue;
    return InvalidArgument(
        "{}: {}: it writes into the buffer {}; the only ones that training changes are running "
        "statistics of batch norms",
        program.path, Place(node), Quoted(buffer->second));
  }
  for (const std::string& name : by_norms) {
    if (!beside_norms.contains(name) || !buffers.contains(name)) continue;
    return InvalidArgument("{}: the module reads the running statistic {}, which a batch norm changes in the same step",
                           program.path, Quoted(buffers.at(name)));
  }
  return absl::OkStatus();
}

absl::Status TranslateNodes(const ExportedProgram& program, const std::vector<bool>& needed, Translator& translator) {
  const Memory memory(program, needed);
  std::vector<std::string> reasons;
  std::set<std::string> missing;  // results of nodes that have no translation: what reads them has none either
  size_t failed = 0;
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const torch_export::Node& node = program.nodes[i];
    if (!needed[i]) continue;
    const bool follows =
        std::ranges::any_of(ReadsOf(node), [&](const std::string& name) { return missing.contains(name); });
    absl::Status status;
    if (!follows) {
      status = TranslateAt(memory, i, node, translator);
    }
    if (!follows && status.ok()) continue;
    missing.insert(node.outputs.begin(), node.outputs.end());
    missing.insert(Written(node));
    missing.erase("");
    if (follows) continue;
    ++failed;
    if (reasons.size() < kMostReasons)
      reasons.push_back(fmt::format("{}: {}", Place(node), std::string(status.message())));
  }
  if (failed == 0) return absl::OkStatus();
  const std::string more = failed > reasons.size() ? fmt::format("; and {} more", failed - reasons.size()) : "";
  return InvalidArgument("{}: {} of its {} nodes cannot be read: {}{}", program.path, failed, program.nodes.size(),
                         fmt::join(reasons, "; "), more);
}

template <typename T>
void Append(double value, std::string& bytes) {
  const T element = static_cast<T>(value);
  bytes.append(reinterpret_cast<const char*>(&element), sizeof(T));
}

void AppendAs(double value, DType type, std::string& bytes) {
  if (type == DType::kF64) {
    Append<double>(value, bytes);
  } else if (type == DType::kI32) {
    Append<int32_t>(value, bytes);
  } else {
    Append<float>(value, bytes);
  }
}

// The name under which the graph has that weight, or one that is tied to it; nullptr: it has none of it.
const std::string* UsedName(const ExportedProgram& program, const StoredWeight& weight,
                            const std::map<std::string, const ImportedState*>& states) {
  for (const auto& [name, other] : program.weights) {
    const bool same = other.member.begin == weight.member.begin && other.meta.offset == weight.meta.offset &&
                      other.meta.shape() == weight.meta.shape() && other.meta.strides == weight.meta.strides;
    if (same && states.contains(name)) return &name;
  }
  return nullptr;
}

// In PyTorch's order, of a tensor that lies in the state's.
absl::StatusOr<std::vector<double>> TrainedValues(const SafetensorsFile& trained, const ImportedState& state,
                                                  const Shape& shape) {
  const StoredTensor* const tensor = trained.Find(state.name);
  if (tensor == nullptr) return InvalidArgument("{}: has no tensor {}", trained.path(), Quoted(state.name));
  std::vector<int64_t> lying;
  for (const int d : state.order) lying.push_back(shape[static_cast<size_t>(d)]);
  if (lying.empty() && tensor->shape.size() == 1) lying = {1};  // a parameter without dimensions
  if (tensor->shape != lying) {
    return InvalidArgument("{}: tensor {}: found [{}], needed is [{}]", trained.path(), Quoted(state.name),
                           fmt::join(tensor->shape, ","), fmt::join(lying, ","));
  }
  const std::span<const std::byte> bytes = trained.Bytes(*tensor);
  const bool doubles = tensor->type == StoredTypeOf(DType::kF64);
  if (!doubles && tensor->type != StoredTypeOf(DType::kF32)) {
    return InvalidArgument("{}: tensor {}: is of type {}; expected F32 or F64", trained.path(), Quoted(state.name),
                           tensor->type->name);
  }
  const std::vector<int64_t> strides = RowMajor(Shape(lying.begin(), lying.end()));
  std::vector<int64_t> own(shape.size());
  for (size_t j = 0; j < state.order.size(); ++j) own[static_cast<size_t>(state.order[j])] = strides[j];
  std::vector<double> values;
  for (const int64_t place : PlacesOf(shape, own, 0)) {
    if (doubles) {
      double value = 0;
      std::memcpy(&value, bytes.data() + place * static_cast<int64_t>(sizeof(double)), sizeof(double));
      values.push_back(value);
    } else {
      float value = 0;
      std::memcpy(&value, bytes.data() + place * static_cast<int64_t>(sizeof(float)), sizeof(float));
      values.push_back(value);
    }
  }
  return values;
}

}  // namespace

bool IsExportedProgram(const std::string& path) { return HasEnding(path, ".pt2"); }

absl::StatusOr<Model> ReadModelFile(const std::string& path, const OpRegistry& registry, const ImportOptions& options) {
  if (!IsExportedProgram(path)) {
    if (options.loss.empty()) return LoadModel(path, registry);
    return InvalidArgument("{}: a graph has its loss; --loss={} is for exported programs (.pt2)", path, options.loss);
  }
  ASSIGN_OR_RETURN(ImportedModel imported, ImportModel(path, registry, options));
  return std::move(imported.model);
}

absl::StatusOr<ImportedModel> ImportModel(const std::string& path, const OpRegistry& registry,
                                          const ImportOptions& options) {
  ImportedModel imported;
  ASSIGN_OR_RETURN(imported.program, ReadExportedProgram(path));
  ExportedProgram& program = imported.program;
  std::optional<AddedLoss> added;
  if (!options.loss.empty()) {
    absl::StatusOr<AddedLoss> loss = AddLoss(options.loss, program);
    if (!loss.ok()) return WithContext(path, loss.status());
    added = *std::move(loss);
  }
  const std::vector<std::string> scalars = ScalarsOf(program);
  if (scalars.empty()) {
    return InvalidArgument(
        "{}: the module returns no scalar; expected its loss: export a module whose forward takes the labels and "
        "returns the loss, or add one to its predictions, for example with --loss=cross_entropy",
        path);
  }
  const std::vector<bool> needed = NeededNodes(program, scalars);
  RETURN_IF_ERROR(CheckBuffers(program, needed));
  Translator translator(program, registry, needed);
  translator.SetImages(ImagesOf(program));
  if (options.frozen_statistics) translator.AllowFrozenStatistics();
  RETURN_IF_ERROR(TranslateNodes(program, needed, translator));
  std::vector<std::string> names;
  for (const std::string& scalar : scalars) {
    const absl::StatusOr<Imported> value = translator.Get(scalar);
    if (!value.ok()) return WithContext(path, value.status());
    names.push_back(value->node);
  }
  if (added && added->of_classes) {
    absl::StatusOr<std::string> accuracy = Accuracy(*added, translator);
    if (!accuracy.ok()) return WithContext(path, accuracy.status());
    names.push_back(*std::move(accuracy));
  }
  const std::vector<std::string> metrics(names.begin() + 1, names.end());
  absl::StatusOr<Graph> graph = translator.assembler().Finish(names[0], metrics);
  if (!graph.ok()) return WithContext(path, graph.status());
  imported.model.graph = *std::move(graph);
  std::string name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  imported.model.name = CheckNodeName(name).ok() ? name : "exported";
  imported.states = translator.states();
  return imported;
}

absl::Status SaveWeights(const ImportedModel& imported, const std::string& path, std::optional<DType> floats) {
  const Graph& graph = imported.model.graph;
  const bool has_doubles = std::ranges::any_of(
      imported.program.weights, [](const auto& weight) { return weight.second.meta.type == ScalarType::kF64; });
  std::vector<std::string> bytes;
  std::vector<NamedTensor> tensors;
  bytes.reserve(imported.states.size());
  for (const ImportedState& state : imported.states) {
    const TensorType& type = graph.type(graph.Find(state.name));
    const bool is_double = state.values.empty()
                               ? imported.program.weights.at(state.name).meta.type == ScalarType::kF64
                               : has_doubles && IsFloating(type.dtype);  // constants go with the others
    const DType as_given = is_double ? DType::kF64 : type.dtype;
    const DType stored = floats && IsFloating(type.dtype) ? *floats : as_given;
    ASSIGN_OR_RETURN(std::string one, ReadWeight(imported, state, stored));
    bytes.push_back(std::move(one));
    tensors.push_back({state.name,
                       stored,
                       {type.shape.begin(), type.shape.end()},
                       std::as_bytes(std::span(bytes.back().data(), bytes.back().size()))});
  }
  return SaveSafetensors(path, tensors, {});
}

absl::Status SaveForPyTorch(const ImportedModel& imported, const SafetensorsFile& trained, const std::string& path) {
  const ExportedProgram& program = imported.program;
  std::map<std::string, const ImportedState*> states;
  for (const ImportedState& state : imported.states) states[state.name] = &state;
  std::vector<std::string> bytes;
  std::vector<NamedTensor> tensors;
  bytes.reserve(program.weights.size());
  for (const auto& [name, weight] : program.weights) {
    if (!weight.is_persistent) continue;
    const std::string* const used = UsedName(program, weight, states);
    const bool floats = IsFloat(weight.meta.type);
    const DType stored = !floats ? DType::kI32 : weight.meta.type == ScalarType::kF64 ? DType::kF64 : DType::kF32;
    std::vector<double> values;
    if (used == nullptr) {
      ASSIGN_OR_RETURN(values, StoredValues(program, name, InOrder(weight.meta.sizes.size())));
    } else {
      ASSIGN_OR_RETURN(values, TrainedValues(trained, *states.at(*used), weight.meta.shape()));
    }
    std::string one;
    for (const double value : values) AppendAs(value, stored, one);
    bytes.push_back(std::move(one));
    const Shape shape = weight.meta.shape();
    tensors.push_back({name,
                       stored,
                       {shape.begin(), shape.end()},
                       std::as_bytes(std::span(bytes.back().data(), bytes.back().size()))});
  }
  return SaveSafetensors(path, tensors, {});
}

absl::StatusOr<std::string> ReadWeight(const ImportedModel& imported, const ImportedState& state, DType type) {
  std::vector<double> values = state.values;
  if (values.empty()) {
    CHECK(imported.program.weights.contains(state.name));
    ASSIGN_OR_RETURN(values, StoredValues(imported.program, state.name, state.order));
  }
  std::string bytes;
  bytes.reserve(values.size() * static_cast<size_t>(SizeOf(type)));
  for (const double value : values) AppendAs(value, type, bytes);
  return bytes;
}

}  // namespace partita

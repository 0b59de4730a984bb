#include "importer/import_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "graph/proto_io/proto_io.h"
#include "graph/read/verify_model.h"
#include "graph/value/node_name.h"
#include "importer/added_loss.h"
#include "importer/onnx/onnx_program.h"
#include "importer/program/united_samples.h"
#include "importer/refusals.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/file_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using namespace torch_export;

constexpr size_t kMostReasons = 20;

bool IsOnnx(const std::string& path) { return HasEnding(path, ".onnx"); }

// By an op in place, or by one that takes a tensor for its result (out=).
std::string Written(const torch_export::Node& node) {
  return OptionalTensorOf(node, IsInPlace(node.target) ? "self" : "out");
}

// Whether the result may share the memory of what the op reads.
bool IsView(const torch_export::Node& node) {
  static const auto& views = *new std::set<std::string>{"_unsafe_view", "adjoint",
                                                        "alias",        "as_strided",
                                                        "atleast_1d",   "atleast_2d",
                                                        "atleast_3d",   "broadcast_to",
                                                        "chunk",        "contiguous",
                                                        "detach",       "diagonal",
                                                        "dsplit",       "expand",
                                                        "expand_as",    "flatten",
                                                        "hsplit",       "mH",
                                                        "mT",           "matrix_H",
                                                        "moveaxis",     "movedim",
                                                        "narrow",       "numpy_T",
                                                        "permute",      "positive",
                                                        "ravel",        "real",
                                                        "reshape",      "reshape_as",
                                                        "select",       "slice",
                                                        "split",        "split_with_sizes",
                                                        "squeeze",      "swapaxes",
                                                        "swapdims",     "t",
                                                        "tensor_split", "to",
                                                        "transpose",    "type_as",
                                                        "unbind",       "unflatten",
                                                        "unfold",       "unsafe_chunk",
                                                        "unsafe_split", "unsqueeze",
                                                        "view",         "view_as",
                                                        "vsplit"};
  const std::string op = OpOf(node.target);
  const bool drops = SwitchOf(node, "train", true) && NumberOf(node, "p", 0.5) != 0;
  return views.contains(op) || (op.ends_with("dropout") && !drops);
}

std::string Viewed(const torch_export::Node& node) {
  const std::string self = OptionalTensorOf(node, "self");
  return self.empty() ? OptionalTensorOf(node, "input") : self;
}

// By name of a value: the value whose memory it shares, as views and results of writes do; itself if it has its own.
std::map<std::string, std::string> RootsOf(const ExportedProgram& program) {
  std::map<std::string, std::string> roots;
  for (const torch_export::Node& node : program.nodes) {
    const std::string self = IsView(node) ? Viewed(node) : Written(node);
    const auto root = roots.find(self);
    for (const std::string& output : node.outputs) {
      roots[output] = self.empty() ? output : root == roots.end() ? self : root->second;
    }
  }
  return roots;
}

// What the losses and metrics need, writes into memory that is read behind them included. Steps of counters, checks of
// sizes, tensors without elements and masks that nothing reads are not among it.
std::vector<bool> NeededNodes(const ExportedProgram& program, const std::vector<std::string>& results) {
  const std::map<std::string, std::string> roots = RootsOf(program);
  std::set<std::string> needed, needed_roots;
  const auto has_elements = [&program](const std::string& name) {
    const auto meta = program.tensors.find(name);
    return meta == program.tensors.end() || !meta->second.empty();
  };
  const auto need = [&](const std::string& name) {
    if (!has_elements(name)) return;
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
               (!written.empty() && has_elements(written) &&
                needed_roots.contains(root == roots.end() ? written : root->second));
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
  if (!node.source.empty()) return node.source;
  const std::string name = node.outputs.empty() ? "" : node.outputs[0];
  return fmt::format("node {} ({}{})", Quoted(name), node.target, node.module.empty() ? "" : " of " + node.module);
}

// Numbers that vary with the batch are read where they count samples; elsewhere they would be those of the example.
absl::Status CheckNumbers(const torch_export::Node& node) {
  static const auto& read = *new std::set<std::string>{"mul.other",
                                                       "multiply.other",
                                                       "div.other",
                                                       "divide.other",
                                                       "true_divide.other",
                                                       "slice.start",
                                                       "slice.end",
                                                       "arange.end",
                                                       "split.split_size",
                                                       "repeat_interleave.output_size",
                                                       "arange.start",
                                                       "narrow.length",
                                                       "eye.n",
                                                       "eye.m",
                                                       "scalar_tensor.s",
                                                       "add.other",
                                                       "sub.other",
                                                       "rsub.other",
                                                       "eq.other",
                                                       "ne.other",
                                                       "lt.other",
                                                       "le.other",
                                                       "gt.other",
                                                       "ge.other",
                                                       "remainder.other",
                                                       "floor_divide.other",
                                                       "diagonal.offset",
                                                       "diag.diagonal"};
  for (const auto& [name, argument] : node.arguments) {
    if (!read.contains(OpOf(node.target) + "." + name)) RETURN_IF_ERROR(CheckFixed(node, name));
  }
  return absl::OkStatus();
}

// What mixes the rows of an operand reads a constant with all samples, and not the one that stands for all.
absl::Status SpreadConstants(Translator& translator, const torch_export::Node& node) {
  static const auto& mixing = *new std::set<std::string>{
      "softmax",  "_softmax", "log_softmax", "_log_softmax", "matmul", "mm",     "bmm",      "mv",
      "addmm",    "baddbmm",  "einsum",      "tril",         "triu",   "cumsum", "flip",     "roll",
      "norm",     "gather",   "slice",       "narrow",       "select", "cat",    "concat",   "concatenate",
      "diagonal", "diag",     "trace",       "topk",         "sort",   "prod",   "bilinear", "linalg_vector_norm",
      "dot"};
  if (!mixing.contains(OpOf(node.target))) return absl::OkStatus();
  for (const std::string& name : ReadsOf(node)) {
    if (translator.ConstantOf(name) == nullptr) continue;
    const absl::StatusOr<Imported> whole = translator.Whole(name, name);
    if (!whole.ok()) return InvalidArgument("it mixes samples of the constant {}", Quoted(name));
    translator.Bind(name, *whole);
  }
  return absl::OkStatus();
}

absl::Status TranslateNode(Translator& translator, const torch_export::Node& node) {
  if (!node.refusal.empty()) return InvalidArgument("{}", node.refusal);
  const Translate translate = FindTranslation(node.target);
  RETURN_IF_ERROR(CheckNumbers(node));
  if (translator.constants().Folds(node)) {
    const absl::Status folded = translator.constants().Fold(node);
    // What depends on how many samples there are is computed with the batch.
    if (folded.ok() || translate == nullptr || !Written(node).empty()) return folded;
  }
  if (translate == nullptr) return NoTranslation(node.target);
  if (node.outputs.empty() || node.outputs[0].empty()) return InvalidArgument("its result is no tensor");
  if (!translator.IsKnown(node.outputs[0])) return InvalidArgument("its result has no sizes");
  RETURN_IF_ERROR(SpreadConstants(translator, node));
  RETURN_IF_ERROR(translate(translator, node));
  ASSIGN_OR_RETURN(const Imported result, translator.Get(node.outputs[0]));
  if (result.rank() != translator.SizesOf(node.outputs[0]).size()) {
    return InvalidArgument("its result has {} dimensions here, and {} in the file", result.rank(),
                           translator.SizesOf(node.outputs[0]).size());
  }
  for (const std::string& output : node.outputs) RETURN_IF_ERROR(translator.CheckSizes(output));
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

absl::Status IsSpectralNorm(const ExportedProgram& program, const std::string& buffer) {
  return InvalidArgument(
      "{}: a spectral norm changes its buffer {} in each step, which is not done here; call eval() of the module's "
      "parametrizations before the export (of the module itself, for torch.nn.utils.spectral_norm): they keep their "
      "buffers then",
      program.path, Quoted(buffer));
}

// Of the two vectors of a spectral norm the other one; "": the buffer is none of them.
std::string OtherVector(const std::string& buffer) {
  if (!buffer.ends_with("_u") && !buffer.ends_with("_v")) return "";
  return buffer.substr(0, buffer.size() - 1) + (buffer.back() == 'u' ? 'v' : 'u');
}

// A spectral norm in training reads its vector v and writes u and v, which some exports leave out; one in evaluation
// reads both. `buffers`: names in the module, by value.
absl::Status CheckSpectralNorms(const ExportedProgram& program, const std::map<std::string, std::string>& buffers,
                                const std::set<std::string>& read) {
  for (const auto& [name, target] : buffers) {
    if (!target.ends_with("_v") || !read.contains(name)) continue;
    const auto pair = std::ranges::find(buffers, OtherVector(target), [](const auto& buffer) { return buffer.second; });
    if (pair == buffers.end() || read.contains(pair->first)) continue;
    return IsSpectralNorm(program, pair->second);
  }
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
    const auto names = [](const auto& one) { return one.second; };
    if (std::ranges::find(buffers, OtherVector(buffer->second), names) != buffers.end()) {
      return IsSpectralNorm(program, buffer->second);
    }
    return InvalidArgument(
        "{}: {}: it writes into the buffer {}; the only ones that training changes are running "
        "statistics of batch norms",
        program.path, Place(node), Quoted(buffer->second));
  }
  RETURN_IF_ERROR(CheckSpectralNorms(program, buffers, read));
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
    const bool follows = node.refusal.empty() && std::ranges::any_of(ReadsOf(node), [&](const std::string& name) {
                           return missing.contains(name);
                         });
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

// Nodes that cannot be read are named even where the first result has no sizes because of them.
absl::Status CheckPredictions(const ExportedProgram& program, const OpRegistry& registry) {
  if (program.outputs.empty() || program.tensors.contains(program.outputs[0])) return absl::OkStatus();
  const std::vector<bool> needed = NeededNodes(program, {program.outputs[0]});
  bool refused = false;
  for (size_t i = 0; i < needed.size(); ++i) refused |= needed[i] && !program.nodes[i].refusal.empty();
  if (!refused) return absl::OkStatus();
  Translator translator(program, registry, needed);
  translator.SetImages(ImagesOf(program));
  return TranslateNodes(program, needed, translator);
}

// The graph of the loss and the metrics. A parameter that reaches the loss along no way with gradients, as one that is
// read under torch.no_grad() alone, stays as it is: PyTorch's optimizers skip it.
absl::StatusOr<Graph> Finished(Translator& translator, const std::string& loss, const std::vector<std::string>& metrics,
                               const OpRegistry& registry) {
  const Graph& graph = translator.assembler().graph();
  const std::vector<std::string> still = ParametersWithoutGradient(graph, graph.Find(loss));
  std::vector<NodeDescription> nodes = Describe(graph);
  const std::string &parameter = registry.Get(Role::kParameter).name, &state = registry.Get(Role::kState).name;
  const auto parameters = static_cast<size_t>(std::ranges::count(nodes, parameter, &NodeDescription::op));
  if (still.empty() || still.size() == parameters) return translator.assembler().Finish(loss, metrics);
  for (NodeDescription& node : nodes) {
    if (std::ranges::find(still, node.name) != still.end()) node.op = state;
  }
  return BuildGraph(nodes, loss, metrics, registry);
}

}  // namespace

bool IsExportedProgram(const std::string& path) { return HasEnding(path, ".pt2") || IsOnnx(path); }

absl::StatusOr<Model> ReadModelFile(const std::string& path, const OpRegistry& registry, const ImportOptions& options) {
  if (!IsExportedProgram(path)) {
    RETURN_IF_ERROR(CheckHasGraph(path));
    if (options.loss.empty()) return LoadModel(path, registry);
    return InvalidArgument("{}: a graph has its loss; --loss={} is for exported programs (.pt2, .onnx)", path,
                           options.loss);
  }
  ASSIGN_OR_RETURN(ImportedModel imported, ImportModel(path, registry, options));
  return std::move(imported.model);
}

absl::StatusOr<ImportedModel> ImportModel(const std::string& path, const OpRegistry& registry,
                                          const ImportOptions& options) {
  ImportedModel imported;
  ASSIGN_OR_RETURN(imported.program,
                   IsOnnx(path) ? onnx::ReadOnnxProgram(path, options.frozen_statistics) : ReadExportedProgram(path));
  UniteSamples(imported.program);
  ExportedProgram& program = imported.program;
  RETURN_IF_ERROR(CheckPredictions(program, registry));
  std::optional<AddedLoss> added;
  if (!options.loss.empty()) {
    absl::StatusOr<AddedLoss> loss = AddLoss(options.loss, program);
    if (!loss.ok()) return WithContext(path, loss.status());
    added = *std::move(loss);
  }
  const std::vector<std::string> scalars = ScalarsOf(program);
  if (scalars.empty()) {
    return InvalidArgument(
        "{}: the {} returns no scalar; expected its loss: {}add one to its predictions, for example with "
        "--loss=cross_entropy",
        path, IsOnnx(path) ? "model" : "module",
        IsOnnx(path) ? "" : "export a module whose forward takes the labels and returns the loss, or ");
  }
  const std::vector<bool> needed = NeededNodes(program, scalars);
  RETURN_IF_ERROR(CheckBuffers(program, needed));
  Translator translator(program, registry, needed);
  const std::set<std::string> images = ImagesOf(program);
  translator.SetImages(images);
  for (const Input& input : program.inputs) {
    const bool user = input.kind == InputKind::kUser && images.contains(input.name);
    if (user && translator.SizesOf(input.name).size() == 4) imported.channels_last.insert(input.name);
  }
  if (options.frozen_statistics) translator.AllowFrozenStatistics();
  RETURN_IF_ERROR(TranslateNodes(program, needed, translator));
  std::vector<std::string> names;
  for (const std::string& scalar : scalars) {
    const absl::StatusOr<Imported> value = translator.Get(scalar);
    if (!value.ok()) return WithContext(path, value.status());
    names.push_back(value->node);
  }
  if (added) {
    absl::StatusOr<std::vector<std::string>> metrics = MetricsOf(*added, translator);
    if (!metrics.ok()) return WithContext(path, metrics.status());
    names.insert(names.end(), metrics->begin(), metrics->end());
  }
  const std::vector<std::string> metrics(names.begin() + 1, names.end());
  absl::StatusOr<Graph> graph = Finished(translator, names[0], metrics, registry);
  if (!graph.ok()) return WithContext(path, graph.status());
  imported.model.graph = *std::move(graph);
  std::string name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.rfind('.'));
  imported.model.name = CheckNodeName(name).ok() ? name : "exported";
  imported.states = translator.states();
  return imported;
}

}  // namespace partita

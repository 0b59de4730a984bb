#include "graph/lower/split_at_halos.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "graph/ir/node_flops.h"
#include "graph/ir/op_definition.h"
#include "graph/value/interior.h"

namespace partita {
namespace {

constexpr int64_t kLeastPixels = 128;  // of the interior for each part

// The last launch that writes each tensor; nullopt: it is there before the step.
std::vector<std::optional<int>> LastWriters(const LocalProgram& program) {
  std::vector<std::optional<int>> writer(program.tensors.size());
  for (size_t l = 0; l < program.launches.size(); ++l) {
    VisitTensors(program.launches[l], [&](TensorId tensor, bool write) {
      if (write) writer[tensor] = static_cast<int>(l);
    });
  }
  return writer;
}

// An input from which outputs can be made: what a rank holds before an exchange, or after it.
struct Source {
  Operand operand;
  Box box;
  int until = 0;  // the launch that waits for the next exchange; for the last source the node itself
};

class HaloSplitting {
 public:
  HaloSplitting(LocalProgram& program, const Graph& entry, const LocalGraph& local, const KernelCatalogue& kernels,
                const HaloOverlap& overlap)
      : program_(program), graph_(entry), local_(local), kernels_(kernels), overlap_(overlap) {}

  void Run() {
    if (overlap_.mode == OverlapHalo::kOff || !FindAssemblies()) return;
    writer_ = LastWriters(program_);
    early_.resize(program_.launches.size());
    for (size_t l = 0; l < program_.launches.size(); ++l) {
      const auto* const kernel = std::get_if<LocalKernel>(&program_.launches[l].work);
      if (kernel != nullptr && kernel->node.op->windowed >= 0) Split(static_cast<int>(l));
    }
    Rebuild();
  }

 private:
  // The launches that bring ghosts. False if there are none.
  bool FindAssemblies() {
    assembly_of_.assign(graph_.nodes().size(), std::nullopt);
    bool any = false;
    for (size_t l = 0; l < program_.launches.size(); ++l) {
      const LocalLaunch& launch = program_.launches[l];
      if (!launch.brings_ghosts) continue;
      assembly_of_[launch.node] = static_cast<int>(l);
      any = true;
    }
    return any;
  }

  const LocalTensor& Held(ValueId value) const { return *local_.values[value]; }

  // From the rank's own block to what the node reads; empty if the last is the only one that is there in time.
  std::vector<Source> SourcesOf(int l) const {
    const LocalLaunch& launch = program_.launches[l];
    const Node& node = graph_.node(launch.node);
    ValueId value = node.inputs[node.op->windowed];
    std::vector<Source> sources = {{{program_.tensor_of[value], 0, value}, Held(value).box, l}};
    while (graph_.node(graph_.value(value).producer).op->move == MoveKind::kHalo) {
      const NodeId exchange = graph_.value(value).producer;
      value = graph_.node(exchange).inputs[0];
      if (!local_.Holds(value)) break;
      const std::optional<int> assembly = assembly_of_[exchange];
      if (!assembly || !OthersAreThere(l, *assembly)) continue;
      sources.push_back({{program_.tensor_of[value], 0, value}, Held(value).box, *assembly});
    }
    if (sources.size() == 1) return {};
    std::reverse(sources.begin(), sources.end());
    return sources;
  }

  // Whether all inputs but the windowed one are made before launch `before`.
  bool OthersAreThere(int l, int before) const {
    const Node& node = graph_.node(program_.launches[l].node);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (static_cast<int>(i) == node.op->windowed || node.inputs[i] == kNoValue) continue;
      const TensorId tensor = program_.tensor_of[node.inputs[i]];
      if (tensor != kNoTensor && writer_[tensor] >= before) return false;  // nullopt is less than any launch
    }
    return true;
  }

  // The windows of the input's dimensions; none where it is not split by windows.
  std::vector<std::optional<Windows>> WindowsOf(const Node& node) const {
    const ValueId value = node.inputs[node.op->windowed];
    std::vector<std::optional<Windows>> windows(graph_.type(value).shape.size());
    for (const AxisLayout& axis : graph_.layout(value)) {
      if (axis.split() && axis.windows) windows[axis.dimension] = axis.windows;
    }
    return windows;
  }

  // The outputs that can be made from what a source holds.
  static Box Reach(const std::vector<std::optional<Windows>>& windows, const LocalTensor& x, const Box& held,
                   const Box& outputs) {
    Box reach = outputs;
    for (size_t d = 0; d < windows.size(); ++d) {
      if (!windows[d]) continue;
      const Range all{outputs.offset[d], outputs.offset[d] + outputs.size[d]};
      const Range own{held.offset[d], held.offset[d] + held.size[d]};
      const Range interior = InteriorOf(*windows[d], all, own, x.global[d]);
      reach.offset[d] = interior.begin;
      reach.size[d] = interior.size();
    }
    return reach;
  }

  // What the windows of `outputs` read of a source.
  static Box ReadOf(const std::vector<std::optional<Windows>>& windows, const Box& held, const Box& outputs) {
    Box read = held;
    for (size_t d = 0; d < windows.size(); ++d) {
      if (!windows[d]) continue;
      const Range span = SpanOf(*windows[d], {outputs.offset[d], outputs.offset[d] + outputs.size[d]});
      const Range part = Overlap(span, {held.offset[d], held.offset[d] + held.size[d]});
      read.offset[d] = part.begin;
      read.size[d] = part.size();
    }
    return read;
  }

  struct Part {
    LocalNode node;
    KernelChoice choice;
    Operand source;
    int before = 0;  // launch
  };

  // The parts of the node, which `kernel` computes, the interior first; none if it stays whole.
  std::vector<Part> PartsOf(const LocalNode& whole, const std::string& kernel, const Node& node,
                            const std::vector<Source>& sources) const {
    const std::vector<std::optional<Windows>> windows = WindowsOf(node);
    const LocalTensor& x = *whole.inputs[node.op->windowed];
    const Box& outputs = whole.outputs[0].box;
    std::vector<Part> parts;
    std::optional<Box> done;
    for (const Source& source : sources) {
      const bool last = &source == &sources.back();
      const Box reach = last ? outputs : Reach(windows, x, source.box, outputs);
      if (reach.empty()) continue;
      if (!done && last) return {};
      const std::vector<Box> boxes = done ? Around(*done, reach) : std::vector<Box>{reach};
      for (const Box& box : boxes) {
        Part part{whole, {}, source.operand, source.until};
        part.node.outputs[0].box = box;
        LocalTensor& read = *part.node.inputs[node.op->windowed];
        read.box = ReadOf(windows, source.box, box);
        if (read.box.empty()) return {};
        for (const auto& input : whole.inputs) part.node.within.push_back(input ? input->box : Box{});
        part.node.within[node.op->windowed] = source.box;
        part.node.within.push_back(outputs);
        absl::StatusOr<KernelChoice> choice = kernels_.Choose(part.node);
        if (!choice.ok() || choice->kernel != kernel) return {};
        part.choice = *std::move(choice);
        parts.push_back(std::move(part));
      }
      done = reach;
    }
    return parts;
  }

  bool Pays(const LocalNode& whole, const std::vector<Part>& parts) const {
    if (overlap_.mode == OverlapHalo::kOn) return true;
    const LocalTensor& interior = parts.front().node.outputs[0];
    const int64_t pixels = interior.elements() / interior.shape().back();
    return 2 * interior.elements() >= whole.outputs[0].elements() &&
           FlopsOf(parts.front().node) >= overlap_.hiding_flops &&
           pixels >= kLeastPixels * static_cast<int64_t>(parts.size());
  }

  void Split(int l) {
    const auto& kernel = std::get<LocalKernel>(program_.launches[l].work);
    if (kernel.node.members > 1 || !kernel.node.within.empty() || program_.launches[l].node < 0) return;
    const std::vector<Source> sources = SourcesOf(l);
    if (sources.empty()) return;
    const Node& node = graph_.node(program_.launches[l].node);
    std::vector<Part> parts = PartsOf(kernel.node, kernel.choice.kernel, node, sources);
    if (parts.empty() || !Pays(kernel.node, parts)) return;
    const LocalLaunch whole = program_.launches[l];
    for (size_t p = 0; p < parts.size(); ++p) {
      const std::string name = p == 0 ? "/interior" : parts.size() == 2 ? "/boundary" : "/boundary" + std::to_string(p);
      early_[parts[p].before].push_back(LaunchOf(whole, node, std::move(parts[p]), name));
    }
    replaced_.push_back(l);
  }

  LocalLaunch LaunchOf(const LocalLaunch& whole, const Node& node, Part part, const std::string& suffix) {
    LocalLaunch launch = whole;
    launch.name += suffix;
    launch.in_place.clear();
    auto& kernel = std::get<LocalKernel>(launch.work);
    kernel.inputs[node.op->windowed] = part.source;
    kernel.node = std::move(part.node);
    kernel.choice = std::move(part.choice);
    kernel.workspace = program_.AddWorkspace(kernel.choice, launch.name);
    return launch;
  }

  // Zeros and own elements, which wait for nobody; what is left of the assembly are the ghosts.
  std::optional<LocalLaunch> TakeOwn(LocalLaunch& assembly) const {
    const TensorId own = program_.tensor_of[graph_.node(assembly.node).inputs[0]];
    auto& all = std::get<LocalCopies>(assembly.work);
    LocalCopies early{std::exchange(all.zeroed, kNoTensor), {}};
    std::erase_if(all.copies, [&](const LocalCopy& copy) {
      if (copy.from == own) early.copies.push_back(copy);
      return copy.from == own;
    });
    if (early.zeroed == kNoTensor && early.copies.empty()) return std::nullopt;
    LocalLaunch first = assembly;
    first.name += "/own";
    first.work = std::move(early);
    return first;
  }

  void Rebuild() {
    if (replaced_.empty()) return;
    std::vector<LocalLaunch> launches;
    launches.reserve(program_.launches.size() + 4 * replaced_.size());
    auto replaced = replaced_.begin();
    for (size_t l = 0; l < program_.launches.size(); ++l) {
      LocalLaunch& launch = program_.launches[l];
      const bool split = replaced != replaced_.end() && *replaced == static_cast<int>(l);
      if (split) ++replaced;
      if (!split && !early_[l].empty() && std::holds_alternative<LocalCopies>(launch.work)) {
        if (std::optional<LocalLaunch> own = TakeOwn(launch)) launches.push_back(*std::move(own));
      }
      std::move(early_[l].begin(), early_[l].end(), std::back_inserter(launches));
      if (!split) launches.push_back(std::move(launch));
    }
    program_.launches = std::move(launches);
  }

  LocalProgram& program_;
  const Graph& graph_;
  const LocalGraph& local_;
  const KernelCatalogue& kernels_;
  const HaloOverlap overlap_;
  std::vector<std::optional<int>> assembly_of_;  // by node: the launch that waits for what the exchange brings
  std::vector<std::optional<int>> writer_;       // by tensor
  std::vector<std::vector<LocalLaunch>> early_;  // by launch: parts that come before it, or in its place
  std::vector<int> replaced_;                    // launches that became parts, ascending
};

}  // namespace

void SplitAtHalos(LocalProgram& program, const Graph& entry, const LocalGraph& local, const KernelCatalogue& kernels,
                  const HaloOverlap& overlap) {
  HaloSplitting(program, entry, local, kernels, overlap).Run();
}

}  // namespace partita

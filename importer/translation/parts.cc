// Ops that cut parts out of a dimension.
#include <algorithm>
#include <optional>
#include <vector>

#include "importer/translation/arithmetic.h"
#include "importer/translation/moves.h"
#include "importer/translation/translations.h"
#include "runtime/base/status.h"

namespace partita::torch_export {
namespace {

// Without a dimension of size 1.
absl::StatusOr<Imported> WithoutOne(Translator& translator, const Imported& value, int dimension,
                                    const std::string& name) {
  std::vector<bool> dropped(value.rank(), false);
  dropped[static_cast<size_t>(dimension)] = true;
  return Dropped(translator, value, dropped, name);
}

// How many times the batch a number is; none: no multiple of it.
std::optional<int64_t> Batches(const Translator& translator, const Size& size) {
  if (size.value == 0 && size.symbol.empty()) return 0;
  const std::optional<double> each = size.symbol.empty() ? std::nullopt : translator.PerSample(size);
  return each ? std::optional(static_cast<int64_t>(*each)) : std::nullopt;
}

// A slice of a dimension that is several times the batch, where it begins and ends behind whole batches.
std::optional<PartOfBatch> BatchesOf(const Translator& translator, const Node& node, const Size& size) {
  const std::optional<int64_t> of = Batches(translator, size);
  if (!of || *of < 2 || IntegerOf(node, "step", 1) != 1) return std::nullopt;
  const auto bound = [&](const char* argument, int64_t otherwise) -> std::optional<int64_t> {
    const auto found = node.arguments.find(argument);
    const auto* const at = found == node.arguments.end() ? nullptr : std::get_if<Size>(&found->second);
    if (at == nullptr || (at->symbol.empty() && at->value > size.value)) return otherwise;
    return Batches(translator, *at);
  };
  const std::optional<int64_t> begin = bound("start", 0), end = bound("end", *of);
  if (!begin || !end || *begin >= *end) return std::nullopt;
  return PartOfBatch{*of, *begin, std::min(*end, *of) - *begin};
}

// Samples are counted from the first one: from the last one they are others in each batch.
absl::Status CheckSamples(Translator& translator, const Node& node, const std::string& self, int dimension) {
  const Size& size = translator.SizeOf(self, static_cast<size_t>(dimension));
  if (size.symbol.empty()) return absl::OkStatus();
  const int64_t start = IntegerOf(node, "start", 0), end = IntegerOf(node, "end", size.value);
  const auto limit = node.arguments.find("end");
  const auto* const symbolic = limit == node.arguments.end() ? nullptr : std::get_if<Size>(&limit->second);
  const bool to_the_end = end >= size.value, of_batch = symbolic != nullptr && !symbolic->symbol.empty();
  const bool whole = start == 0 && to_the_end && (!of_batch || symbolic->symbol == size.symbol);
  const bool first = start >= 0 && end >= 0 && !to_the_end && !of_batch;
  if (IntegerOf(node, "index", 0) >= 0 && (whole || first)) return absl::OkStatus();
  return InvalidArgument(
      "it takes samples counted from the end of the batch; those counted from its beginning are read");
}

absl::Status Slice(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), value.rank()));
  const Size& size = translator.SizeOf(self, static_cast<size_t>(dimension));
  if (const std::optional<PartOfBatch> part = BatchesOf(translator, node, size)) {
    ASSIGN_OR_RETURN(Imported cut, CutBatch(translator, value, dimension, *part, node.outputs[0]));
    translator.Bind(node.outputs[0], std::move(cut));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckSamples(translator, node, self, dimension));
  const int64_t all = size.value;
  const auto place = [all](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + all : at, 0, all); };
  const int64_t begin = place(IntegerOf(node, "start", 0)), end = place(IntegerOf(node, "end", all));
  const int64_t step = IntegerOf(node, "step", 1);
  if (step < 1) return InvalidArgument("it takes elements in steps of {}", step);
  if (step == 1) {
    ASSIGN_OR_RETURN(Imported cut, Cut(translator, value, dimension, begin, end - begin, node.outputs[0]));
    translator.Bind(node.outputs[0], std::move(cut));
    return absl::OkStatus();
  }
  std::vector<int64_t> indices;
  for (int64_t i = begin; i < end; i += step) indices.push_back(i);
  ASSIGN_OR_RETURN(Imported taken, Taken(translator, value, dimension, indices, node.outputs[0]));
  translator.Bind(node.outputs[0], std::move(taken));
  return absl::OkStatus();
}

absl::Status Narrow(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), value.rank()));
  const int64_t all = translator.SizeOf(self, static_cast<size_t>(dimension)).value,
                start = IntegerOf(node, "start", 0);
  RETURN_IF_ERROR(CheckSamples(translator, node, self, dimension));
  ASSIGN_OR_RETURN(Imported cut, Cut(translator, value, dimension, start < 0 ? start + all : start,
                                     IntegerOf(node, "length", 0), node.outputs[0]));
  translator.Bind(node.outputs[0], std::move(cut));
  return absl::OkStatus();
}

// The sample that is so many before the end of the batch: the sum of all, of which the others count as 0.
absl::Status SelectFromEnd(Translator& translator, const Node& node, const Imported& value, int dimension,
                           const Size& size) {
  Formula f(translator, node.outputs[0]);
  const auto at = static_cast<size_t>(std::ranges::find(value.order, dimension) - value.order.begin());
  const std::string samples = f.Times(f.Samples(), translator.PerSample(size).value_or(1));
  const std::string place = f.Plus(samples, static_cast<double>(IntegerOf(node, "index", -1)));
  const std::string chosen = f.Compared("eq", f.Numbers(size, value.rank(), at), place);
  const std::string kept = f("masked", {f.Floats(value.node), chosen});
  RETURN_IF_ERROR(f.status());
  ASSIGN_OR_RETURN(const Imported sum, SummedOver(translator, {kept, value.order}, dimension, false, f.name()));
  return Bound(f, sum.node, sum.order);
}

absl::Status Select(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), value.rank()));
  const Size& size = translator.SizeOf(self, static_cast<size_t>(dimension));
  const int64_t all = size.value, index = IntegerOf(node, "index", 0);
  const std::string& name = node.outputs[0];
  if (index < 0 && translator.PerSample(size)) return SelectFromEnd(translator, node, value, dimension, size);
  RETURN_IF_ERROR(CheckSamples(translator, node, self, dimension));
  ASSIGN_OR_RETURN(const Imported cut,
                   Cut(translator, value, dimension, index < 0 ? index + all : index, 1, name + ".slice"));
  ASSIGN_OR_RETURN(Imported dropped, WithoutOne(translator, cut, dimension, name));
  translator.Bind(name, std::move(dropped));
  return absl::OkStatus();
}

// chunk, split, split_with_sizes, tensor_split, unbind: the results' sizes say where.
absl::Status Split(Translator& translator, const Node& node) {
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", 0), value.rank()));
  const bool unbinds = OpOf(node.target) == "unbind";
  const std::optional<int64_t> batches = Batches(translator, translator.SizeOf(self, static_cast<size_t>(dimension)));
  int64_t begin = 0;
  for (const std::string& name : node.outputs) {
    if (!translator.IsKnown(name)) return InvalidArgument("a result has no sizes");
    if (batches && *batches > 1 && !unbinds) {
      const std::optional<int64_t> part = Batches(translator, translator.SizeOf(name, static_cast<size_t>(dimension)));
      if (!part) return InvalidArgument("its parts are no multiples of the batch");
      ASSIGN_OR_RETURN(Imported cut, CutBatch(translator, value, dimension, {*batches, begin, *part}, name));
      begin += *part;
      translator.Bind(name, std::move(cut));
      continue;
    }
    const int64_t size = unbinds ? 1 : translator.SizeOf(name, static_cast<size_t>(dimension)).value;
    ASSIGN_OR_RETURN(Imported part, Cut(translator, value, dimension, begin, size, unbinds ? name + ".slice" : name));
    begin += size;
    if (unbinds) {
      ASSIGN_OR_RETURN(part, WithoutOne(translator, part, dimension, name));
    }
    translator.Bind(name, std::move(part));
  }
  return absl::OkStatus();
}

// The first half of a dimension times the sigmoid of the second.
absl::Status GatedLinear(Translator& translator, const Node& node) {
  const std::string& name = node.outputs[0];
  ASSIGN_OR_RETURN(const std::string self, TensorOf(node, "self"));
  ASSIGN_OR_RETURN(const Imported value, translator.Get(self));
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node, "dim", -1), value.rank()));
  const int64_t half = translator.SizeOf(self, static_cast<size_t>(dimension)).value / 2;
  ASSIGN_OR_RETURN(Imported x, Cut(translator, value, dimension, 0, half, name + ".first"));
  ASSIGN_OR_RETURN(Imported gate, Cut(translator, value, dimension, half, half, name + ".second"));
  ASSIGN_OR_RETURN(gate.node, translator.Add(name + ".gate", "sigmoid", {gate.node}));
  ASSIGN_OR_RETURN(x.node, translator.Add(name, "mul", {x.node, gate.node}));
  translator.Bind(name, std::move(x));
  return absl::OkStatus();
}

}  // namespace

void AddParts(Translations& translations) {
  translations.insert({{"narrow", Narrow},
                       {"slice", Slice},
                       {"select", Select},
                       {"chunk", Split},
                       {"split", Split},
                       {"split_with_sizes", Split},
                       {"tensor_split", Split},
                       {"unbind", Split},
                       {"glu", GatedLinear}});
}

}  // namespace partita::torch_export

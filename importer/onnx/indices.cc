// Ops that take elements at places, and what is padded.
#include <algorithm>
#include <cmath>

#include "graph/value/node_name.h"
#include "graph/value/shape.h"
#include "importer/onnx/lowering.h"
#include "importer/program/stored_elements.h"

namespace partita::onnx {
namespace {

Size AsSize(size_t number) { return {static_cast<int64_t>(number)}; }

// Places that are numbers count from the end where they are below 0.
absl::StatusOr<Known> Counted(Known places, int64_t size) {
  for (Number& place : places.numbers) {
    if (place.of_batch) return InvalidArgument("it takes the place that the number of samples names");
    if (place.value < static_cast<double>(-size) || place.value >= static_cast<double>(size)) {
      return InvalidArgument("index {} of {} elements", place.value, size);
    }
    if (place.value < 0) place.value += static_cast<double>(size);
  }
  return places;
}

absl::Status Gather(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const size_t axis, l.Axis("axis", 0, x.rank()));
  if (!l.Has(1)) return InvalidArgument("it has no indices");
  const std::optional<Known> known = l.values().Elements(l.node().inputs[1]);
  Sizes sizes = x.sizes;
  if (known && known->numbers.size() == 1 && known->shape.empty()) {
    const double index = known->numbers[0].value;
    sizes.erase(sizes.begin() + static_cast<int64_t>(axis));
    if (!x.sizes[axis].symbol.empty() && index < 0) return InvalidArgument("it takes a sample counted from the end");
    ASSIGN_OR_RETURN(const Known place, Counted(*known, x.sizes[axis].value));
    return l.Result(
        "select",
        {{"self", NameOf(x)}, {"dim", AsSize(axis)}, {"index", Size{static_cast<int64_t>(place.numbers[0].value)}}},
        x.type, std::move(sizes));
  }
  Value indices;
  if (known) {
    ASSIGN_OR_RETURN(const Known places, Counted(*known, x.sizes[axis].value));
    ASSIGN_OR_RETURN(indices, l.values().AddConstant(l.node().outputs[0] + ".places", places));
  } else {
    ASSIGN_OR_RETURN(indices, l.In(1));
  }
  sizes.erase(sizes.begin() + static_cast<int64_t>(axis));
  sizes.insert(sizes.begin() + static_cast<int64_t>(axis), indices.sizes.begin(), indices.sizes.end());
  if (known && indices.rank() == 1) {
    return l.Result("index_select", {{"self", NameOf(x)}, {"dim", AsSize(axis)}, {"index", NameOf(indices)}}, x.type,
                    std::move(sizes));
  }
  if (axis == 0 && x.rank() == 2 && torch_export::IsFloat(x.type) && IsFixed(x.sizes)) {
    return l.Result("embedding", {{"weight", NameOf(x)}, {"indices", NameOf(indices)}}, x.type, std::move(sizes));
  }
  torch_export::TensorNames names{std::vector<std::string>(axis, "")};
  names.names.push_back(indices.name);
  return l.Result("index", {{"self", NameOf(x)}, {"indices", names}}, x.type, std::move(sizes));
}

// The rows of the indices name places along the first dimensions, one for each.
absl::Status GatherND(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value indices, l.In(1));
  if (l.Integer("batch_dims", 0) != 0) return InvalidArgument("it gathers sample by sample (batch_dims)");
  if (indices.rank() == 0 || !indices.sizes.back().symbol.empty()) return InvalidArgument("its indices are no rows");
  const int64_t count = indices.sizes.back().value;
  if (count < 1 || count > static_cast<int64_t>(x.rank())) return InvalidArgument("it names {} dimensions", count);
  const Sizes block(indices.sizes.begin(), indices.sizes.end() - 1);
  const std::vector<Value>* const columns = l.values().ColumnsOf(l.node().inputs[1]);
  torch_export::TensorNames names;
  for (int64_t i = 0; i < count; ++i) {
    if (columns != nullptr) {
      names.names.push_back(l.Reshaped((*columns)[static_cast<size_t>(i)], block).name);
      continue;
    }
    const Size last = AsSize(indices.rank() - 1);
    names.names.push_back(
        l.Add("select", {{"self", NameOf(indices)}, {"dim", last}, {"index", Size{i}}}, indices.type, block).name);
  }
  Sizes sizes = block;
  sizes.insert(sizes.end(), x.sizes.begin() + count, x.sizes.end());
  return l.Result("index", {{"self", NameOf(x)}, {"indices", names}}, x.type, std::move(sizes));
}

// Which elements of dimensions `first` to `count` of x the rows of indices name, each as one number. `samples` times
// the same where `first` is 1: the rows then begin with the samples, in their order.
absl::StatusOr<std::vector<int64_t>> WrittenPlaces(const Known& indices, const Value& x, size_t first, size_t count,
                                                   int64_t samples) {
  const size_t rows = indices.numbers.size() / count, each = rows / static_cast<size_t>(samples);
  if (rows == 0 || each * static_cast<size_t>(samples) != rows) {
    return InvalidArgument("it writes into {} places of {} samples", rows, samples);
  }
  std::vector<int64_t> places;
  for (size_t row = 0; row < rows; ++row) {
    int64_t place = 0;
    for (size_t d = 0; d < count; ++d) {
      const Number& number = indices.numbers[row * count + d];
      const int64_t size = d < first ? samples : x.sizes[d].value;
      const auto index = static_cast<int64_t>(number.value) + (number.value < 0 ? size : 0);
      if (number.of_batch || index < 0 || index >= size) return InvalidArgument("index {} of {}", number.value, size);
      if (d < first && index != static_cast<int64_t>(row / each)) return InvalidArgument("it writes into some samples");
      if (d >= first) place = place * size + index;
    }
    if (row < each) places.push_back(place);
    if (places[row % each] != place) return InvalidArgument("it writes into other places of each sample");
  }
  return places;
}

// Writes updates at constant places: those elements of [x, updates] are taken that were written last.
absl::Status ScatterND(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const Value updates, l.In(2));
  if (const std::string reduction = l.Text("reduction", "none"); reduction != "none") {
    return InvalidArgument("it combines what it writes with what is there (reduction {})", Quoted(reduction));
  }
  const std::optional<Known> indices = l.values().Elements(l.node().inputs[1]);
  if (!indices || indices->shape.empty()) {
    return InvalidArgument("its places depend on data or on the number of samples; export it for a fixed batch");
  }
  const int64_t count = indices->shape.back();
  if (count < 1 || count > static_cast<int64_t>(x.rank())) return InvalidArgument("it names {} dimensions", count);
  const size_t first = x.sizes[0].symbol.empty() ? 0 : 1;
  const int64_t samples = first == 0 ? 1 : std::max<int64_t>(l.values().file_batch(), 1);
  if (first == 1 && updates.rank() > 0 && updates.sizes[0].symbol.empty()) {
    return InvalidArgument("what it writes is not of each sample");
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> written,
                   WrittenPlaces(*indices, x, first, static_cast<size_t>(count), samples));
  constexpr int64_t kMostPlaces = int64_t{1} << 20;
  int64_t all = 1;
  for (size_t d = first; d < static_cast<size_t>(count); ++d) {
    if (x.sizes[d].value > kMostPlaces / all)
      return InvalidArgument("it writes into one of over {} places", kMostPlaces);
    all *= x.sizes[d].value;
  }
  Known taken{ScalarType::kI64, {all}, {}};
  for (int64_t place = 0; place < all; ++place) taken.numbers.push_back({static_cast<double>(place)});
  for (size_t i = 0; i < written.size(); ++i) {
    taken.numbers[static_cast<size_t>(written[i])].value = static_cast<double>(all) + static_cast<double>(i);
  }
  const auto with = [&](int64_t places) {
    Sizes sizes(x.sizes.begin(), x.sizes.begin() + static_cast<int64_t>(first));
    sizes.push_back({places});
    sizes.insert(sizes.end(), x.sizes.begin() + count, x.sizes.end());
    return sizes;
  };
  const auto added = static_cast<int64_t>(written.size());
  const Value before = l.Reshaped(x, with(all)), behind = l.Reshaped(updates, with(added));
  const torch_export::TensorNames both{{before.name, behind.name}};
  const Value joined = l.Add("cat", {{"tensors", both}, {"dim", AsSize(first)}}, x.type, with(all + added));
  ASSIGN_OR_RETURN(const Value places, l.values().AddConstant(l.node().outputs[0] + ".places", taken));
  const Value selected = l.Add(
      "index_select", {{"self", NameOf(joined)}, {"dim", AsSize(first)}, {"index", NameOf(places)}}, x.type, with(all));
  return l.Result("view", {{"self", NameOf(selected)}}, x.type, x.sizes);
}

absl::Status GatherElements(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const size_t axis, l.Axis("axis", 0, x.rank()));
  const std::optional<Known> known = l.values().Elements(l.node().inputs[1]);
  Value indices;
  if (known) {
    ASSIGN_OR_RETURN(const Known places, Counted(*known, x.sizes[axis].value));
    ASSIGN_OR_RETURN(indices, l.values().AddConstant(l.node().outputs[0] + ".places", places));
  } else {
    ASSIGN_OR_RETURN(indices, l.In(1));
  }
  if (indices.rank() != x.rank()) return InvalidArgument("its indices have {} dimensions", indices.rank());
  return l.Result("gather", {{"self", NameOf(x)}, {"dim", AsSize(axis)}, {"index", NameOf(indices)}}, x.type,
                  indices.sizes);
}

absl::Status OneHot(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const double depth, l.Scalar(1));
  ASSIGN_OR_RETURN(const std::vector<Number> pair, l.Numbers(2));
  ASSIGN_OR_RETURN(const size_t axis, l.Axis("axis", -1, x.rank() + 1));
  if (pair.size() != 2 || pair[0].value != 0 || pair[1].value != 1 || axis != x.rank() || depth < 1 || depth > 4096) {
    return InvalidArgument("a one-hot of {} classes along axis {}; expected 0 and 1 along the last, of up to 4096",
                           depth, axis);
  }
  ASSIGN_OR_RETURN(const Value values, l.In(2));
  Sizes sizes = x.sizes;
  sizes.push_back({static_cast<int64_t>(depth)});
  const Value hot = l.Add("one_hot", {{"self", NameOf(x)}, {"num_classes", Size{static_cast<int64_t>(depth)}}},
                          ScalarType::kI64, sizes);
  if (values.type == ScalarType::kI64) return l.Pass(hot);
  return l.Result("_to_copy", {{"self", NameOf(hot)}, {"dtype", values.type}}, values.type, std::move(sizes));
}

absl::Status Pad(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  IntList pads = l.List("pads");
  if (l.Has(1)) {
    ASSIGN_OR_RETURN(pads, l.Integers(1));
  }
  double value = l.Float("value", 0);
  if (l.Has(2)) {
    ASSIGN_OR_RETURN(value, l.Scalar(2));
  }
  ASSIGN_OR_RETURN(std::vector<size_t> axes, l.Axes(3, x.rank()));
  if (axes.empty()) {
    for (size_t d = 0; d < x.rank(); ++d) axes.push_back(d);
  }
  if (pads.size() != 2 * axes.size())
    return InvalidArgument("it has {} sizes of padding for {} axes", pads.size(), axes.size());
  static const auto& modes = *new std::map<std::string, std::string>{
      {"constant", "constant"}, {"reflect", "reflect"}, {"edge", "replicate"}, {"wrap", "circular"}};
  const auto mode = modes.find(l.Text("mode", "constant"));
  if (mode == modes.end()) return InvalidArgument("mode is {}", l.Text("mode", ""));
  Sizes sizes = x.sizes;
  IntList by_dimension(2 * x.rank(), 0);  // the last dimension first
  size_t padded = 0;                      // from that dimension on
  padded = x.rank();
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t before = pads[i], behind = pads[axes.size() + i];
    const size_t d = axes[i];
    if (before == 0 && behind == 0) continue;
    constexpr int64_t kMost = int64_t{1} << 24;
    if (std::abs(before) > kMost || std::abs(behind) > kMost)
      return InvalidArgument("padding of {} and {}", before, behind);
    if (!sizes[d].symbol.empty()) return InvalidArgument("it pads the batch");
    padded = std::min(padded, d);
    by_dimension[2 * (x.rank() - 1 - d)] = before;
    by_dimension[2 * (x.rank() - 1 - d) + 1] = behind;
    sizes[d].value += before + behind;
    if (sizes[d].value < 1) return InvalidArgument("dimension {} would have no elements", d);
    const bool mirrored = mode->second == "reflect";
    if (mirrored && std::max(before, behind) >= x.sizes[d].value)
      return InvalidArgument("its mirror image is too short");
  }
  if (padded == x.rank()) return l.Pass(x);
  by_dimension.resize(2 * (x.rank() - padded));
  RETURN_IF_ERROR(CheckedElements(ShapeOf(sizes)).status());
  return l.Result("pad", {{"self", NameOf(x)}, {"pad", ListOf(by_dimension)}, {"mode", mode->second}, {"value", value}},
                  x.type, std::move(sizes));
}

// What lies above or below a diagonal.
absl::Status Triangle(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  int64_t diagonal = 0;
  if (l.Has(1)) {
    ASSIGN_OR_RETURN(const double k, l.Scalar(1));
    diagonal = static_cast<int64_t>(k);
  }
  return l.Result(l.Integer("upper", 1) != 0 ? "triu" : "tril", {{"self", NameOf(x)}, {"diagonal", Size{diagonal}}},
                  x.type, x.sizes);
}

}  // namespace

void AddIndices(Lowerings& lowerings) {
  lowerings.insert({{"Gather", Gather},
                    {"GatherElements", GatherElements},
                    {"GatherND", GatherND},
                    {"OneHot", OneHot},
                    {"Pad", Pad},
                    {"ScatterND", ScatterND},
                    {"Trilu", Triangle}});
}

}  // namespace partita::onnx

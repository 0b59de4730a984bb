// Ops that give a value other dimensions, or join, cut and repeat values.
#include <algorithm>
#include <limits>

#include "graph/value/shape.h"
#include "importer/onnx/lowering.h"

namespace partita::onnx {
namespace {

constexpr int64_t kMostParts = 4096;

// How many elements there are: a number, and whether it counts those of the batch.
struct Count {
  int64_t value = 1;
  int batches = 0;
};

Count CountOf(const Sizes& sizes) {
  Count count;
  for (const Size& size : sizes) {
    count.value *= size.value;
    count.batches += size.symbol.empty() ? 0 : 1;
  }
  return count;
}

// What a reshape asks for. Where the file fixes how many samples there are, the first size that it names is that many,
// and here it is the batch.
absl::StatusOr<Sizes> TargetOf(Lowering& l, const Value& x, const std::vector<Number>& target, bool zero_is_size) {
  const Count all = CountOf(x.sizes);
  if (all.batches > 1) return InvalidArgument("two dimensions of its input vary with the batch");
  const int64_t batch = l.values().batch(), written = l.values().file_batch();
  Sizes sizes;
  std::optional<size_t> open;
  for (size_t d = 0; d < target.size(); ++d) {
    const auto value = static_cast<int64_t>(std::clamp(target[d].value, -4e18, 4e18));
    if (value == -1) {
      if (open) return InvalidArgument("two sizes are -1");
      open = d;
      sizes.push_back({1});
    } else if (value == 0 && !zero_is_size) {
      if (d >= x.rank()) return InvalidArgument("size {} is 0, and its input has {} dimensions", d, x.rank());
      sizes.push_back(x.sizes[d]);
    } else if (value < 0 || value > int64_t{1} << 40) {
      return InvalidArgument("size {} is {}", d, value);
    } else {
      sizes.push_back(l.values().SizeOf({static_cast<double>(value), target[d].of_batch}));
    }
  }
  const bool fixed = IsFixed(sizes), begins_with_batch = x.rank() > 0 && !x.sizes[0].symbol.empty();
  if (all.batches == 1 && fixed && written > 0 && begins_with_batch && !(open && *open == 0) && !sizes.empty() &&
      sizes[0].value % written == 0) {
    sizes[0] = l.values().SizeOf({static_cast<double>(sizes[0].value / written * batch), true});
  }
  RETURN_IF_ERROR(CheckedElements(ShapeOf(sizes)).status());
  const Count named = CountOf(sizes);
  if (named.batches > all.batches) return InvalidArgument("it joins the batch with another dimension");
  if (open) {
    if (named.value == 0 || all.value % named.value != 0) {
      return InvalidArgument("it gives {} elements the shape {}", all.value, ToString(ShapeOf(sizes)));
    }
    const bool of_batch = all.batches > named.batches;
    const int64_t rest = all.value / named.value;
    if (of_batch && rest % batch != 0) return InvalidArgument("it joins the batch with another dimension");
    sizes[*open] = l.values().SizeOf({static_cast<double>(rest), of_batch});
    return sizes;
  }
  if (named.batches == all.batches && named.value == all.value) return sizes;
  if (named.batches != all.batches) {
    return InvalidArgument("its shape {} fixes the batch; expected -1 or a size of its input there",
                           ToString(ShapeOf(sizes)));
  }
  return InvalidArgument("it gives {} elements the shape {}", all.value, ToString(ShapeOf(sizes)));
}

absl::Status BindView(Lowering& l, const Value& x, Sizes sizes) {
  return l.Result("view", {{"self", NameOf(x)}}, x.type, std::move(sizes));
}

absl::Status Reshape(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const std::vector<Number> target, l.Numbers(1));
  ASSIGN_OR_RETURN(Sizes sizes, TargetOf(l, x, target, l.Integer("allowzero", 0) != 0));
  return BindView(l, x, std::move(sizes));
}

// The dimensions before the axis, and the others.
absl::Status Flatten(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  int64_t axis = l.Integer("axis", 1);
  if (axis < 0) axis += static_cast<int64_t>(x.rank());
  if (axis < 0 || axis > static_cast<int64_t>(x.rank()))
    return InvalidArgument("axis {} of {} dimensions", axis, x.rank());
  Sizes sizes;
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>(0, axis), {axis, static_cast<int64_t>(x.rank())}}) {
    const Count count = CountOf(Sizes(x.sizes.begin() + begin, x.sizes.begin() + end));
    if (count.batches > 1) return InvalidArgument("two dimensions of its input vary with the batch");
    sizes.push_back(l.values().SizeOf({static_cast<double>(count.value), count.batches == 1}));
  }
  return BindView(l, x, std::move(sizes));
}

absl::Status Transpose(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  IntList order = l.List("perm");
  if (order.empty()) {
    for (size_t d = x.rank(); d-- > 0;) order.push_back(static_cast<int64_t>(d));
  }
  std::vector<size_t> counted;
  Sizes sizes;
  for (const int64_t d : order) {
    const bool there = d >= 0 && d < static_cast<int64_t>(x.rank());
    if (!there || order.size() != x.rank() || std::ranges::count(order, d) > 1) {
      return InvalidArgument("perm {} is no order of {} dimensions", ToString(order), x.rank());
    }
    counted.push_back(static_cast<size_t>(d));
    sizes.push_back(x.sizes[counted.back()]);
  }
  return l.Result("permute", {{"self", NameOf(x)}, {"dims", ListOf(counted)}}, x.type, std::move(sizes));
}

absl::Status Squeeze(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const std::vector<size_t> axes, l.Axes(1, x.rank()));
  Sizes sizes;
  for (size_t d = 0; d < x.rank(); ++d) {
    const bool one = x.sizes[d].value == 1 && x.sizes[d].symbol.empty();
    const bool named = std::ranges::find(axes, d) != axes.end();
    if (named && !one) return InvalidArgument("dimension {} has {} elements; expected 1", d, x.sizes[d].value);
    if (axes.empty() ? !one : !named) sizes.push_back(x.sizes[d]);
  }
  return BindView(l, x, std::move(sizes));
}

absl::Status Unsqueeze(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  IntList named = l.List("axes");
  if (l.Has(1)) {
    ASSIGN_OR_RETURN(named, l.Integers(1));
  }
  const size_t rank = x.rank() + named.size();
  ASSIGN_OR_RETURN(const std::vector<size_t> axes, l.Axes(1, rank));
  Sizes sizes;
  for (size_t d = 0, from = 0; d < rank; ++d) {
    sizes.push_back(std::ranges::find(axes, d) == axes.end() ? x.sizes[from++] : Size{1});
  }
  return BindView(l, x, std::move(sizes));
}

// An operand whose first dimension is 1 where those of others are the batch: in a file that fixes one sample.
absl::StatusOr<Value> WithSamples(Lowering& l, const Value& x, const Size& batch) {
  Sizes sizes = x.sizes;
  if (sizes.empty() || sizes[0].value != 1 || l.values().file_batch() != 1) return x;
  sizes[0] = batch;
  return l.Add("expand", {{"self", NameOf(x)}}, x.type, std::move(sizes));
}

absl::Status Concat(Lowering& l) {
  std::vector<Value> operands;
  for (size_t i = 0; i < l.node().inputs.size(); ++i) {
    if (!l.Has(i)) continue;
    const std::optional<Known> known = l.values().Elements(l.node().inputs[i]);
    if (known && known->numbers.empty()) continue;
    ASSIGN_OR_RETURN(Value operand, l.In(i));
    operands.push_back(std::move(operand));
  }
  if (operands.empty()) return InvalidArgument("it has no operands with elements");
  const size_t rank = operands[0].rank();
  ASSIGN_OR_RETURN(const size_t axis, l.Axis("axis", 0, rank));
  for (const Value& operand : operands) {
    if (operand.rank() != rank) return InvalidArgument("its operands have {} and {} dimensions", rank, operand.rank());
  }
  if (axis != 0) {
    const auto with = std::ranges::find_if(operands, [](const Value& v) { return !v.sizes[0].symbol.empty(); });
    const Size batch = with == operands.end() ? Size{} : with->sizes[0];
    for (Value& operand : operands) {
      if (batch.symbol.empty() || !operand.sizes[0].symbol.empty()) continue;
      ASSIGN_OR_RETURN(operand, WithSamples(l, operand, batch));
    }
  }
  Sizes sizes = operands[0].sizes;
  int64_t all = 0;
  torch_export::TensorNames names;
  for (const Value& operand : operands) {
    for (size_t d = 0; d < rank; ++d) {
      if (d == axis || SameSize(operand.sizes[d], sizes[d])) continue;
      return InvalidArgument("its operands have {} and {} elements along dimension {}", sizes[d].value,
                             operand.sizes[d].value, d);
    }
    if (!operand.sizes[axis].symbol.empty() && operands.size() > 1) return InvalidArgument("it joins samples");
    all += operand.sizes[axis].value;
    names.names.push_back(operand.name);
  }
  if (operands.size() == 1) return l.Pass(operands[0]);
  const bool columns = axis + 1 == rank && all == static_cast<int64_t>(operands.size());
  if (columns) l.values().BindColumns(l.node().outputs[0], operands);
  sizes[axis] = {all};
  return l.Result("cat", {{"tensors", names}, {"dim", Size{static_cast<int64_t>(axis)}}}, operands[0].type,
                  std::move(sizes));
}

absl::Status Split(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const size_t axis, l.Axis("axis", 0, x.rank()));
  if (!x.sizes[axis].symbol.empty()) return InvalidArgument("it splits the batch");
  IntList parts = l.List("split");
  if (l.Has(1)) {
    ASSIGN_OR_RETURN(parts, l.Integers(1));
  }
  const int64_t all = x.sizes[axis].value, outputs = static_cast<int64_t>(l.node().outputs.size());
  if (parts.empty()) {
    const int64_t count = l.Integer("num_outputs", outputs);
    if (count < 1 || count > kMostParts) return InvalidArgument("it splits into {} parts", count);
    const int64_t each = (all + count - 1) / count;
    for (int64_t i = 0; i < count; ++i) parts.push_back(std::clamp<int64_t>(all - i * each, 0, each));
  }
  int64_t sum = 0;
  for (const int64_t part : parts) sum += std::clamp<int64_t>(part, -1, all + 1);
  if (sum != all || static_cast<int64_t>(parts.size()) != outputs) {
    return InvalidArgument("it splits {} elements into {}", all, ToString(parts));
  }
  int64_t begin = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    Sizes sizes = x.sizes;
    sizes[axis] = {parts[i]};
    if (parts[i] < 1) return InvalidArgument("its part {} is empty", i);
    RETURN_IF_ERROR(l.Result("slice",
                             {{"self", NameOf(x)},
                              {"dim", Size{static_cast<int64_t>(axis)}},
                              {"start", Size{begin}},
                              {"end", Size{begin + parts[i]}}},
                             x.type, std::move(sizes), i));
    begin += parts[i];
  }
  return absl::OkStatus();
}

// One dimension of a slice.
absl::StatusOr<Value> Cut(Lowering& l, const Value& x, size_t d, const Number& start, const Number& end, int64_t step) {
  const Size& size = x.sizes[d];
  const auto all = static_cast<double>(size.value);
  const bool to_the_end =
      end.of_batch ? !size.symbol.empty() && end.value == all : end.value >= (size.symbol.empty() ? all : 2e9);
  if (start.value == 0 && to_the_end && step == 1) return x;
  if (!size.symbol.empty() || start.of_batch || end.of_batch) {
    // Samples counted from the first one are the same in each batch.
    const bool first = !start.of_batch && !end.of_batch && start.value >= 0 && end.value >= 0 && step == 1;
    if (!first || end.value > all) return InvalidArgument("it takes samples counted from the end of the batch");
  }
  const auto place = [all](double at) { return std::clamp(at < 0 ? at + all : at, 0.0, all); };
  Sizes sizes = x.sizes;
  Value from = x;
  if (step < 0) {  // from behind: turned around, and then forwards
    from = l.Add("flip", {{"self", NameOf(x)}, {"dims", ListOf(std::vector<size_t>{d})}}, x.type, x.sizes);
    const double last = start.value < 0 ? start.value + all : std::min(start.value, all - 1);
    const double before = end.value < -all ? -1 : end.value < 0 ? end.value + all : end.value;
    return Cut(l, from, d, {all - 1 - last}, {all - 1 - before}, -step);
  }
  const auto begin = static_cast<int64_t>(place(start.value)), behind = static_cast<int64_t>(place(end.value));
  if (behind <= begin) return InvalidArgument("it takes no elements");
  sizes[d] = {(behind - begin + step - 1) / step};
  return l.Add("slice",
               {{"self", NameOf(from)},
                {"dim", Size{static_cast<int64_t>(d)}},
                {"start", Size{begin}},
                {"end", Size{behind}},
                {"step", Size{step}}},
               x.type, std::move(sizes));
}

absl::Status Slice(Lowering& l) {
  ASSIGN_OR_RETURN(Value x, l.In(0));
  std::vector<Number> starts, ends;
  IntList axes = l.List("axes"), steps;
  if (l.Has(1)) {
    ASSIGN_OR_RETURN(starts, l.Numbers(1));
    ASSIGN_OR_RETURN(ends, l.Numbers(2));
  } else {
    for (const int64_t start : l.List("starts")) starts.push_back({static_cast<double>(start)});
    for (const int64_t end : l.List("ends")) ends.push_back({static_cast<double>(end)});
  }
  if (l.Has(3)) {
    ASSIGN_OR_RETURN(axes, l.Integers(3));
  }
  if (l.Has(4)) {
    ASSIGN_OR_RETURN(steps, l.Integers(4));
  }
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (steps.empty()) steps = IntList(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    return InvalidArgument("it has {} starts and {} ends", starts.size(), ends.size());
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + static_cast<int64_t>(x.rank()) : axes[i];
    if (axis < 0 || axis >= static_cast<int64_t>(x.rank()))
      return InvalidArgument("axis {} of {} dimensions", axis, x.rank());
    if (steps[i] == 0 || steps[i] == std::numeric_limits<int64_t>::min())
      return InvalidArgument("a step of {}", steps[i]);
    ASSIGN_OR_RETURN(x, Cut(l, x, static_cast<size_t>(axis), starts[i], ends[i], steps[i]));
  }
  return l.Pass(x);
}

absl::Status Expand(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const std::vector<Number> target, l.Numbers(1));
  Sizes sizes;
  for (const Number& number : target) {
    if (number.value < 1 || number.value > 1e12) return InvalidArgument("it expands to {} elements", number.value);
    sizes.push_back(l.values().SizeOf(number));
  }
  // As many samples as the file fixes are the batch.
  if (!sizes.empty() && x.rank() == sizes.size() && !x.sizes[0].symbol.empty() &&
      sizes[0].value == l.values().file_batch()) {
    sizes[0] = x.sizes[0];
  }
  ASSIGN_OR_RETURN(sizes, Broadcast(x.sizes, sizes));
  RETURN_IF_ERROR(CheckedElements(ShapeOf(sizes)).status());
  return l.Result("expand", {{"self", NameOf(x)}}, x.type, std::move(sizes));
}

absl::Status Tile(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  ASSIGN_OR_RETURN(const std::vector<Number> repeats, l.Numbers(1));
  if (repeats.size() != x.rank()) return InvalidArgument("it repeats {} of {} dimensions", repeats.size(), x.rank());
  Sizes sizes = x.sizes;
  torch_export::Integers counts;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (repeats[d].value < 1 || repeats[d].value > 1e9) return InvalidArgument("it repeats {} times", repeats[d].value);
    counts.sizes.push_back(l.values().SizeOf(repeats[d]));
    if (repeats[d].value == 1 && !repeats[d].of_batch) continue;
    if (!x.sizes[d].symbol.empty()) return InvalidArgument("it repeats the batch");
    sizes[d] = l.values().SizeOf({static_cast<double>(sizes[d].value) * repeats[d].value, repeats[d].of_batch});
  }
  RETURN_IF_ERROR(CheckedElements(ShapeOf(sizes)).status());
  return l.Result("repeat", {{"self", NameOf(x)}, {"repeats", counts}}, x.type, std::move(sizes));
}

absl::Status Constant(Lowering& l) {
  const std::string& name = l.node().outputs[0];
  for (const auto& [key, attribute] : l.node().attributes) {
    Known known;
    l.Find(key);
    if (key == "value" && !attribute.tensors.empty()) return l.values().Bind(name, attribute.tensors[0]);
    if (key == "value_int" || key == "value_ints") {
      const IntList list = key == "value_int" ? IntList{attribute.integer} : attribute.integers;
      for (const int64_t value : list) known.numbers.push_back({static_cast<double>(value)});
    } else if (key == "value_float" || key == "value_floats") {
      known.type = ScalarType::kF32;
      const auto list = key == "value_float" ? std::vector<double>{attribute.number} : attribute.numbers;
      for (const double value : list) known.numbers.push_back({value});
    } else {
      continue;
    }
    if (key.ends_with('s')) known.shape = {static_cast<int64_t>(known.numbers.size())};
    l.values().Bind(name, std::move(known));
    return absl::OkStatus();
  }
  return InvalidArgument("its value is no dense tensor of numbers");
}

absl::Status ConstantOfShape(Lowering& l) {
  ASSIGN_OR_RETURN(const std::vector<Number> shape, l.Numbers(0));
  double value = 0;
  ScalarType type = ScalarType::kF32;
  if (const Attribute* const found = l.Find("value"); found != nullptr && !found->tensors.empty()) {
    const std::string name = l.node().outputs[0] + "@value";
    RETURN_IF_ERROR(l.values().Bind(name, found->tensors[0]));
    const std::optional<Known> known = l.values().Elements(name);
    if (!known || known->numbers.size() != 1) return InvalidArgument("its value is no number");
    value = known->numbers[0].value;
    type = known->type;
  }
  Sizes sizes;
  for (const Number& number : shape) {
    if (number.value < 1 || number.value > 1e12) return InvalidArgument("it has size {}", number.value);
    sizes.push_back(l.values().SizeOf(number));
  }
  RETURN_IF_ERROR(CheckedElements(ShapeOf(sizes)).status());
  return l.Result("full", {{"fill_value", value}}, type, std::move(sizes));
}

// From 0 to as many as there are samples, or between fixed numbers.
absl::Status Range(Lowering& l) {
  ASSIGN_OR_RETURN(const double start, l.Scalar(0));
  ASSIGN_OR_RETURN(const std::vector<Number> ends, l.Numbers(1));
  ASSIGN_OR_RETURN(const double step, l.Scalar(2));
  if (ends.size() != 1 || step == 0) return InvalidArgument("it counts in steps of {}", step);
  (void)l.Integer("stash_type", 1);  // of opset 27: how numbers of 16 bits are added up, here in double
  const std::optional<Known> first = l.values().Elements(l.node().inputs[0]);
  const ScalarType type = first ? first->type : ScalarType::kI64;
  const Number& end = ends[0];
  const double count = std::max(0.0, std::ceil((end.value - start) / step));
  if (count > static_cast<double>(int64_t{1} << 24)) return InvalidArgument("it counts to {}", count);
  if (end.of_batch && (start != 0 || step != 1)) return InvalidArgument("it counts samples in another way than by one");
  const Size size = l.values().SizeOf({count, end.of_batch});
  return l.Result("arange", {{"start", start}, {"end", size}, {"step", step}}, type, {size});
}

// Blocks of channels become rows and columns. DCR: channels are the last of the three parts of the channel, CRD: the
// first.
absl::Status DepthToSpace(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  const int64_t block = l.Integer("blocksize", 0);
  if (x.rank() != 4 || block < 1 || x.sizes[1].value % (block * block) != 0) {
    return InvalidArgument("{} dimensions in blocks of {}", x.rank(), block);
  }
  const Size &n = x.sizes[0], &h = x.sizes[2], &w = x.sizes[3];
  const Size channels = {x.sizes[1].value / block / block};
  const Sizes sizes = {n, channels, {h.value * block}, {w.value * block}};
  if (l.Text("mode", "DCR") == "CRD") {
    return l.Result("pixel_shuffle", {{"self", NameOf(x)}, {"upscale_factor", Size{block}}}, x.type, sizes);
  }
  const Value parts = l.Reshaped(x, {n, {block}, {block}, channels, h, w});
  return BindView(l, l.Permuted(parts, {0, 3, 4, 1, 5, 2}), sizes);
}

absl::Status SpaceToDepth(Lowering& l) {
  ASSIGN_OR_RETURN(const Value x, l.In(0));
  const int64_t block = l.Integer("blocksize", 0);
  if (x.rank() != 4 || block < 1 || x.sizes[2].value % block != 0 || x.sizes[3].value % block != 0) {
    return InvalidArgument("{} dimensions in blocks of {}", x.rank(), block);
  }
  const Size &n = x.sizes[0], &c = x.sizes[1];
  const Size h = {x.sizes[2].value / block}, w = {x.sizes[3].value / block};
  const Value parts = l.Reshaped(x, {n, c, h, {block}, w, {block}});
  return BindView(l, l.Permuted(parts, {0, 3, 5, 1, 2, 4}), {n, {c.value * block * block}, h, w});
}

}  // namespace

void AddShapes(Lowerings& lowerings) {
  lowerings.insert({{"Reshape", Reshape},
                    {"Flatten", Flatten},
                    {"Transpose", Transpose},
                    {"Squeeze", Squeeze},
                    {"Unsqueeze", Unsqueeze},
                    {"Concat", Concat},
                    {"Split", Split},
                    {"Slice", Slice},
                    {"Expand", Expand},
                    {"Tile", Tile},
                    {"Constant", Constant},
                    {"ConstantOfShape", ConstantOfShape},
                    {"Range", Range},
                    {"DepthToSpace", DepthToSpace},
                    {"SpaceToDepth", SpaceToDepth}});
}

}  // namespace partita::onnx

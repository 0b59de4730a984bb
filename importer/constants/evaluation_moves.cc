// What only moves elements: views, and copies of parts.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "importer/constants/evaluation.h"

namespace partita::torch_export {
namespace {

constexpr int64_t kMostPadding = int64_t{1} << 24;

Constant Selected(Constant self, size_t dimension, int64_t index) {
  self.offset += index * self.strides[dimension];
  Shape shape;
  for (size_t d = 0; d < self.shape.size(); ++d) {
    if (d != dimension) shape.push_back(self.shape[d]);
  }
  self.shape = shape;
  self.strides.erase(self.strides.begin() + static_cast<int64_t>(dimension));
  self.varies.erase(self.varies.begin() + static_cast<int64_t>(dimension));
  return self;
}

}  // namespace

Evaluation::One Evaluation::View() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  Constant result = Dense(meta(), {});
  if (Elements(result.shape) != Elements(self.shape)) {
    return InvalidArgument("it joins the batch with another dimension");
  }
  result.counts_samples = self.counts_samples;
  result.type = self.type;
  if (IsContiguous(self)) {
    result.storage = self.storage;
    result.offset = self.offset;
  } else if (op_ == "squeeze" || op_ == "unsqueeze") {  // the strides stay with their sizes
    size_t from = 0;
    for (size_t to = 0; to < result.shape.size(); ++to) {
      while (from < self.shape.size() && self.shape[from] == 1 && result.shape[to] != 1) ++from;
      if (result.shape[to] != 1) result.strides[to] = self.strides[from++];
    }
    result.storage = self.storage;
    result.offset = self.offset;
  } else {
    result.storage = std::make_shared<std::vector<double>>(self.values());
  }
  return result;
}

Evaluation::One Evaluation::Copy() {
  ASSIGN_OR_RETURN(Constant self, Self());
  const bool views =
      self.type == meta().type && (op_ == "to" || op_ == "type_as" || (op_ == "contiguous" && IsContiguous(self)));
  if (views) return self;
  Constant copy = Dense(meta(), self.values());
  copy.counts_samples = self.counts_samples;
  return copy;
}

Evaluation::One Evaluation::Expand() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  Constant result = Dense(meta(), {});
  if (result.shape.size() < self.shape.size()) return InvalidArgument("its result has fewer dimensions");
  const size_t more = result.shape.size() - self.shape.size();
  result.strides.assign(result.shape.size(), 0);
  for (size_t d = 0; d < self.shape.size(); ++d) {
    if (self.shape[d] == result.shape[more + d]) {
      result.strides[more + d] = self.strides[d];
    } else if (self.shape[d] != 1) {
      return InvalidArgument("it expands {} to {}", ToString(self.shape), ToString(result.shape));
    }
  }
  result.type = self.type;
  result.storage = self.storage;
  result.offset = self.offset;
  result.counts_samples = self.counts_samples;
  return result;
}

Evaluation::One Evaluation::Permute() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  std::vector<int> order;
  for (const int64_t dimension : IntegersOf(node_, "dims", {})) {
    ASSIGN_OR_RETURN(const int d, DimensionOf(dimension, self.shape.size()));
    order.push_back(d);
  }
  if (std::set<int>(order.begin(), order.end()).size() != self.shape.size() || order.size() != self.shape.size()) {
    return InvalidArgument("its dims are no order of {} dimensions", self.shape.size());
  }
  return self.Permuted(order);
}

Evaluation::One Evaluation::Transpose() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  Order order = InOrder(self.shape.size());
  if (order.size() < 2) return self;
  ASSIGN_OR_RETURN(const int a, Dimension(self, "dim0", 0));
  ASSIGN_OR_RETURN(const int b, Dimension(self, "dim1", 1));
  std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return self.Permuted(order);
}

Evaluation::One Evaluation::Slice() {
  ASSIGN_OR_RETURN(Constant self, Self());
  ASSIGN_OR_RETURN(const int dimension, Dimension(self, "dim", 0));
  const auto d = static_cast<size_t>(dimension);
  if (self.varies[d]) {
    if (!meta().sizes[d].symbol.empty() && IntegerOf(node_, "start", 0) == 0 && IntegerOf(node_, "step", 1) == 1)
      return self;
    return InvalidArgument("it takes some samples of the batch");
  }
  const int64_t all = self.shape[d], step = IntegerOf(node_, "step", 1);
  if (step < 1) return InvalidArgument("it takes elements in steps of {}", step);
  const auto place = [all](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + all : at, 0, all); };
  const int64_t begin = place(IntegerOf(node_, "start", 0)), end = place(IntegerOf(node_, "end", all));
  self.shape[d] = std::max<int64_t>(0, (end - begin + step - 1) / step);
  if (self.shape[d] > 0) self.offset += begin * self.strides[d];
  self.strides[d] *= step;
  return self;
}

Evaluation::One Evaluation::Select() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  ASSIGN_OR_RETURN(const int dimension, Dimension(self, "dim", 0));
  const auto d = static_cast<size_t>(dimension);
  if (self.counts_samples && self.varies[d]) return InvalidArgument("it takes the number of one sample");
  const int64_t index = IntegerOf(node_, "index", 0), at = index < 0 ? index + self.shape[d] : index;
  if (!self.varies[d] && (at < 0 || at >= self.shape[d])) {
    return InvalidArgument("index {} of {} elements", index, self.shape[d]);
  }
  return Selected(self, d, self.varies[d] ? 0 : at);
}

absl::StatusOr<std::vector<Constant>> Evaluation::Parts() {
  std::vector<Constant> parts;
  if (op_ == "meshgrid") {
    ASSIGN_OR_RETURN(std::vector<Constant> axes, List("tensors"));
    if (axes.size() != node_.outputs.size()) return InvalidArgument("it has {} results", node_.outputs.size());
    const auto indexing = node_.arguments.find("indexing");
    const auto* const word = indexing == node_.arguments.end() ? nullptr : std::get_if<std::string>(&indexing->second);
    const bool columns = word != nullptr && *word == "xy" && axes.size() >= 2;
    for (size_t i = 0; i < axes.size(); ++i) {
      const size_t along = columns && i < 2 ? 1 - i : i;
      const TensorMeta& meta = program_.tensors.at(node_.outputs[i]);
      if (meta.sizes.size() != axes.size()) return InvalidArgument("a result has {} dimensions", meta.sizes.size());
      Shape shape(meta.sizes.size(), 1);
      shape[along] = Elements(axes[i].shape);
      Constant lying = axes[i];
      lying.storage = std::make_shared<std::vector<double>>(axes[i].values());
      lying.shape = shape;
      lying.strides = RowMajor(shape);
      lying.offset = 0;
      ASSIGN_OR_RETURN(std::vector<double> values, Broadcast(lying, Dense(meta, {}).shape));
      parts.push_back(Dense(meta, std::move(values)));
    }
    return parts;
  }
  ASSIGN_OR_RETURN(const Constant self, Self());
  ASSIGN_OR_RETURN(const int dimension, Dimension(self, "dim", 0));
  const auto d = static_cast<size_t>(dimension);
  if (self.varies[d]) return InvalidArgument("it takes some samples of the batch");
  int64_t begin = 0;
  for (const std::string& name : node_.outputs) {
    if (op_ == "unbind") {
      parts.push_back(Selected(self, d, begin++));
      continue;
    }
    const std::vector<Size>& sizes = program_.tensors.at(name).sizes;
    if (sizes.size() != self.shape.size()) return InvalidArgument("a part has {} dimensions", sizes.size());
    const int64_t size = sizes[d].value;
    if (begin + size > self.shape[d]) return InvalidArgument("its parts have more elements than it");
    Constant part = self;
    part.offset += begin * part.strides[d];
    part.shape[d] = size;
    begin += size;
    parts.push_back(std::move(part));
  }
  return parts;
}

Evaluation::One Evaluation::Taken(const Constant& of, const std::function<IntList(const IntList&)>& index) const {
  const Shape shape = ResultShape();
  std::vector<double> values;
  IntList at(shape.size(), 0);
  for (int64_t left = Elements(shape); left > 0; --left) {
    const IntList from = index(at);
    if (from.size() != of.shape.size()) return InvalidArgument("it takes elements of {} dimensions", of.shape.size());
    int64_t place = of.offset;
    for (size_t d = 0; d < from.size(); ++d) {
      if (from[d] < 0 || from[d] >= of.shape[d]) {
        return InvalidArgument("index {} of {} elements", from[d], of.shape[d]);
      }
      place += from[d] * of.strides[d];
    }
    values.push_back((*of.storage)[static_cast<size_t>(place)]);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
  return Dense(meta(), std::move(values));
}

Evaluation::One Evaluation::Concatenate() {
  ASSIGN_OR_RETURN(const std::vector<Constant> parts, List("tensors"));
  const Shape shape = ResultShape();
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node_, "dim", 0), shape.size()));
  const auto d = static_cast<size_t>(dimension);
  std::vector<double> values(static_cast<size_t>(Elements(shape)));
  const std::vector<int64_t> strides = RowMajor(shape);
  int64_t begin = 0;
  for (const Constant& part : parts) {
    if (part.counts_samples || part.shape.size() != shape.size() || part.varies[d]) {
      return InvalidArgument("it joins values that vary with the batch");
    }
    if (begin + part.shape[d] > shape[d]) return InvalidArgument("its result has fewer elements than its operands");
    const std::vector<double> own = part.values();
    const std::vector<int64_t> places = PlacesOf(part.shape, strides, begin * strides[d]);
    for (size_t i = 0; i < own.size(); ++i) {
      if (places[i] >= static_cast<int64_t>(values.size())) return InvalidArgument("its operands have other sizes");
      values[static_cast<size_t>(places[i])] = own[i];
    }
    begin += part.shape[d];
  }
  return Dense(meta(), std::move(values));
}

Evaluation::One Evaluation::Stack() {
  ASSIGN_OR_RETURN(const std::vector<Constant> parts, List("tensors"));
  const Shape shape = ResultShape();
  ASSIGN_OR_RETURN(const int dimension, DimensionOf(IntegerOf(node_, "dim", 0), shape.size()));
  const std::vector<int64_t> strides = RowMajor(shape);
  std::vector<int64_t> own = strides;
  own.erase(own.begin() + dimension);
  std::vector<double> values(static_cast<size_t>(Elements(shape)));
  for (size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].counts_samples) return InvalidArgument("it computes with the numbers of samples");
    const std::vector<double> from = parts[p].values();
    if (own.size() != parts[p].shape.size()) return InvalidArgument("its operands have other sizes");
    const std::vector<int64_t> places =
        PlacesOf(parts[p].shape, own, static_cast<int64_t>(p) * strides[static_cast<size_t>(dimension)]);
    for (size_t i = 0; i < from.size(); ++i) {
      if (places[i] >= static_cast<int64_t>(values.size())) return InvalidArgument("its operands have other sizes");
      values[static_cast<size_t>(places[i])] = from[i];
    }
  }
  return Dense(meta(), std::move(values));
}

Evaluation::One Evaluation::Repeat() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  if (self.counts_samples) return InvalidArgument("it computes with the numbers of samples");
  if (meta().sizes.size() < self.shape.size() || Elements(self.shape) == 0) {
    return InvalidArgument("it repeats {}", ToString(self.shape));
  }
  const size_t more = meta().sizes.size() - self.shape.size();
  for (size_t d = 0; d < self.shape.size(); ++d) {
    if (self.shape[d] != 1 && !meta().sizes[more + d].symbol.empty()) {
      return InvalidArgument("it repeats {} elements for each sample", self.shape[d]);
    }
  }
  return Taken(self, [&](const IntList& at) {
    IntList from;
    for (size_t d = 0; d < self.shape.size(); ++d) from.push_back(at[more + d] % self.shape[d]);
    return from;
  });
}

Evaluation::One Evaluation::Roll() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  const IntList shifts = IntegersOf(node_, "shifts", {}), dims = IntegersOf(node_, "dims", {});
  if (shifts.size() != dims.size()) return InvalidArgument("shifts without dims");
  RETURN_IF_ERROR(CheckRank(self));
  Shape by(self.shape.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    ASSIGN_OR_RETURN(const int d, DimensionOf(dims[i], self.shape.size()));
    by[static_cast<size_t>(d)] = shifts[i];
  }
  return Taken(self, [&](const IntList& at) {
    IntList from;
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t size = self.shape[d];
      from.push_back(((at[d] - by[d]) % size + size) % size);
    }
    return from;
  });
}

Evaluation::One Evaluation::Flip() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  RETURN_IF_ERROR(CheckRank(self));
  std::vector<bool> flipped(self.shape.size(), false);
  for (const int64_t dimension : IntegersOf(node_, "dims", {})) {
    ASSIGN_OR_RETURN(const int d, DimensionOf(dimension, self.shape.size()));
    flipped[static_cast<size_t>(d)] = true;
  }
  return Taken(self, [&](const IntList& at) {
    IntList from;
    for (size_t d = 0; d < at.size(); ++d) from.push_back(flipped[d] ? self.shape[d] - 1 - at[d] : at[d]);
    return from;
  });
}

Evaluation::One Evaluation::Index() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  const auto found = node_.arguments.find("indices");
  const auto* const names = found == node_.arguments.end() ? nullptr : std::get_if<TensorNames>(&found->second);
  if (names == nullptr || names->names.empty() || names->names.size() > self.shape.size()) {
    return InvalidArgument("it has no indices");
  }
  // The indices broadcast to one shape, which stands where the first of them does, or in front if others lie between.
  std::vector<const Constant*> indices(self.shape.size(), nullptr);
  size_t first = self.shape.size(), last = 0, count = 0, rank = 0;
  for (size_t d = 0; d < names->names.size(); ++d) {
    if (names->names[d].empty()) continue;
    indices[d] = constants_.Find(names->names[d]);
    if (indices[d]->type == ScalarType::kBool) return InvalidArgument("it takes elements by a mask");
    if (indices[d]->counts_samples != (self.varies[d] ? 1 : 0) || self.counts_samples) {
      return InvalidArgument("it takes some samples of the batch");
    }
    first = std::min(first, d);
    last = d;
    ++count;
    rank = std::max(rank, indices[d]->shape.size());
  }
  const size_t place = last - first + 1 == count ? first : 0;
  if (ResultShape().size() != self.shape.size() - count + rank) {
    return InvalidArgument("its result has {} dimensions", ResultShape().size());
  }
  for (const Constant* const index : indices) {
    const size_t more = index == nullptr ? 0 : place + rank - index->shape.size();
    for (size_t k = 0; index != nullptr && k < index->shape.size(); ++k) {
      if (index->shape[k] != 1 && index->shape[k] != ResultShape()[more + k]) {
        return InvalidArgument("its indices have the shapes {} and {}", ToString(index->shape),
                               ToString(ResultShape()));
      }
    }
  }
  return Taken(self, [&](const IntList& at) {
    IntList from;
    size_t next = 0;
    for (size_t d = 0; d < self.shape.size(); ++d) {
      if (next == place) next += rank;
      if (indices[d] == nullptr) {
        from.push_back(at[next++]);
        continue;
      }
      int64_t where = indices[d]->offset;
      const size_t more = rank - indices[d]->shape.size();
      for (size_t k = 0; k < indices[d]->shape.size(); ++k) {
        if (indices[d]->shape[k] != 1) where += at[place + more + k] * indices[d]->strides[k];
      }
      const auto index = AsInteger((*indices[d]->storage)[static_cast<size_t>(where)]);
      from.push_back(index < 0 ? index + self.shape[d] : index);
    }
    return from;
  });
}

Evaluation::One Evaluation::IndexSelect() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  ASSIGN_OR_RETURN(const Constant index, Of("index"));
  ASSIGN_OR_RETURN(const int dimension, Dimension(self, "dim", 0));
  if (self.counts_samples || index.counts_samples) return InvalidArgument("it computes with the numbers of samples");
  RETURN_IF_ERROR(CheckRank(self));
  const std::vector<double> indices = index.values();
  if (static_cast<int64_t>(indices.size()) != ResultShape()[static_cast<size_t>(dimension)]) {
    return InvalidArgument("it takes {} elements", indices.size());
  }
  return Taken(self, [&](IntList at) {
    at[static_cast<size_t>(dimension)] = AsInteger(indices[static_cast<size_t>(at[static_cast<size_t>(dimension)])]);
    return at;
  });
}

Evaluation::One Evaluation::OneHot() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  if (self.counts_samples) return InvalidArgument("it computes with the numbers of samples");
  const Shape shape = ResultShape();
  std::vector<double> values(static_cast<size_t>(Elements(shape)), 0);
  const std::vector<double> classes = self.values();
  if (shape.empty() || classes.size() * static_cast<size_t>(shape.back()) != values.size()) {
    return InvalidArgument("its result has the shape {}", ToString(shape));
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    const auto at = AsInteger(classes[i]);
    if (at < 0 || at >= shape.back()) return InvalidArgument("class {} of {}", at, shape.back());
    values[i * static_cast<size_t>(shape.back()) + static_cast<size_t>(at)] = 1;
  }
  return Dense(meta(), std::move(values));
}

Evaluation::One Evaluation::Gather() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  ASSIGN_OR_RETURN(const Constant index, Of("index"));
  ASSIGN_OR_RETURN(const int dimension, Dimension(self, "dim", 0));
  if (self.counts_samples || index.counts_samples || index.shape != ResultShape()) {
    return InvalidArgument("it computes with the numbers of samples");
  }
  RETURN_IF_ERROR(CheckRank(self));
  const std::vector<double> indices = index.values();
  size_t element = 0;
  return Taken(self, [&](IntList at) {
    at[static_cast<size_t>(dimension)] = AsInteger(indices[element++]);
    return at;
  });
}

Evaluation::One Evaluation::Pad() {
  ASSIGN_OR_RETURN(const Constant self, Self());
  const IntList pad = IntegersOf(node_, "pad", {});
  const auto mode = node_.arguments.find("mode");
  const auto* const word = mode == node_.arguments.end() ? nullptr : std::get_if<std::string>(&mode->second);
  if (word != nullptr && *word != "constant") return InvalidArgument("it pads by {}", *word);
  if (self.counts_samples || pad.size() > 2 * self.shape.size()) return InvalidArgument("padding of more dimensions");
  RETURN_IF_ERROR(CheckRank(self));
  for (size_t i = 0; i < pad.size(); ++i) {
    if (std::abs(pad[i]) > kMostPadding) return InvalidArgument("padding of {}", pad[i]);
    if (pad[i] != 0 && self.varies[self.shape.size() - 1 - i / 2]) return InvalidArgument("it pads the batch");
  }
  const Shape shape = ResultShape();
  std::vector<double> values(static_cast<size_t>(Elements(shape)), NumberOf(node_, "value", 0));
  const std::vector<int64_t> strides = RowMajor(shape);
  IntList at(shape.size(), 0);
  const std::vector<double> from = self.values();
  for (const double value : from) {
    int64_t place = 0;
    bool inside = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const size_t pair = 2 * (shape.size() - 1 - d);
      const int64_t to = at[d] + (pair < pad.size() ? pad[pair] : 0);
      inside &= to >= 0 && to < shape[d];
      place += to * strides[d];
    }
    if (inside) values[static_cast<size_t>(place)] = value;
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < self.shape[d]) break;
      at[d] = 0;
    }
  }
  return Dense(meta(), std::move(values));
}

}  // namespace partita::torch_export

#include "runtime/data/arrays/synthetic_batches.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/philox.h"

namespace partita {
namespace {

// Sets each element of `out`, the rows from the sample `first` on, to what `make` makes of a uniform number in [0, 1).
template <typename T, typename Make>
void FillUniform(uint64_t key, int64_t first, int64_t row_elements, std::span<std::byte> out, const Make& make) {
  T* const elements = reinterpret_cast<T*>(out.data());
  const auto rows = static_cast<int64_t>(out.size() / sizeof(T)) / row_elements;
  for (int64_t row = 0; row < rows; ++row) {
    T* const of_row = elements + row * row_elements;
    for (int64_t begin = 0; begin < row_elements; begin += 4) {
      const PhiloxBlock block = RandomBlock(key, static_cast<uint64_t>(first + row), static_cast<uint64_t>(begin / 4));
      for (int64_t e = begin; e < begin + 4 && e < row_elements; ++e)
        of_row[e] = make(ToUniform(block.lane[e - begin]));
    }
  }
}

// A quarter of the labels of each row, but never its first.
void IgnoreSome(uint64_t key, int64_t first, int64_t row_elements, int32_t ignored, std::span<std::byte> out) {
  auto* const labels = reinterpret_cast<int32_t*>(out.data());
  std::vector<float> draws(out.size() / sizeof(int32_t));
  FillUniform<float>(~key, first, row_elements, std::as_writable_bytes(std::span(draws)), [](float u) { return u; });
  for (size_t i = 0; i < draws.size(); ++i) {
    if (static_cast<int64_t>(i) % row_elements > 0 && draws[i] < 0.25F) labels[i] = ignored;
  }
}

// Ids of several tables in each row.
void FillIds(const WantedField& wanted, uint64_t key, int64_t first, int64_t row_elements, std::span<std::byte> out) {
  auto* const ids = reinterpret_cast<int32_t*>(out.data());
  std::vector<float> draws(out.size() / sizeof(int32_t));
  FillUniform<float>(key, first, row_elements, std::as_writable_bytes(std::span(draws)), [](float u) { return u; });
  for (size_t i = 0; i < draws.size(); ++i) {
    const int64_t below = std::max<int64_t>(wanted.ClassesAt(static_cast<int64_t>(i)), 2);
    ids[i] = static_cast<int32_t>(static_cast<double>(draws[i]) * static_cast<double>(below));
  }
}

template <typename T>
void FillWith(T value, std::span<std::byte> out) {
  std::ranges::fill(std::span(reinterpret_cast<T*>(out.data()), out.size() / sizeof(T)), value);
}

void FillOnes(DType dtype, std::span<std::byte> out) {
  return dtype == DType::kF32 ? FillWith(1.0f, out) : FillWith(1.0, out);
}

void FillField(const WantedField& wanted, uint64_t seed, int64_t first, std::span<std::byte> out) {
  const uint64_t key = PhiloxKey(seed, "mock " + wanted.field.name);
  const int64_t elements = Elements(wanted.field.row);
  if (wanted.weighs) return FillOnes(wanted.field.dtype, out);
  const auto centred = [](float u) { return (static_cast<double>(u) - 0.5) * std::sqrt(12.0); };
  switch (wanted.field.dtype) {
    case DType::kF32:
      return FillUniform<float>(key, first, elements, out, [&](float u) { return static_cast<float>(centred(u)); });
    case DType::kF64:
      return FillUniform<double>(key, first, elements, out, centred);
    case DType::kI32: {
      if (wanted.places > 0) return FillWith(static_cast<int32_t>(wanted.places), out);
      if (!wanted.classes_of.empty()) return FillIds(wanted, key, first, elements, out);
      const auto values = static_cast<double>(wanted.classes > 0 ? wanted.classes : 2);
      FillUniform<int32_t>(key, first, elements, out, [&](float u) { return static_cast<int32_t>(u * values); });
      if (wanted.ignored) IgnoreSome(key, first, elements, static_cast<int32_t>(*wanted.ignored), out);
      return;
    }
    case DType::kU8:
      return FillUniform<uint8_t>(key, first, elements, out, [](float u) { return static_cast<uint8_t>(u * 256); });
    case DType::kBF16:
      CHECK(false);  // no input has it
  }
}

}  // namespace

SyntheticBatches::SyntheticBatches(std::vector<WantedField> wanted, SyntheticOptions options)
    : wanted_(std::move(wanted)), options_(std::move(options)) {
  for (const WantedField& field : wanted_) fields_.push_back(field.field);
  fields_.push_back(options_.weights);
}

absl::Status SyntheticBatches::FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const {
  const int64_t first = batch % options_.batches * options_.batch_rows + rows.begin;
  for (size_t f = 0; f < wanted_.size(); ++f) FillField(wanted_[f], options_.seed, first, out[f]);
  FillOnes(fields_.back().dtype, out.back());
  return absl::OkStatus();
}

}  // namespace partita

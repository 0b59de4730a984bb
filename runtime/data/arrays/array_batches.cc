#include "runtime/data/arrays/array_batches.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "graph/value/node_name.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Of a sentence; there are more.
constexpr size_t kMostRowsNamed = 8;

// To be put in order by CheckBatches, some 10 ns each.
constexpr int64_t kMostRowsChecked = int64_t{1} << 26;

std::vector<Field> FieldsOf(const std::vector<ArrayField>& arrays, const Field& weights) {
  std::vector<Field> fields;
  for (const ArrayField& array : arrays) fields.push_back(array.field);
  fields.push_back(weights);
  return fields;
}

// One row of bytes, looked up.
template <typename T>
void Scale(const ArrayField& array, const uint8_t* bytes, std::span<std::byte> out) {
  T* const numbers = reinterpret_cast<T*>(out.data());
  const size_t elements = out.size() / sizeof(T), places = array.table.size() / 256;
  for (size_t e = 0; e < elements; ++e) numbers[e] = static_cast<T>(array.table[e % places * 256 + bytes[e]]);
}

// A row that only fills a batch up is the first of the set: where each sample is divided by something of its own, or
// has a logarithm, zeros would make it NaN, which no weight of 0 makes 0.
void FillRow(const ArrayField& array, int64_t sample, std::span<std::byte> out) {
  if (sample == SampleOrder::kNoSample) {
    if (array.counts) {
      std::ranges::fill(out, std::byte{0});
      return;
    }
    sample = 0;
  }
  const auto row_bytes = static_cast<int64_t>(array.bytes.size()) / array.rows;
  const uint8_t* const bytes = array.bytes.data() + sample * row_bytes;
  if (array.table.empty()) {
    std::memcpy(out.data(), bytes, out.size());
  } else if (array.field.dtype == DType::kF32) {
    Scale<float>(array, bytes, out);
  } else {
    Scale<double>(array, bytes, out);
  }
}

template <typename T>
double Sum(std::span<const std::byte> row) {
  const T* const numbers = reinterpret_cast<const T*>(row.data());
  return std::accumulate(numbers, numbers + row.size() / sizeof(T), 0.0);
}

// What the graph divides by: the sum of the row's values, or the number of its labels that are not ignored.
double ShareOfDivisor(const ArrayField& array, std::span<const std::byte> row) {
  if (array.field.dtype == DType::kF32) return Sum<float>(row);
  if (array.field.dtype == DType::kF64) return Sum<double>(row);
  const std::span labels(reinterpret_cast<const int32_t*>(row.data()), row.size() / sizeof(int32_t));
  return static_cast<double>(std::ranges::count_if(labels, [&](int32_t label) { return label != array.ignored; }));
}

// "add up to 0; the graph divides by the sum of a batch": why the graph cannot divide by rows.
std::string Vanish(const ArrayField& array, const std::string& whose) {
  if (!array.ignored) return "add up to 0; the graph divides by " + whose;
  return fmt::format("have no label but {}, which the graph ignores; it divides by the number of all others",
                     *array.ignored);
}

// Whether rows with such sums can make a batch that adds up to 0: not if all count something and are positive, nor if
// those that count nothing are fewer than the rows of a batch.
bool MayVanish(const std::vector<double>& sums, const SampleOrder& order) {
  const int64_t rest = order.samples() % order.batch_rows();
  const int64_t fewest = rest == 0 ? order.batch_rows() : rest;
  return std::ranges::any_of(sums, [](double sum) { return sum < 0; }) || std::ranges::count(sums, 0.0) >= fewest;
}

// "rows 3, 9" or "rows 3, 9, ... (64 in all)".
std::string NamesOf(std::vector<int64_t> samples) {
  std::erase(samples, SampleOrder::kNoSample);
  const size_t all = samples.size();
  samples.resize(std::min(all, kMostRowsNamed));
  const std::string more = all > samples.size() ? fmt::format(", ... ({} in all)", all) : "";
  return fmt::format("rows {}{}", fmt::join(samples, ", "), more);
}

}  // namespace

absl::StatusOr<std::shared_ptr<ArrayBatches>> ArrayBatches::Create(std::vector<ArrayField> arrays,
                                                                   ArrayBatchOptions options) {
  CHECK(!arrays.empty());
  for (const ArrayField& array : arrays) CHECK(array.rows == arrays[0].rows);
  RETURN_IF_ERROR(SampleOrder::Check(options.mode, arrays[0].rows, options.batch_rows));
  const std::shared_ptr<ArrayBatches> batches(new ArrayBatches(std::move(arrays), options));
  if (options.mode == BatchMode::kEvaluation) RETURN_IF_ERROR(batches->CheckSet());
  return batches;
}

ArrayBatches::ArrayBatches(std::vector<ArrayField> arrays, const ArrayBatchOptions& options)
    : arrays_(std::move(arrays)),
      fields_(FieldsOf(arrays_, options.weights)),
      order_(options.mode, arrays_[0].rows, options.batch_rows, options.seed),
      mode_(options.mode),
      divisors_(DivisorsOf(arrays_, order_)) {}

std::vector<ArrayBatches::Divisor> ArrayBatches::DivisorsOf(const std::vector<ArrayField>& arrays,
                                                            const SampleOrder& order) {
  std::vector<Divisor> divisors;
  for (size_t f = 0; f < arrays.size(); ++f) {
    const ArrayField& array = arrays[f];
    if (!array.divides) continue;
    Divisor& divisor = divisors.emplace_back(Divisor{f, {}});
    std::vector<double> row(static_cast<size_t>(Elements(array.field.row)));  // aligned, and large enough
    const auto bytes = std::as_writable_bytes(std::span(row)).first(static_cast<size_t>(array.field.row_bytes()));
    for (int64_t sample = 0; sample < array.rows; ++sample) {
      FillRow(array, sample, bytes);
      divisor.sums.push_back(ShareOfDivisor(array, bytes));
    }
    divisor.may_vanish = MayVanish(divisor.sums, order);
  }
  return divisors;
}

absl::Status ArrayBatches::CheckSet() const {
  for (const Divisor& divisor : divisors_) {
    if (std::accumulate(divisor.sums.begin(), divisor.sums.end(), 0.0) != 0) continue;
    const ArrayField& array = arrays_[divisor.field];
    return InvalidArgument("{}: field {}: all rows {}", array.array, Quoted(array.field.name),
                           Vanish(array, "their sum"));
  }
  return absl::OkStatus();
}

absl::Status ArrayBatches::CheckBatches(int64_t first, int64_t end) const {
  if (std::ranges::none_of(divisors_, &Divisor::may_vanish)) return absl::OkStatus();
  const int64_t most = std::max(batches_per_epoch(), kMostRowsChecked / batch_rows());
  for (int64_t batch = first; batch < end && batch - first < most; ++batch) RETURN_IF_ERROR(CheckDivisors(batch));
  return absl::OkStatus();
}

absl::Status ArrayBatches::CheckDivisors(int64_t batch) const {
  if (mode_ == BatchMode::kEvaluation) return absl::OkStatus();
  if (std::ranges::none_of(divisors_, &Divisor::may_vanish)) return absl::OkStatus();
  const std::vector<int64_t> samples = order_.Samples(batch, {0, batch_rows()});
  for (const Divisor& divisor : divisors_) {
    double sum = 0;
    for (const int64_t sample : samples) sum += sample == SampleOrder::kNoSample ? 0 : divisor.sums[sample];
    if (sum != 0) continue;
    const ArrayField& array = arrays_[divisor.field];
    return InvalidArgument("{}: field {}: {}, which are batch {}, {}", array.array, Quoted(array.field.name),
                           NamesOf(samples), batch, Vanish(array, "the sum of a batch"));
  }
  return absl::OkStatus();
}

absl::Status ArrayBatches::FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const {
  RETURN_IF_ERROR(CheckDivisors(batch));
  const std::vector<int64_t> samples = order_.Samples(batch, rows);
  for (size_t f = 0; f < arrays_.size(); ++f) {
    const auto row_bytes = static_cast<size_t>(fields_[f].row_bytes());
    for (size_t i = 0; i < samples.size(); ++i) {
      FillRow(arrays_[f], samples[i], out[f].subspan(i * row_bytes, row_bytes));
    }
  }
  order_.WriteWeights(batch, samples, fields_.back().dtype, out.back());
  return absl::OkStatus();
}

uint64_t Digest(const std::vector<ArrayField>& arrays) {
  uint64_t hash = 0;
  for (const ArrayField& array : arrays) {
    const std::string what =
        fmt::format("{} {}{} {}", array.field.name, Name(array.field.dtype), ToString(array.field.row), array.rows);
    hash = XXH3_64bits_withSeed(what.data(), what.size(), hash);
    hash = XXH3_64bits_withSeed(array.bytes.data(), array.bytes.size(), hash);
    hash = XXH3_64bits_withSeed(array.table.data(), array.table.size() * sizeof(double), hash);
  }
  return hash;
}

}  // namespace partita

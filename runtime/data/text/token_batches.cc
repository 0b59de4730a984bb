#include "runtime/data/text/token_batches.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/value/node_name.h"
#include "runtime/base/number.h"
#include "runtime/base/status.h"
#include "runtime/data/text/write_weights.h"

namespace partita {
namespace {

bool IsOfWords(const std::string& name) { return name == kIdsField || name == kTargetsField; }

// Words of a row: those of the first field, which all others have as well.
absl::StatusOr<int64_t> PlacesOf(const std::vector<WantedField>& wanted) {
  int64_t places = 0;
  for (const WantedField& each : wanted) {
    const Field& field = each.field;
    if (!IsOfWords(field.name) && field.name != kWeightsField) {
      if (!each.needed) continue;
      return InvalidArgument("the graph takes field {}; text has {}, {} and {}", Quoted(field.name), kIdsField,
                             kTargetsField, kWeightsField);
    }
    const bool fits = field.row.size() == 1 && (places == 0 || field.row[0] == places) &&
                      (IsOfWords(field.name) ? field.dtype == DType::kI32 : IsFloating(field.dtype));
    if (!fits) {
      return InvalidArgument("field {}: the graph takes {}{} in each row; text has {}[{}]", Quoted(field.name),
                             Name(field.dtype), ToString(field.row), IsOfWords(field.name) ? "i32" : "f32",
                             places == 0 ? "words" : fmt::to_string(places));
    }
    places = field.row[0];
  }
  if (places > 0) return places;
  return InvalidArgument("the graph takes no field of a text, which has {}, {} and {}", kIdsField, kTargetsField,
                         kWeightsField);
}

std::vector<Field> FieldsOf(const TokenBatchOptions& options) {
  std::vector<Field> fields;
  for (const WantedField& each : options.wanted) {
    if (IsOfWords(each.field.name) || each.field.name == kWeightsField) fields.push_back(each.field);
  }
  fields.push_back(options.row_weights);
  return fields;
}

}  // namespace

absl::StatusOr<std::shared_ptr<TokenBatches>> TokenBatches::Create(std::vector<int32_t> words,
                                                                   TokenBatchOptions options) {
  ASSIGN_OR_RETURN(const int64_t places, partita::PlacesOf(options.wanted));
  std::shared_ptr<TokenBatches> batches(new TokenBatches(std::move(words), options, places));
  RETURN_IF_ERROR(batches->CheckSizes(options));
  return batches;
}

TokenBatches::TokenBatches(std::vector<int32_t> words, const TokenBatchOptions& options, int64_t places)
    : words_(std::move(words)),
      fields_(FieldsOf(options)),
      batch_rows_(options.batch_rows),
      places_(places),
      following_(static_cast<int64_t>(words_.size()) - 1) {
  const auto up = [](int64_t whole, int64_t part) { return (whole + part - 1) / part; };
  if (options.mode == BatchMode::kTraining) {
    of_row_ = following_ / batch_rows_ / places_ * places_;
    batches_ = of_row_ / places_;
  } else {
    of_row_ = up(following_, batch_rows_);
    batches_ = up(of_row_, places_);
    filled_up_ = batches_ * batch_rows_ * places_ != following_;
  }
}

absl::Status TokenBatches::CheckSizes(const TokenBatchOptions& options) const {
  const auto weights = [](const WantedField& each) { return each.field.name == kWeightsField; };
  if (batches_ == 0 || following_ < 1) {
    const int64_t least = options.mode == BatchMode::kTraining ? batch_rows_ * places_ + 1 : 2;
    return InvalidArgument("found {}, {} of {} need at least {}", Counted(words_.size(), "word"),
                           Counted(batch_rows_, "row"), places_, least);
  }
  if (!filled_up_ || std::ranges::any_of(options.wanted, weights)) return absl::OkStatus();
  return InvalidArgument(
      "found {} words, of which the last batch of {} rows of {} is not full; the graph has no input {}, so what fills "
      "it up would count",
      words_.size(), batch_rows_, places_, Quoted(kWeightsField));
}

Rows TokenBatches::PlacesOf(int64_t batch, int64_t row) const {
  const int64_t in_row = batch % batches_ * places_, end = std::min((row + 1) * of_row_, following_);
  const int64_t first = std::min(row * of_row_ + in_row, end);
  return {first, std::min(first + places_, end)};
}

absl::Status TokenBatches::FillChecked(int64_t batch, Rows rows, const FieldBuffers& out) const {
  for (size_t f = 0; f < fields_.size(); ++f) {
    const Field& field = fields_[f];
    const auto row_bytes = static_cast<size_t>(field.row_bytes());
    for (int64_t i = 0; i < rows.size(); ++i) {
      const std::span<std::byte> to = out[f].subspan(static_cast<size_t>(i) * row_bytes, row_bytes);
      const Rows own = PlacesOf(batch, rows.begin + i);
      if (f + 1 == fields_.size()) {
        WriteWeights(field.dtype, 1, 1, to);
      } else if (field.name == kWeightsField) {
        WriteWeights(field.dtype, 1, own.size(), to);
      } else {
        const auto count = static_cast<size_t>(own.size()) * sizeof(int32_t);
        std::memcpy(to.data(), words_.data() + own.begin + (field.name == kTargetsField ? 1 : 0), count);
        std::ranges::fill(to.subspan(count), std::byte{0});
      }
    }
  }
  return absl::OkStatus();
}

uint64_t Digest(const std::vector<int32_t>& words) {
  return XXH3_64bits(words.data(), words.size() * sizeof(words[0]));
}

}  // namespace partita

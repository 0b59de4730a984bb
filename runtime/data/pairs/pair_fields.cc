#include "runtime/data/pairs/pair_fields.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"
#include "runtime/data/pairs/sentences.h"
#include "runtime/data/text/token_batches.h"
#include "runtime/data/text/write_weights.h"

namespace partita {
namespace {

enum class Side { kSource, kTarget, kNeither };

struct KnownField {
  const char* name;
  Side side;  // whose places it has
  bool floating;
};

constexpr KnownField kKnown[] = {{kSourceField, Side::kSource, false},
                                 {kSourceLengthsField, Side::kNeither, false},
                                 {kIdsField, Side::kTarget, false},
                                 {kTargetsField, Side::kTarget, false},
                                 {kWeightsField, Side::kTarget, true}};

const KnownField* Find(const std::string& name) {
  const auto found = std::ranges::find_if(kKnown, [&](const KnownField& known) { return name == known.name; });
  return found == std::end(kKnown) ? nullptr : found;
}

int64_t& PlacesOf(Side side, PairSize& size) { return side == Side::kSource ? size.source : size.target; }

// Whether the field is as pairs have it, in a row of this size (0: any), which it decides if it is the first.
absl::Status Check(const KnownField& known, const Field& field, PairSize& size) {
  int64_t* const places = known.side == Side::kNeither ? nullptr : &PlacesOf(known.side, size);
  const bool form = field.row.size() == (places == nullptr ? 0 : 1);
  const bool type = known.floating ? IsFloating(field.dtype) : field.dtype == DType::kI32;
  if (form && type && (places == nullptr || *places == 0 || *places == field.row[0])) {
    if (places != nullptr) *places = field.row[0];
    return absl::OkStatus();
  }
  const std::string room = places == nullptr ? "" : *places == 0 ? "[words]" : fmt::format("[{}]", *places);
  return InvalidArgument("field {}: the graph takes {}{} in each row; parallel texts have {}{}", Quoted(field.name),
                         Name(field.dtype), field.row.empty() ? "" : ToString(field.row),
                         known.floating ? "f32" : "i32", room);
}

// Between what may stand around them, and zeros behind.
void WriteWords(std::span<const int32_t> before, std::span<const int32_t> words, std::span<const int32_t> after,
                std::span<std::byte> out) {
  auto* to = reinterpret_cast<int32_t*>(out.data());
  int32_t* const end = to + out.size() / sizeof(int32_t);
  for (const auto part : {before, words, after}) to = std::ranges::copy(part, to).out;
  std::fill(to, end, kPaddingId);
}

}  // namespace

absl::StatusOr<PairSize> PairSizeOf(const std::vector<WantedField>& wanted) {
  PairSize size;
  for (const WantedField& each : wanted) {
    const KnownField* const known = Find(each.field.name);
    if (known != nullptr) {
      RETURN_IF_ERROR(Check(*known, each.field, size));
    } else if (each.needed) {
      return InvalidArgument("the graph takes field {}; parallel texts have {}, {}, {}, {} and {}",
                             Quoted(each.field.name), kSourceField, kSourceLengthsField, kIdsField, kTargetsField,
                             kWeightsField);
    }
  }
  if (size == PairSize()) return InvalidArgument("the graph takes no words of a parallel text");
  for (int64_t* const places : {&size.source, &size.target}) {
    if (*places == 0) *places = std::numeric_limits<int64_t>::max();
  }
  return size;
}

bool NeedTargets(const std::vector<WantedField>& wanted) {
  return std::ranges::any_of(wanted, [](const WantedField& each) {
    const KnownField* const known = Find(each.field.name);
    return each.needed && known != nullptr && known->side == Side::kTarget;
  });
}

std::vector<Field> PairFields(const std::vector<WantedField>& wanted, const PairSize& size) {
  std::vector<Field> fields;
  for (const WantedField& each : wanted) {
    const KnownField* const known = Find(each.field.name);
    if (known == nullptr) continue;
    Field& field = fields.emplace_back(each.field);
    if (known->side == Side::kSource) field.row = {size.source};
    if (known->side == Side::kTarget) field.row = {size.target};
  }
  return fields;
}

void FillPairField(const Field& field, const PairWords* pair, std::span<std::byte> out) {
  constexpr int32_t kBegin[] = {kBeginId}, kEnd[] = {kEndId};
  if (field.name == kSourceLengthsField) {
    WriteSome(pair == nullptr ? 1 : std::max(1, static_cast<int32_t>(pair->source.size())), 1, out);
  } else if (pair == nullptr) {
    std::ranges::fill(out, std::byte{0});
  } else if (field.name == kSourceField) {
    WriteWords({}, pair->source, {}, out);
  } else if (field.name == kIdsField) {
    WriteWords(kBegin, pair->target, {}, out);
  } else if (field.name == kTargetsField) {
    WriteWords({}, pair->target, kEnd, out);
  } else {
    WriteWeights(field.dtype, 1, static_cast<int64_t>(pair->target.size()) + 1, out);
  }
}

}  // namespace partita

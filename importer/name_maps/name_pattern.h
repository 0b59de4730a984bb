// Names of states and tensors with places in braces: "stage{s}/{block}/conv/weights", "layer{s}.{block}.conv.weight".
//
// {NAME} stands for the decimal digits of a number; or, if there is a table of that name, for one of the table's words,
// and in a name that is made for what the table has for it. A name that is made may add to a number: {s-1}, {s+2}.
#ifndef PARTITA_IMPORTER_NAME_MAPS_NAME_PATTERN_H_
#define PARTITA_IMPORTER_NAME_MAPS_NAME_PATTERN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace partita {

// Words of one side, and what they are on the other.
using NameTable = std::map<std::string, std::string, std::less<>>;
using NameTables = std::map<std::string, NameTable, std::less<>>;
// What the places of a pattern stand for in a name.
using NameParts = std::map<std::string, std::string, std::less<>>;

class NamePattern {
 public:
  // kInvalidArgument: braces that do not close, that are empty, or that have something else than a name and a number.
  static absl::StatusOr<NamePattern> Parse(std::string_view text, const NameTables& tables);

  // Nothing: the name does not match. Numbers of the pattern itself are ignored.
  std::optional<NameParts> Match(std::string_view name) const;
  // kInvalidArgument: a place that `parts` does not have, or a sum that is negative or no number.
  absl::StatusOr<std::string> Make(const NameParts& parts) const;

 private:
  struct Piece {
    std::string literal = {};  // before the place
    std::string place = {};    // "": none, the last piece
    int64_t added = 0;
    NameTable table = {};  // empty: numbers
  };
  bool MatchFrom(size_t piece, std::string_view rest, NameParts& parts) const;

  std::vector<Piece> pieces_;
};

}  // namespace partita

#endif  // PARTITA_IMPORTER_NAME_MAPS_NAME_PATTERN_H_

// Which tensor of another program's file a state of a graph is, and how it lies there (docs/reference/name-maps.md).
#ifndef PARTITA_IMPORTER_NAME_MAPS_NAME_MAP_H_
#define PARTITA_IMPORTER_NAME_MAPS_NAME_MAP_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "importer/name_maps/name_pattern.h"
#include "importer/name_maps/rearrangement.h"

namespace partita {

struct ForeignTensor {
  std::string name;
  std::vector<std::string> copies = {};  // further names of the same tensor, as of tied weights
  Rearrangement order = {};
};

class NameMap {
 public:
  using HasState = std::function<bool(const std::string& state)>;

  // Each state is the tensor of its own name.
  NameMap() = default;
  // The text of a map. `path`: what errors call it. kInvalidArgument: a line is not as the reference says.
  static absl::StatusOr<NameMap> Parse(const std::string& path, const std::string& text);
  // Of single states; tensors that match `ignored` are of no meaning.
  NameMap(std::map<std::string, ForeignTensor> tensors, std::vector<std::string> ignored)
      : is_same_(false), tensors_(std::move(tensors)), ignored_(std::move(ignored)) {}

  // Nothing: the map has no such state. `has`: the states of the graph.
  absl::StatusOr<std::optional<ForeignTensor>> Find(const std::string& state, const HasState& has) const;
  bool Ignores(const std::string& tensor) const;
  // Which names in a file may lack in front: "transformer.", or "".
  const std::string& optional_prefix() const { return optional_prefix_; }

 private:
  struct Rule {
    NamePattern state, tensor;
    Rearrangement order;
    bool copy = false;
    std::string condition = {};  // a state that the graph has; "": any graph
  };
  absl::Status ParseLine(std::vector<std::string> words);
  absl::Status ParseTable(const std::vector<std::string>& words);

  bool is_same_ = true;
  std::map<std::string, ForeignTensor> tensors_;
  NameTables tables_;
  std::vector<Rule> rules_;
  std::vector<std::string> ignored_;
  std::string optional_prefix_;
};

// The map called `map` for a graph of that name: a file; or a shipped one, "torchvision", "timm" or "huggingface",
// or "PACKAGE/MODEL" where the graph has another name. kInvalidArgument: there is none, which there are; or as Parse.
absl::StatusOr<NameMap> FindNameMap(const std::string& map, const std::string& graph);

}  // namespace partita

#endif  // PARTITA_IMPORTER_NAME_MAPS_NAME_MAP_H_

// The implementation of the library's Model.
#ifndef PARTITA_PARTITA_MODEL_PARTS_H_
#define PARTITA_PARTITA_MODEL_PARTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/ir/model.h"
#include "partita/partita.h"

namespace partita::api {

struct Model::Parts {
  partita::Model model;
  std::vector<Field> fields;  // of the graph's inputs
  std::string source;         // where it is from, for messages: a path, or "the text"
  std::string loss;           // that was added to an exported program, or ""

  static Result<Model> Make(absl::StatusOr<partita::Model> model, const std::string& source,
                            const std::string& loss = {});
};

}  // namespace partita::api

#endif  // PARTITA_PARTITA_MODEL_PARTS_H_

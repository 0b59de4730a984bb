// Definitions of the attributes of an op or an optimizer: names, types and defaults.
#ifndef PARTITA_GRAPH_VALUE_ATTRIBUTE_DEFINITION_H_
#define PARTITA_GRAPH_VALUE_ATTRIBUTE_DEFINITION_H_

#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/value/attributes.h"

namespace partita {

// Its default fixes its type. Which values are allowed is said by whose it is.
struct AttributeDefinition {
  std::string name;
  Attribute type_and_default;
  bool required = false;
  bool optional = false;  // absent unless it is set

  bool has_default() const { return !required && !optional; }
};

// Fills in defaults and checks names and types: unknown ones get a "did you mean". `kind` and `name` say whose they
// are: "op" and its name.
absl::StatusOr<Attributes> CompleteAttributes(const char* kind, const std::string& name,
                                              const std::vector<AttributeDefinition>& definitions,
                                              const Attributes& given);

// Refuses a value of `field` that is not finite, or not in [least, below).
absl::Status CheckRange(const std::string& field, double value, double least,
                        double below = std::numeric_limits<double>::infinity());

}  // namespace partita

#endif  // PARTITA_GRAPH_VALUE_ATTRIBUTE_DEFINITION_H_

// Numbers as the attribute `values` of a state lists them (ops/values/initializer.h): "0,1.5x3,-2" are 0, three times
// 1.5 and -2.
#ifndef PARTITA_GRAPH_READ_LISTED_VALUES_H_
#define PARTITA_GRAPH_READ_LISTED_VALUES_H_

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>

namespace partita {

// Of finite numbers.
inline std::string ListedValues(std::span<const double> values) {
  std::string text;
  for (size_t i = 0; i < values.size();) {
    size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", values[i]);
    if (end - i > 1) text += fmt::format("x{}", end - i);
    i = end;
  }
  return text;
}

}  // namespace partita

#endif  // PARTITA_GRAPH_READ_LISTED_VALUES_H_

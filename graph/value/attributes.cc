#include "graph/value/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace partita {

std::string ToString(const Attribute& attribute) {
  struct Printer {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const {
      std::string text = fmt::format("{}", value);
      if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";  // a float stays a float
      return text;
    }
    std::string operator()(const std::string& value) const { return value; }
    std::string operator()(const IntList& value) const { return fmt::format("[{}]", fmt::join(value, ",")); }
  };
  return std::visit(Printer(), attribute);
}

}  // namespace partita

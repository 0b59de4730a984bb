#include "runtime/data/arrays/npy_header.h"

#include <charconv>
#include <set>

#include "graph/value/node_name.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

// Reads the literal from the front; each call says whether what it names was there.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }

  bool Take(std::string_view token) {
    SkipSpaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  bool TakeText(std::string& text) {
    SkipSpaces();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return false;
    text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }

  bool TakeBool(bool& value) {
    if (Take("True")) return value = true;
    value = false;
    return Take("False");
  }

  // (), (3,), (3, 4)
  bool TakeSizes(std::vector<int64_t>& sizes) {
    if (!Take("(")) return false;
    while (!Take(")")) {
      if (!sizes.empty() && !comma_) return false;
      int64_t size = 0;
      if (!TakeNumber(size)) return false;
      sizes.push_back(size);
      comma_ = Take(",");
    }
    return true;
  }

 private:
  bool TakeNumber(int64_t& number) {
    SkipSpaces();
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error != std::errc() || number < 0) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }

  void SkipSpaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }

  std::string_view rest_;
  bool comma_ = false;
};

// The value behind `key`.
bool TakeValue(Literal& literal, const std::string& key, NpyHeader& header) {
  if (key == "descr") return literal.TakeText(header.descr);
  if (key == "fortran_order") return literal.TakeBool(header.fortran_order);
  return key == "shape" && literal.TakeSizes(header.shape);
}

}  // namespace

absl::StatusOr<NpyHeader> ParseNpyHeader(std::string_view text, const std::string& name) {
  Literal literal(text);
  NpyHeader header;
  std::set<std::string> keys;
  bool whole = literal.Take("{");
  while (whole && !literal.Take("}")) {
    std::string key;
    whole = literal.TakeText(key) && literal.Take(":") && TakeValue(literal, key, header) && keys.insert(key).second;
    literal.Take(",");
  }
  literal.Take("\n");
  if (whole && keys.size() == 3 && literal.rest().empty()) return header;
  return InvalidArgument("{}: found the header {}, allowed is {{'descr': ..., 'fortran_order': ..., 'shape': ...}}",
                         name, Quoted(std::string(text)));
}

}  // namespace partita

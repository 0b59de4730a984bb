#include "importer/name_maps/rearrangement.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>

#include "graph/value/node_name.h"
#include "importer/constants/constants.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

constexpr int64_t kLargestSize = int64_t{1} << 40, kMostParts = 64;

absl::StatusOr<int64_t> SizeIn(std::string_view text) {
  int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  if (!whole || size < 0 || size > kLargestSize)
    return InvalidArgument("found {}; expected a size", Quoted(std::string(text)));
  return size;
}

std::multiset<char> Letters(const std::vector<std::string>& side) {
  std::multiset<char> letters;
  for (const std::string& dimension : side) {
    if (dimension != "1") letters.insert(dimension.begin(), dimension.end());
  }
  return letters;
}

}  // namespace

absl::StatusOr<std::vector<Rearrangement::Dimension>> Rearrangement::ParseSide(std::string_view side) {
  std::vector<Dimension> dimensions;
  bool inside = false;
  for (const char c : side) {
    const bool letter = c >= 'a' && c <= 'z';
    if (c == '(' && !inside) {
      inside = true;
      dimensions.emplace_back();
    } else if (c == ')' && inside && !dimensions.back().empty()) {
      inside = false;
    } else if (letter && inside) {
      dimensions.back() += c;
    } else if (letter || (c == '1' && !inside)) {
      dimensions.emplace_back(1, c);
    } else {
      return InvalidArgument("order {} has {}; expected small letters, 1 and parentheses", Quoted(std::string(side)),
                             Quoted(std::string(1, c)));
    }
  }
  if (inside) return InvalidArgument("order {} has a parenthesis that does not close", Quoted(std::string(side)));
  return dimensions;
}

absl::StatusOr<Rearrangement> Rearrangement::Parse(std::span<const std::string> words) {
  Rearrangement made;
  if (words.empty()) return made;
  made.is_same_ = false;
  const std::string& order = words[0];
  const size_t arrow = order.find('>');
  if (arrow == std::string::npos) {
    return InvalidArgument("order {} has no '>'; expected dimensions of the file's tensor, '>', and the state's",
                           Quoted(order));
  }
  ASSIGN_OR_RETURN(made.tensor_, ParseSide(std::string_view(order).substr(0, arrow)));
  ASSIGN_OR_RETURN(made.state_, ParseSide(std::string_view(order).substr(arrow + 1)));
  const std::multiset<char> letters = Letters(made.tensor_);
  if (letters != Letters(made.state_) || std::ranges::adjacent_find(letters) != letters.end()) {
    return InvalidArgument("order {}: expected each letter once on either side", Quoted(order));
  }
  for (const std::string& word : words.subspan(1)) {
    const size_t colon = word.find(':'), slash = word.find('/');
    if (word.starts_with("part=") && colon == 6 && slash != std::string::npos && letters.contains(word[5])) {
      made.parted_ = word[5];
      ASSIGN_OR_RETURN(made.part_, SizeIn(std::string_view(word).substr(7, slash - 7)));
      ASSIGN_OR_RETURN(made.parts_, SizeIn(std::string_view(word).substr(slash + 1)));
      if (made.part_ < made.parts_ && made.parts_ <= kMostParts) continue;
    } else if (word.size() > 2 && word[1] == '=' && letters.contains(word[0])) {
      ASSIGN_OR_RETURN(made.given_[word[0]], SizeIn(std::string_view(word).substr(2)));
      continue;
    }
    return InvalidArgument("found {}; expected the size of a dimension, as h=7, or a part, as part=o:0/3",
                           Quoted(word));
  }
  return made;
}

Rearrangement Rearrangement::OfOrder(std::span<const int> order) {
  Rearrangement made;
  made.is_same_ = false;
  for (size_t d = 0; d < order.size(); ++d) made.tensor_.emplace_back(1, static_cast<char>('a' + d));
  for (const int d : order) made.state_.emplace_back(1, static_cast<char>('a' + d));
  return made;
}

absl::StatusOr<Rearrangement::Sizes> Rearrangement::SizesOf(const Shape& state) const {
  if (state.size() != state_.size()) {
    return InvalidArgument("the state is {}; expected {} dimensions", ToString(state), state_.size());
  }
  Sizes sizes = given_;
  for (size_t d = 0; d < state_.size(); ++d) {
    int64_t rest = state[d];
    char open = 0;
    for (const char letter : state_[d]) {
      if (letter == '1') continue;
      if (!given_.contains(letter)) {
        if (open != 0) return InvalidArgument("the sizes of {} and {} are unknown; expected one of them", open, letter);
        open = letter;
      } else {
        const int64_t given = given_.at(letter);
        if (given == 0 || rest % given != 0)
          return InvalidArgument("the state is {}; {} is not {}", ToString(state), letter, given);
        rest /= given;
      }
    }
    if (open != 0) {
      sizes[open] = rest;
    } else if (rest != 1) {
      return InvalidArgument("the state is {}; dimension {} is another one", ToString(state), d);
    }
  }
  return sizes;
}

int64_t Rearrangement::SizeInTensor(char letter, const Sizes& sizes) const {
  return letter == '1' ? 1 : sizes.at(letter) * (letter == parted_ ? parts_ : 1);
}

absl::StatusOr<std::vector<int64_t>> Rearrangement::TensorShape(const Shape& state) const {
  if (is_same_) return std::vector<int64_t>(state.begin(), state.end());
  ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(state));
  std::vector<int64_t> shape;
  for (const Dimension& dimension : tensor_) {
    int64_t size = 1;
    for (const char letter : dimension) size *= SizeInTensor(letter, sizes);
    shape.push_back(size);
  }
  return shape;
}

absl::StatusOr<std::vector<int64_t>> Rearrangement::Places(const Shape& state) const {
  if (is_same_) {
    std::vector<int64_t> places(static_cast<size_t>(Elements(state)));
    std::iota(places.begin(), places.end(), 0);
    return places;
  }
  ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(state));
  std::map<char, int64_t> strides;
  int64_t stride = 1;
  for (auto dimension = tensor_.rbegin(); dimension != tensor_.rend(); ++dimension) {
    for (auto letter = dimension->rbegin(); letter != dimension->rend(); ++letter) {
      strides[*letter] = stride;
      stride *= SizeInTensor(*letter, sizes);
    }
  }
  Shape factors;
  std::vector<int64_t> steps;
  for (const Dimension& dimension : state_) {
    for (const char letter : dimension) {
      factors.push_back(letter == '1' ? 1 : sizes.at(letter));
      steps.push_back(letter == '1' ? 0 : strides.at(letter));
    }
  }
  const int64_t begin = parted_ == 0 ? 0 : part_ * sizes.at(parted_) * strides.at(parted_);
  return torch_export::PlacesOf(factors, steps, begin);
}

}  // namespace partita

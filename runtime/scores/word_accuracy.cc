#include "runtime/scores/word_accuracy.h"

#include <algorithm>
#include <string_view>

namespace partita {
namespace {

bool IsLetter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

// A sound, which is letters, and one digit.
bool HasStress(std::string_view token) {
  const bool digit = token.size() > 1 && token.back() >= '0' && token.back() <= '9';
  return digit && std::ranges::all_of(token.substr(0, token.size() - 1), IsLetter);
}

std::string_view WithoutStress(std::string_view token) {
  return token.substr(0, token.size() - (HasStress(token) ? 1 : 0));
}

}  // namespace

void WordAccuracy::Add(const std::vector<std::string>& hypothesis, const std::vector<std::string>& reference) {
  ++sequences_;
  if (hypothesis == reference) ++right_;
  if (std::ranges::equal(hypothesis, reference, {}, WithoutStress, WithoutStress)) ++right_without_stress_;
  has_stress_ = has_stress_ || std::ranges::any_of(reference, HasStress);
}

}  // namespace partita

#include "runtime/scores/word_accuracy.h"

#include <algorithm>
#include <string_view>

namespace partita {
namespace {

bool IsCapital(char c) { return c >= 'A' && c <= 'Z'; }

// A vowel of the CMU dictionary, unstressed, or with the first or second stress of its word.
bool HasStress(std::string_view token) {
  return token.size() == 3 && IsCapital(token[0]) && IsCapital(token[1]) && token[2] >= '0' && token[2] <= '2';
}

std::string_view WithoutStress(std::string_view token) {
  return token.substr(0, token.size() - (HasStress(token) ? 1 : 0));
}

}  // namespace

void WordAccuracy::Add(const std::vector<std::string>& hypothesis, const std::vector<std::string>& reference) {
  ++sequences_;
  if (hypothesis == reference) ++right_;
  if (std::ranges::equal(hypothesis, reference, {}, WithoutStress, WithoutStress)) ++right_without_stress_;
  if (std::ranges::any_of(reference, HasStress)) ++stressed_;
}

}  // namespace partita

#include "tests/fuzz/targets/promise.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace partita {
namespace {

constexpr size_t kLongestSentence = 2000;

bool IsPrintable(char c) { return c >= ' ' && c <= '~'; }

}  // namespace

void Promise(bool kept, const std::string& otherwise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", otherwise.c_str());
  std::abort();
}

void PromiseRefusal(const absl::Status& status) {
  const std::string message(status.message());
  Promise(absl::IsInvalidArgument(status) || absl::IsResourceExhausted(status), "another error: " + status.ToString());
  Promise(!message.empty() && message.size() < kLongestSentence, "no sentence, or an endless one: " + message);
  Promise(std::ranges::all_of(message, IsPrintable), "not printable: " + message);
}

}  // namespace partita

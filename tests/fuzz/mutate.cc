#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <random>

namespace partita {
namespace {

constexpr int kMostMutations = 6;
constexpr size_t kLongestPart = 64, kMostRepeats = 1 << 16;

// What readers have been seen to stumble over.
constexpr char kBytes[] = {0, 1, 0x7f, '\x80', '\xff', '\n', '"', '{', '[', '<', '-', '9', '\\', '/'};
constexpr uint64_t kNumbers[] = {0,          1,          2,          0x7f,       0x80,       0xff,
                                 0x7fff,     0x8000,     0xffff,     0x7fffffff, 0x80000000, 0xffffffff,
                                 1ULL << 40, 1ULL << 53, 1ULL << 62, 1ULL << 63, ~0ULL >> 1, ~0ULL};
constexpr const char* kDecimals[] = {"0",    "-1",  "1e999", "-0", "4294967296", "9223372036854775807", "nan",
                                     "1e-9", "0.5", "007",   "+1", "",           "18446744073709551616"};

class Draw {
 public:
  explicit Draw(uint64_t seed) : generator_(seed) {}
  size_t Below(size_t n) { return generator_() % n; }
  template <typename T, size_t n>
  T OneOf(const T (&list)[n]) {
    return list[Below(n)];
  }

 private:
  std::mt19937_64 generator_;
};

struct Part {
  size_t begin = 0, size = 0;
};

// Of at most `most` bytes, often few.
Part PartOf(const std::string& bytes, size_t most, Draw& draw) {
  const size_t begin = draw.Below(bytes.size() + 1);
  return {begin, draw.Below(std::min(most, bytes.size() - begin) + 1)};
}

void FlipBit(std::string& bytes, const std::string&, Draw& draw) {
  if (!bytes.empty()) bytes[draw.Below(bytes.size())] ^= static_cast<char>(1 << draw.Below(8));
}

void SetByte(std::string& bytes, const std::string&, Draw& draw) {
  if (bytes.empty()) return;
  bytes[draw.Below(bytes.size())] = draw.Below(2) == 0 ? draw.OneOf(kBytes) : static_cast<char>(draw.Below(256));
}

// A number of 1, 2, 4 or 8 bytes, of either order.
void SetNumber(std::string& bytes, const std::string&, Draw& draw) {
  const size_t size = size_t{1} << draw.Below(4);
  if (bytes.size() < size) return;
  const uint64_t number = draw.OneOf(kNumbers);
  const bool little = draw.Below(2) == 0;
  const size_t begin = draw.Below(bytes.size() - size + 1);
  for (size_t i = 0; i < size; ++i) bytes[begin + (little ? i : size - 1 - i)] = static_cast<char>(number >> 8 * i);
}

// The digits from a drawn place on.
void SetDecimal(std::string& bytes, const std::string&, Draw& draw) {
  const auto is_digit = [](unsigned char byte) { return std::isdigit(byte) != 0; };
  const auto begin =
      std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(draw.Below(bytes.size() + 1)), bytes.end(), is_digit);
  bytes.replace(begin, std::find_if_not(begin, bytes.end(), is_digit), draw.OneOf(kDecimals));
}

void Insert(std::string& bytes, const std::string&, Draw& draw) {
  bytes.insert(draw.Below(bytes.size() + 1), 1 + draw.Below(8), draw.OneOf(kBytes));
}

void LeaveOut(std::string& bytes, const std::string&, Draw& draw) {
  const Part part = PartOf(bytes, draw.Below(4) == 0 ? bytes.size() : kLongestPart, draw);
  bytes.erase(part.begin, part.size);
}

void CutShort(std::string& bytes, const std::string&, Draw& draw) { bytes.resize(draw.Below(bytes.size() + 1)); }

void Double(std::string& bytes, const std::string&, Draw& draw) {
  const Part part = PartOf(bytes, bytes.size(), draw);
  bytes.insert(part.begin, std::string(bytes, part.begin, part.size));
}

// Depth without end, lists without end.
void Repeat(std::string& bytes, const std::string&, Draw& draw) {
  if (draw.Below(8) != 0) return;
  const Part part = PartOf(bytes, 1 + draw.Below(16), draw);
  const std::string repeated(bytes, part.begin, part.size);
  std::string more;
  for (size_t i = draw.Below(kMostRepeats); i > 0 && more.size() < kLargestInput; --i) more += repeated;
  bytes.insert(part.begin, more);
}

void Move(std::string& bytes, const std::string&, Draw& draw) {
  const Part part = PartOf(bytes, kLongestPart, draw);
  const std::string moved(bytes, part.begin, part.size);
  bytes.erase(part.begin, part.size);
  bytes.insert(draw.Below(bytes.size() + 1), moved);
}

void Splice(std::string& bytes, const std::string& other, Draw& draw) {
  const Part from = PartOf(other, draw.Below(2) == 0 ? other.size() : kLongestPart, draw);
  const Part to = PartOf(bytes, kLongestPart, draw);
  bytes.replace(to.begin, to.size, other, from.begin, from.size);
}

using Mutation = void (*)(std::string& bytes, const std::string& other, Draw& draw);
constexpr Mutation kMutations[] = {FlipBit,  SetByte, SetNumber, SetDecimal, Insert, LeaveOut,
                                   CutShort, Double,  Repeat,    Move,       Splice};

}  // namespace

Mutator::Mutator(std::vector<std::string> corpus, uint64_t seed) : corpus_(std::move(corpus)), seed_(seed) {
  if (corpus_.empty()) corpus_.emplace_back();
}

std::string Mutator::Make(int64_t number) const {
  constexpr uint64_t kStride = 0x9e3779b97f4a7c15;
  Draw draw(seed_ * kStride + static_cast<uint64_t>(number));
  std::string bytes = corpus_[draw.Below(corpus_.size())];
  for (size_t left = 1 + draw.Below(kMostMutations); left > 0; --left) {
    draw.OneOf(kMutations)(bytes, corpus_[draw.Below(corpus_.size())], draw);
    bytes.resize(std::min(bytes.size(), kLargestInput));
  }
  return bytes;
}

}  // namespace partita

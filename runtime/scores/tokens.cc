#include "runtime/scores/tokens.h"

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "runtime/base/status.h"
#include "runtime/scores/characters.h"

namespace partita {
namespace {

bool IsDigit(char32_t c) { return c >= '0' && c <= '9'; }
bool IsPointOrComma(char32_t c) { return c == '.' || c == ','; }
bool IsDash(char32_t c) { return c == '-'; }
bool IsNoDigit(char32_t c) { return !IsDigit(c); }
bool IsNoNumber(char32_t c) { return !IsNumber(c); }

// ASCII's punctuation but for the apostrophe, comma, dash and period; the space.
bool Is13aPunctuation(char32_t c) {
  const auto within = [&](char32_t first, char32_t last) { return first <= c && c <= last; };
  return within('{', '~') || within('[', '`') || within(' ', '&') || within('(', '+') || within(':', '@') || c == '/';
}

template <typename Is>
std::u32string SetApart(const std::u32string& text, const Is& is) {
  std::u32string apart;
  for (const char32_t c : text) {
    if (is(c)) {
      apart += {U' ', c, U' '};
    } else {
      apart += c;
    }
  }
  return apart;
}

// Of two characters that follow each other, which is set apart.
enum class Of { kFirst, kSecond };

// Pairs are looked for from the left, and none begins inside of another one: so the rules' expressions match.
template <typename First, typename Second>
std::u32string SetApart(Of which, const std::u32string& text, const First& first, const Second& second) {
  std::u32string apart;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      apart += text[i];
      continue;
    }
    if (which == Of::kFirst) {
      apart += {U' ', text[i], U' ', text[i + 1]};
    } else {
      apart += {text[i], U' ', text[i + 1], U' '};
    }
    ++i;
  }
  return apart;
}

std::u32string By13a(std::u32string text) {
  text = SetApart(U" " + text + U" ", Is13aPunctuation);
  text = SetApart(Of::kSecond, text, IsNoDigit, IsPointOrComma);
  text = SetApart(Of::kFirst, text, IsPointOrComma, IsNoDigit);
  return SetApart(Of::kSecond, text, IsDigit, IsDash);
}

std::u32string ByInternational(std::u32string text) {
  text = SetApart(Of::kSecond, text, IsNoNumber, IsPunctuation);
  text = SetApart(Of::kFirst, text, IsPunctuation, IsNoNumber);
  return SetApart(text, IsSymbol);
}

// One after the other: &amp;lt; is two of them.
std::string WithoutEntities(std::string line) {
  absl::StrReplaceAll({{"<skipped>", ""}}, &line);
  absl::StrReplaceAll({{"&quot;", "\""}}, &line);
  absl::StrReplaceAll({{"&amp;", "&"}}, &line);
  absl::StrReplaceAll({{"&lt;", "<"}}, &line);
  absl::StrReplaceAll({{"&gt;", ">"}}, &line);
  return line;
}

std::vector<std::string> Split(const std::u32string& text) {
  std::vector<std::string> tokens;
  auto end = text.begin();
  while (true) {
    const auto begin = std::find_if_not(end, text.end(), IsSpace);
    if (begin == text.end()) return tokens;
    end = std::find_if(begin, text.end(), IsSpace);
    tokens.push_back(Utf8({begin, end}));
  }
}

}  // namespace

std::string JoinPieces(const std::string& line) {
  const std::string text = absl::StrReplaceAll(line, {{" ", ""}, {"\u2581", " "}});
  return text.starts_with(' ') ? text.substr(1) : text;
}

absl::StatusOr<std::vector<std::string>> TokensOf(const std::string& line, const TokenOptions& options) {
  ASSIGN_OR_RETURN(std::u32string text, Characters(line));
  if (options.lower_case) text = LowerCase(text);
  while (!text.empty() && IsSpace(text.back())) text.pop_back();
  switch (options.rule) {
    case TokenRule::kNone:
      return Split(text);
    case TokenRule::k13a: {
      ASSIGN_OR_RETURN(const std::u32string plain, Characters(WithoutEntities(Utf8(text))));
      return Split(By13a(plain));
    }
    case TokenRule::kInternational:
      return Split(ByInternational(text));
  }
  return std::vector<std::string>();
}

}  // namespace partita

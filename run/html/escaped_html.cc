#include "run/html/escaped_html.h"

namespace partita {
namespace {

std::string Escaped(char c) {
  switch (c) {
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '&':
      return "&amp;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case '\n':
    case '\t':
      return std::string(1, c);
    default:
      // Other control characters are in no document.
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? "\xef\xbf\xbd" : std::string(1, c);
  }
}

}  // namespace

std::string EscapedHtml(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += Escaped(c);
  return escaped;
}

}  // namespace partita

#include "run/html/html_page.h"

#include <fmt/format.h>

#include "run/html/escaped_html.h"
#include "run/html/style.h"

namespace partita {
namespace {

std::string Svg(const std::string& label, double width, double height, const char* limit, double pixels,
                const std::string& shapes) {
  return fmt::format(
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" style=\"{}:{:.0f}px\" role=\"img\" aria-label=\"{}\">\n{}</svg>", width,
      height, limit, pixels, EscapedHtml(label), shapes);
}

}  // namespace

std::string HtmlPage(const std::string& title, const std::string& style, const std::string& body, int refresh_seconds) {
  const std::string refresh =
      refresh_seconds > 0 ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", refresh_seconds) : "";
  return fmt::format(R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
{}<title>{}</title>
<style>
{}{}</style></head><body>
{}</body></html>
)",
                     refresh, EscapedHtml(title), kPageStyle, style, body);
}

std::string HtmlPicture(const std::string& label, double width, double height, const std::string& shapes) {
  return fmt::format("<div class=\"picture\" tabindex=\"0\">{}</div>\n",
                     Svg(label, width, height, "min-width", 0.85 * width, shapes));
}

std::string HtmlFigure(const std::string& label, double width, double height, const std::string& shapes) {
  return Svg(label, width, height, "max-width", width, shapes) + "\n";
}

std::string HtmlTable(const std::string& caption, const std::vector<std::vector<std::string>>& rows, size_t left) {
  std::string text =
      fmt::format("<div class=\"picture\" tabindex=\"0\"><table><caption>{}</caption>\n", EscapedHtml(caption));
  for (size_t r = 0; r < rows.size(); ++r) {
    text += "<tr>";
    for (size_t c = 0; c < rows[r].size(); ++c) {
      const char* const tag = r == 0 || c == 0 ? "th" : "td";
      const char* const scope = r == 0 ? " scope=\"col\"" : c == 0 ? " scope=\"row\"" : "";
      text +=
          fmt::format("<{0}{1}{2}>{3}</{0}>", tag, scope, c < left ? " class=\"text\"" : "", EscapedHtml(rows[r][c]));
    }
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string HtmlDetails(const std::string& summary, const std::string& body) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", EscapedHtml(summary), body);
}

}  // namespace partita

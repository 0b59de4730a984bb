#include "tools/program/html/html_page.h"

#include <fmt/format.h>

#include "tools/program/html/escaped_html.h"

namespace partita {

std::string HtmlPage(const std::string& title, const std::string& style, const std::string& body) {
  return fmt::format(R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222; }}
pre {{ font-size: 13px; overflow-x: auto; }}
svg text {{ font: 12px system-ui, sans-serif; fill: #444; }}
.picture {{ overflow-x: auto; }}
.picture svg {{ width: 100%; min-width: 800px; }}
{}</style></head><body>
{}</body></html>
)",
                     EscapedHtml(title), style, body);
}

std::string HtmlPicture(double width, double height, const std::string& shapes) {
  return fmt::format("<div class=\"picture\"><svg viewBox=\"0 0 {} {}\">\n{}</svg></div>\n", width, height, shapes);
}

}  // namespace partita

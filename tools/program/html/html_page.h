// A page of one file, which needs nothing else.
#ifndef PARTITA_TOOLS_PROGRAM_HTML_HTML_PAGE_H_
#define PARTITA_TOOLS_PROGRAM_HTML_HTML_PAGE_H_

#include <string>

namespace partita {

// `title`: plain text. `style`: rules of the page besides those of all. `body`: HTML.
std::string HtmlPage(const std::string& title, const std::string& style, const std::string& body);

// An SVG picture as wide as the page. On a narrow screen it keeps a readable size and scrolls. `shapes`: SVG elements.
std::string HtmlPicture(double width, double height, const std::string& shapes);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_HTML_HTML_PAGE_H_

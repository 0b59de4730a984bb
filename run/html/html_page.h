// A page of one file, which needs nothing else: no script, no network.
#ifndef PARTITA_RUN_HTML_HTML_PAGE_H_
#define PARTITA_RUN_HTML_HTML_PAGE_H_

#include <string>
#include <vector>

namespace partita {

// `title`: plain text. `style`: rules of the page besides those of all. `body`: HTML. `refresh_seconds`: how often a
// browser reads the file again; 0: never.
std::string HtmlPage(const std::string& title, const std::string& style, const std::string& body,
                     int refresh_seconds = 0);

// An SVG picture as wide as the page. On a narrow screen it keeps a readable size and scrolls. `label`: plain text,
// what a screen reader says of it. `shapes`: SVG elements.
std::string HtmlPicture(const std::string& label, double width, double height, const std::string& shapes);

// The same that is never wider than `width` pixels, and shrinks with the screen.
std::string HtmlFigure(const std::string& label, double width, double height, const std::string& shapes);

// The first row names the columns, the first cell of each other row the row. Cells are plain text; all but the first
// `left` columns are numbers.
std::string HtmlTable(const std::string& caption, const std::vector<std::vector<std::string>>& rows, size_t left = 1);

// `body` under a line that opens it.
std::string HtmlDetails(const std::string& summary, const std::string& body);

}  // namespace partita

#endif  // PARTITA_RUN_HTML_HTML_PAGE_H_

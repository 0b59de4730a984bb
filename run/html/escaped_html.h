// Common parts of HTML pages.
#ifndef PARTITA_RUN_HTML_ESCAPED_HTML_H_
#define PARTITA_RUN_HTML_ESCAPED_HTML_H_

#include <string>

namespace partita {

// As text between tags, or an attribute's value between quotes. Control characters become U+FFFD.
std::string EscapedHtml(const std::string& text);

}  // namespace partita

#endif  // PARTITA_RUN_HTML_ESCAPED_HTML_H_

#include "runtime/base/file_name.h"

#include <algorithm>
#include <iterator>

namespace partita {
namespace {

// Of macOS, Windows and Synology's file servers.
constexpr std::string_view kForeignNames[] = {
    "__macosx", "icon\r", "thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin", "system volume information",
    "@eadir"};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// `lower` is in lower case.
bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, {}, Lower);
}

bool IsForeignName(std::string_view name) {
  if (name.starts_with('.')) return name != "." && name != "..";
  return std::ranges::any_of(kForeignNames, [&](std::string_view each) { return EqualsIgnoringCase(name, each); });
}

}  // namespace

bool HasEnding(std::string_view name, std::string_view ending) {
  return name.size() >= ending.size() && EqualsIgnoringCase(name.substr(name.size() - ending.size()), ending);
}

bool HasPictureEnding(std::string_view name) {
  return HasEnding(name, ".png") || HasEnding(name, ".jpg") || HasEnding(name, ".jpeg");
}

bool IsForeignFile(std::string_view path) {
  while (true) {
    const size_t slash = path.find('/');
    if (IsForeignName(path.substr(0, slash))) return true;
    if (slash == std::string_view::npos) return false;
    path.remove_prefix(slash + 1);
  }
}

}  // namespace partita

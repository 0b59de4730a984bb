// What readers of data derive from the name of a file: its ending, and whether another system left it behind.
#ifndef PARTITA_RUNTIME_BASE_FILE_NAME_H_
#define PARTITA_RUNTIME_BASE_FILE_NAME_H_

#include <string_view>

namespace partita {

// ".jpg" also ends "X.JPG": the case of ASCII letters does not count.
bool HasEnding(std::string_view name, std::string_view ending);

// ".png", ".jpg" or ".jpeg".
bool HasPictureEnding(std::string_view name);

// Whether some part of the path is a name that no reader looks at: one that begins with a point (".DS_Store",
// "._x.png", in which macOS keeps attributes of x.png), or that a file manager writes beside a user's files
// ("__MACOSX", "Thumbs.db", "desktop.ini"). "." and ".." are no such names.
bool IsForeignFile(std::string_view path);

}  // namespace partita

#endif  // PARTITA_RUNTIME_BASE_FILE_NAME_H_

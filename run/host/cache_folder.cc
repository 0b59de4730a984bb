#include "run/host/cache_folder.h"

#include <cstdlib>

namespace partita {

std::string CacheFolder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/partita";
  const char* const home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? "" : std::string(home) + "/.cache/partita";
}

}  // namespace partita

// The folder in which programs cache results from run to run.
#ifndef PARTITA_RUN_HOST_CACHE_FOLDER_H_
#define PARTITA_RUN_HOST_CACHE_FOLDER_H_

#include <string>

namespace partita {

// `partita` in XDG_CACHE_HOME, else in ~/.cache; empty: neither is known.
std::string CacheFolder();

}  // namespace partita

#endif  // PARTITA_RUN_HOST_CACHE_FOLDER_H_

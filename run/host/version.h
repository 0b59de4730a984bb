// The version that reports and `trainer version` print.
#ifndef PARTITA_RUN_HOST_VERSION_H_
#define PARTITA_RUN_HOST_VERSION_H_

#include <map>
#include <string>

namespace partita {

inline constexpr char kToolVersion[] = "0.2.0";

// Name to version of the compiler and the libraries that are linked in, and of those of GPUs that are loaded.
std::map<std::string, std::string> LibraryVersions();

}  // namespace partita

#endif  // PARTITA_RUN_HOST_VERSION_H_

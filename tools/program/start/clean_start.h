// Starts a program in an environment that changes nothing of what it computes.
#ifndef PARTITA_TOOLS_PROGRAM_CLEAN_START_H_
#define PARTITA_TOOLS_PROGRAM_CLEAN_START_H_

#include <vector>

#include "runtime/device/host/library_variables.h"

namespace partita {

// Libraries read their variables when they are loaded, before main. So if a variable is set that must be dropped
// (library_variables.h), or OpenMP's waiting is not configured (tools/program/start/waiting_threads.h), the process
// changes its environment and starts itself again, with the same arguments and on the cores that it was started on:
// libgomp may have bound it to one. If that fails, a program that had to drop a variable ends with exit code 4; any
// other one runs, only slower. To be called first in main.
void StartClean(char** argv);

// What libraries find in the environment of this process, and what StartClean has dropped from it; by name.
std::vector<FoundVariable> VariablesOfLibraries();

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_CLEAN_START_H_

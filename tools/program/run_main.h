// The main() function of all programs.
#ifndef PARTITA_TOOLS_PROGRAM_RUN_MAIN_H_
#define PARTITA_TOOLS_PROGRAM_RUN_MAIN_H_

#include "tools/program/program.h"

namespace partita {

// RunProgram on this process's arguments, environment and output. A file that grows beyond the limit of the process is
// an error of its writer and does not end the process. If the results cannot be written, a line says so, and a program
// that finished exits with kExitResources.
int RunMain(const ProgramDefinition& program, int argc, char** argv);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_RUN_MAIN_H_

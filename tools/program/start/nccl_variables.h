// The variables of NCCL that the programs set where the user has not set them. NCCL reads them when it is opened, long
// after the program has started, so none of them needs a new start (clean_start.h).
#ifndef PARTITA_TOOLS_PROGRAM_START_NCCL_VARIABLES_H_
#define PARTITA_TOOLS_PROGRAM_START_NCCL_VARIABLES_H_

namespace partita {

// Call these before the program starts threads.

// If NCCL_DEBUG is set, NCCL writes to standard error: standard output belongs to the command.
void KeepNcclFromStandardOutput();

// Sets NCCL_ALGO to ^NVLS,NVLSTree. A switch of NVLink adds in an order that may differ from run to run, and NCCL would
// choose it for most sums among GPUs that have one.
void ExcludeNvls();

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_START_NCCL_VARIABLES_H_

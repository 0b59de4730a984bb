// The properties of this machine on which the times of host kernels depend, beside the node and the number of threads.
#ifndef PARTITA_OPS_HOST_TIMING_MACHINE_H_
#define PARTITA_OPS_HOST_TIMING_MACHINE_H_

#include <string>

namespace partita {

// The processor, and oneDNN with the instructions that it uses: "AMD EPYC 9555, oneDNN 2.6.3 isa 0x1ff".
std::string HostMachine();

}  // namespace partita

#endif  // PARTITA_OPS_HOST_TIMING_MACHINE_H_

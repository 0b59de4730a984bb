// The name of this machine's processor.
#ifndef PARTITA_OPS_HOST_TIMING_PROCESSOR_H_
#define PARTITA_OPS_HOST_TIMING_PROCESSOR_H_

#include <string>

namespace partita {

// As it calls itself; "unknown" where it does not.
std::string ProcessorName();

}  // namespace partita

#endif  // PARTITA_OPS_HOST_TIMING_PROCESSOR_H_

#include "ops/host/timing/machine.h"

#include "ops/host/onednn/onednn_kernels.h"
#include "ops/host/timing/processor.h"

namespace partita {

std::string HostMachine() {
#ifdef PARTITA_NO_OPENMP
  return ProcessorName();
#else
  return ProcessorName() + ", " + OneDnnName();
#endif
}

}  // namespace partita

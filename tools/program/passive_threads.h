// Makes waiting OpenMP threads sleep instead of spin.
#ifndef PARTITA_TOOLS_PROGRAM_PASSIVE_THREADS_H_
#define PARTITA_TOOLS_PROGRAM_PASSIVE_THREADS_H_

namespace partita {

// OpenMP reads OMP_WAIT_POLICY when it is loaded, before main. So a process that was started without it sets it to
// "passive" and starts itself again with the same arguments; if that fails, it goes on as it is, only slower. A value
// that the caller chose stays. To be called first in main.
void WaitPassively(char** argv);

}  // namespace partita

#endif  // PARTITA_TOOLS_PROGRAM_PASSIVE_THREADS_H_

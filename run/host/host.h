// The machine that a program runs on, and the time, for reports and `version`.
#ifndef PARTITA_RUN_HOST_HOST_H_
#define PARTITA_RUN_HOST_HOST_H_

#include <string>

namespace partita {

struct Host {
  std::string name;
  std::string system;     // "Linux 6.1.0 x86_64"
  std::string processor;  // as it calls itself; "unknown" where it does not
  int cores = 0;          // threads that this process can run at once: by affinity mask, cpuset and CPU quota
  int online = 0;         // cores of the machine
};

// Values that the system does not report are "unknown".
Host ThisHost();

// "2026-11-22T20:15:04Z"
std::string TimeNow();
// "2026-11-22T20:15:04.123Z"
std::string PreciseTimeNow();

}  // namespace partita

#endif  // PARTITA_RUN_HOST_HOST_H_

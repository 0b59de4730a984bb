// The apparent slowdown of single kernels as more ranks compute at the same time.
//
// A kernel that outlasts its rank's time slice is interrupted, and its span includes the others' slices. A shorter one
// ends before, so only whole steps show the effect (stretch.h):
//
//   two ranks on a core   AAAA....AAAA....=    A takes 12 from its begin to its end, alone 8
//                         ....BBBB....BBBB=
#ifndef PARTITA_PARTITIONER_PROFILE_CROWDING_H_
#define PARTITA_PARTITIONER_PROFILE_CROWDING_H_

#include <map>

namespace partita {

// Thread-compatible.
class Crowding {
 public:
  // The mean number of ranks that computed during a step, and how many times as long kernels took as alone. Values
  // below 1, which only noise can cause, count as 1.
  void Add(double computing, double times);

  // At least one was added (CHECKed). Between two of them in line, beyond the first and the last as these.
  double At(double computing) const;

 private:
  std::map<double, double> times_;  // by ranks that compute
};

}  // namespace partita

#endif  // PARTITA_PARTITIONER_PROFILE_CROWDING_H_

// How the processes of a job ended, which of them made the others fail, and whether a restart helps.
#ifndef PARTITA_TOOLS_COMMANDS_LAUNCH_JOB_END_H_
#define PARTITA_TOOLS_COMMANDS_LAUNCH_JOB_END_H_

#include <string>
#include <vector>

namespace partita {

struct ProcessEnd {
  int rank = 0;
  int code = 0;            // 128 + the signal's number if one ended it
  bool by_signal = false;  // it did not end by itself
  bool asked = false;      // to end, because another had failed
  bool stopped = false;    // when it was asked
};

struct JobEnd {
  int code = 0;                  // of the first that was seen to fail
  std::vector<ProcessEnd> ends;  // in the order in which they ended
  bool told = false;             // to end, by a signal to the launcher
};

// "exit code 138", "signal 9".
std::string HowItEnded(const ProcessEnd& end);

// The ranks that made the others fail: those that ended for another reason than a lost peer; if there are none, those
// that were stopped; else those that did not notice that the others had given up; else the first. Empty: all finished.
std::vector<ProcessEnd> Culprits(const JobEnd& end);

// The exit code of the job: that of the first culprit. A process that failed because of a peer may be seen to end first.
int CodeOf(const JobEnd& end);

// Whether another start may do better: every culprit was killed, or lost a peer or a device. Errors in flags or files,
// a plan that does not fit and values that are not finite would recur; and a request to end is obeyed.
bool MayBeStartedAgain(const JobEnd& end);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_LAUNCH_JOB_END_H_

// Estimates the time of launches in seconds: a fixed cost per launch plus the longer of computing and moving bytes, the
// roofline of docs/papers.md 9.2. Each launch is assumed to have the device alone.
#ifndef PARTITA_GRAPH_PLAN_LAUNCH_SECONDS_H_
#define PARTITA_GRAPH_PLAN_LAUNCH_SECONDS_H_

#include "graph/ir/kernel_catalogue.h"
#include "graph/schedule/local_program.h"
#include "graph/schedule/machine_speed.h"

namespace partita {

// A node computes what its op says (FlopsOf) and moves every input and output once.
double SecondsOf(const LocalNode& node, const DeviceSpeed& speed);

// Copies move bytes twice, collectives what they give and get over the links; the host's launches take no time.
double SecondsOf(const LocalLaunch& launch, const MachineSpeed& speed);

}  // namespace partita

#endif  // PARTITA_GRAPH_PLAN_LAUNCH_SECONDS_H_

// The input for assigning streams: how long each launch takes, and what it reads.
#ifndef PARTITA_GRAPH_PLAN_STREAM_WORK_H_
#define PARTITA_GRAPH_PLAN_STREAM_WORK_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/schedule/local_program.h"
#include "graph/schedule/machine_speed.h"

namespace partita {

// Where a launch can run: on any stream that computes, or on the one that is for its kind. Where one stream computes,
// its number.
enum class Lane : uint8_t { kCompute, kCollective, kHost };

Lane LaneOf(const LocalLaunch& launch);

struct StreamWork {
  Lane lane = Lane::kCompute;
  double seconds = 0;
  std::vector<int> producers;  // the (earlier) launches that make what this one reads; one may be named twice
};

// By launch. Without `speed` each takes one second. Linear in the program.
std::vector<StreamWork> StreamWorkOf(const LocalProgram& program, const std::optional<MachineSpeed>& speed);

}  // namespace partita

#endif  // PARTITA_GRAPH_PLAN_STREAM_WORK_H_

// Assigns launches to streams, by how long they take.
//
// Streams 0 .. compute_streams-1 compute, the next one carries every collective (but for in_line.h, where one stream
// computes), and the last is the host's; each runs its launches in program order. Independent launches go on different
// streams where that makes the step shorter:
//
//   one stream     a b1 b2 c1 c2 d               a, then two branches, then what joins them
//   two streams    a b1 b2 d   and   c1 c2       d waits for c2, c1 for a
//
// By a list: a launch goes where it ends first (docs/papers.md 9.2).
#ifndef PARTITA_GRAPH_PLAN_STREAMS_H_
#define PARTITA_GRAPH_PLAN_STREAMS_H_

#include <vector>

#include "graph/plan/stream_work.h"

namespace partita {

// The stream of every launch. No stream is used that does not make the step shorter by 5 percent, so a chain, or
// branches that take less than their waits, stay on one. Stream 0 has the most of the longest path from the step's
// beginning to its end. Of two lists, launches by how much must follow them and launches in program order, the one with
// the shorter step is taken. n log n in the launches; the same work gives the same streams.
std::vector<int> AssignStreams(const std::vector<StreamWork>& work, int compute_streams, double wait_seconds);

// How long the step takes, in seconds: a launch begins after the one before it on its stream and, `wait_seconds` late,
// after its producers on others.
double StepSeconds(const std::vector<StreamWork>& work, const std::vector<int>& streams, double wait_seconds);

// Of those that compute.
int StreamsUsed(const std::vector<StreamWork>& work, const std::vector<int>& streams);

}  // namespace partita

#endif  // PARTITA_GRAPH_PLAN_STREAMS_H_

// The time of the launches of a rank's step by kind, for predicted and recorded steps alike.
#ifndef PARTITA_PARTITIONER_EXPLAIN_KIND_SECONDS_H_
#define PARTITA_PARTITIONER_EXPLAIN_KIND_SECONDS_H_

#include <map>
#include <span>
#include <string>

#include "graph/ir/program.h"
#include "graph/timeline/timeline.h"

namespace partita {

// Seconds from begin to end, added up: "op conv2d" of an op's kernels, "copies" of what is copied, "group data+model"
// of the collectives along those axes, with their waiting for peers. Kinds without launches are not in it.
using KindSeconds = std::map<std::string, double>;

KindSeconds KindSecondsOf(std::span<const LaunchSpan> spans, const Program& program);

// Of each kind the larger one.
void RaiseTo(const KindSeconds& other, KindSeconds& most);

}  // namespace partita

#endif  // PARTITA_PARTITIONER_EXPLAIN_KIND_SECONDS_H_

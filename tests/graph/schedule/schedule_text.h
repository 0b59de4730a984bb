// A schedule as text, with every field: two are the same if their texts are.
#ifndef PARTITA_TESTS_GRAPH_SCHEDULE_SCHEDULE_TEXT_H_
#define PARTITA_TESTS_GRAPH_SCHEDULE_SCHEDULE_TEXT_H_

#include <string>

#include "graph/schedule/schedule.h"

namespace partita {

// A launch, a placement or a lifetime a line.
std::string ToText(const Schedule& schedule);

}  // namespace partita

#endif  // PARTITA_TESTS_GRAPH_SCHEDULE_SCHEDULE_TEXT_H_

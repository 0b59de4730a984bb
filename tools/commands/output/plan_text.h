// A plan as text and as pictures.
#ifndef PARTITA_TOOLS_COMMANDS_OUTPUT_PLAN_TEXT_H_
#define PARTITA_TOOLS_COMMANDS_OUTPUT_PLAN_TEXT_H_

#include <ostream>
#include <string>

#include "proto/plan.pb.h"
#include "run/plan_report/plan_proto.h"

namespace partita {

// A summary for a screen of 24 lines and 100 columns, with a legend; or tables of everything.
std::string FormatPlan(const PlanProto& plan);
void WriteWholePlan(const Plan& plan, std::ostream& out);

// Pictures in Graphviz's language, with the mesh and its groups: of layers, framed by blocks, with their work and their
// moves' bytes; or of every node with its layout, framed by phase.
std::string DrawPlan(const PlanProto& plan);
std::string DrawWholePlan(const PlanProto& plan);

}  // namespace partita

#endif  // PARTITA_TOOLS_COMMANDS_OUTPUT_PLAN_TEXT_H_

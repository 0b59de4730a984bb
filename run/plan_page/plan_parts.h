// Parts that several text forms of a plan share.
#ifndef PARTITA_RUN_PLAN_PAGE_PLAN_PARTS_H_
#define PARTITA_RUN_PLAN_PAGE_PLAN_PARTS_H_

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "proto/plan.pb.h"

namespace partita {

// Rows of cells as lines with columns as wide as they must be; numbers, which is all but `left` columns, to the right.
std::string FormatTable(const std::vector<std::vector<std::string>>& rows, size_t left);

// " data:2 model:2", and a line for each further mesh.
std::string FormatMesh(const PlanProto& plan);

// One line: whose kernels the plan launches, whether that is this machine, and whose times it predicts.
std::string FormatBackend(const PlanProto& plan);

// The block of a layer or node, by the beginning of its name: what stands before the first '/', else before '_' or a
// digit.
std::string BlockOf(const std::string& name);

// The largest gather that can be avoided, and the entries of a strategy that do, a line for each. Empty: there is none.
std::vector<std::string> FormatGather(const PlanProto& plan);

// "data+model", or "all~tail" between two meshes.
template <typename Meeting>
std::string FormatMeeting(const Meeting& meeting) {
  return fmt::format("{}{}", fmt::join(meeting.axes(), "+"), fmt::join(meeting.meshes(), "~"));
}

}  // namespace partita

#endif  // PARTITA_RUN_PLAN_PAGE_PLAN_PARTS_H_

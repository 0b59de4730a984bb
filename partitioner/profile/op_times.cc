#include "partitioner/profile/op_times.h"

#include "runtime/base/median.h"

namespace partita {

void OpTimes::Add(const std::string& op, double measured, double roofline) {
  ratios_[op].push_back(measured / roofline);
}

std::map<std::string, double> OpTimes::Times() const {
  std::map<std::string, double> times;
  for (const auto& [op, ratios] : ratios_) times[op] = Median(ratios);
  return times;
}

}  // namespace partita

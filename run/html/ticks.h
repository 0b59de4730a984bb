// Round numbers along an axis.
#ifndef PARTITA_RUN_HTML_TICKS_H_
#define PARTITA_RUN_HTML_TICKS_H_

#include <string>
#include <vector>

namespace partita {

// From 2 to `most` + 1 multiples of a round number: the first at or below `low`, the last at or above `high`. low <
// high, both finite.
std::vector<double> Ticks(double low, double high, int most);

// Powers of ten likewise; within few of them also twice and five times these. 0 < low <= high.
std::vector<double> LogarithmicTicks(double low, double high);

// "0.001", "1500000"; without an end of zeros.
std::string TickText(double value);

}  // namespace partita

#endif  // PARTITA_RUN_HTML_TICKS_H_

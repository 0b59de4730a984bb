// Sweeps as text and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/number.h"
#include "tools/commands/sweep/sweep.h"

namespace partita {
namespace {

std::string Row(const SweepPoint& point) {
  const std::string head = fmt::format("{:>7} {:>10} {:>7} ", point.way.devices, point.way.split, point.batch);
  if (!point.refused.empty()) return head + " " + point.refused + "\n";
  const auto or_dash = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2f}", *value) : std::string("-");
  };
  return head + fmt::format("{:>10.3f} {:>8.1f} {:>9.2f} {:>10.2f} {:>8} {:>8}\n", 1e3 * point.step_seconds,
                            100 * point.exposed_seconds / point.step_seconds, point.speedup,
                            point.speedup / point.way.devices, or_dash(point.epochs), or_dash(point.sooner));
}

// The tipping point compares what so many devices can be used for; that fewer are as good, the best point says.
std::string Verdict(const Sweep& sweep) {
  const SweepPoint& best = sweep.Best();
  std::string most = fmt::format("best: {}, {} a replica: {:.2f} times {}\n", Counted(best.way.devices, "device"),
                                 best.way.split, sweep.WorthOf(best).value_or(0), sweep.BaseName());
  const char* const better = sweep.options.curve ? "reach the accuracy sooner" : "train more samples a second";
  if (const std::vector<int64_t> uncovered = sweep.UncoveredBatches(); !uncovered.empty()) {
    most += fmt::format("{} does not cover batches of {}: what they are worth is unknown\n", sweep.options.curve->name,
                        fmt::join(uncovered, ", "));
    if (!sweep.tipping) return most + "so it is from how many devices on replicas of several devices are better\n";
  }
  if (!sweep.tipping) return fmt::format("{}replicas of several devices nowhere {}\n", most, better);
  return fmt::format("{}from {} devices on, replicas of several devices {} than as many of one\n", most, *sweep.tipping,
                     better);
}

// How replicas of several devices are split: by flags, the numbers of devices.
std::string Splits(const Sweep& sweep) {
  std::vector<std::pair<std::string, std::vector<int>>> splits;
  for (const SweepPoint& point : sweep.points) {
    if (point.way.split == 1 || point.flags.empty()) continue;
    const std::string flags = point.flags.substr(point.flags.find(' ') + 1);  // behind the number of replicas
    const auto same = std::ranges::find(splits, flags, &std::pair<std::string, std::vector<int>>::first);
    (same == splits.end() ? splits.emplace_back(flags, std::vector<int>{}) : *same).second.push_back(point.way.devices);
  }
  std::string text;
  for (const auto& [flags, devices] : splits) {
    text += fmt::format("a replica on {} devices: {}\n", fmt::join(devices, ", "), flags);
  }
  return text;
}

}  // namespace

std::string FormatSweep(const Sweep& sweep, const SweepTitle& title) {
  std::string text = fmt::format("{} on {}: {} a replica, steps simulated{}\n", title.model, title.cluster,
                                 Counted(sweep.options.replica_batch, "sample"),
                                 sweep.options.curve ? "; epochs by " + sweep.options.curve->name : "");
  text += fmt::format("{:>7} {:>10} {:>7} {:>10} {:>8} {:>9} {:>10} {:>8} {:>8}\n", "devices", "a replica", "batch",
                      "step ms", "exposed%", "speed-up", "a device", "epochs", "sooner");
  for (const SweepPoint& point : sweep.points) text += Row(point);
  return text + Splits(sweep) + Verdict(sweep);
}

std::string SweepToJson(const Sweep& sweep, const SweepTitle& title) {
  nlohmann::ordered_json json{{"model", title.model},
                              {"cluster", title.cluster},
                              {"replica_batch", sweep.options.replica_batch},
                              {"points", nlohmann::ordered_json::array()}};
  if (sweep.options.curve) json["curve"] = sweep.options.curve->name;
  if (sweep.tipping) json["tipping_devices"] = *sweep.tipping;
  if (const auto uncovered = sweep.UncoveredBatches(); !uncovered.empty()) json["uncovered_batches"] = uncovered;
  const SweepWay& base = sweep.Base().way;
  json["base"] = {{"devices", base.devices}, {"devices_of_a_replica", base.split}};
  json["best"] = {{"devices", sweep.Best().way.devices}, {"devices_of_a_replica", sweep.Best().way.split}};
  for (const SweepPoint& point : sweep.points) {
    nlohmann::ordered_json row{
        {"devices", point.way.devices}, {"devices_of_a_replica", point.way.split}, {"batch", point.batch}};
    if (!point.refused.empty()) {
      row["refused"] = point.refused;
    } else {
      row["step_seconds"] = point.step_seconds;
      row["exposed_seconds"] = point.exposed_seconds;
      row["speedup"] = point.speedup;
      row["flags"] = point.flags;
    }
    if (point.epochs) row["epochs"] = *point.epochs;
    if (point.sooner) row["sooner"] = *point.sooner;
    json["points"].push_back(std::move(row));
  }
  return json.dump(2) + "\n";
}

}  // namespace partita

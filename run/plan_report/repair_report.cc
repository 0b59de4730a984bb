#include "run/plan_report/repair_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "run/plan_page/plan_parts.h"

namespace partita {
namespace {

using Json = nlohmann::ordered_json;

std::string Milliseconds(double seconds) { return fmt::format("{:.3f}", 1e3 * seconds); }

std::vector<std::string> RowOf(const Prediction& broken, const Repair& repair) {
  if (repair.seconds == 0) return {repair.change, "refused", "-", "-", "-", "-"};
  return {repair.change,
          repair.status.ok() ? "yes" : "no",
          Milliseconds(repair.seconds),
          fmt::format("{:+.3f}", 1e3 * (repair.seconds - broken.seconds)),
          fmt::format("{}", repair.memory_bytes),
          fmt::format("{}", broken.memory_bytes - repair.memory_bytes)};
}

}  // namespace

std::string RepairsToText(const Prediction& broken, const std::vector<Repair>& repairs) {
  std::vector<std::vector<std::string>> rows = {
      {"repair", "fits", "step ms", "costs ms", "needs bytes", "gains bytes"},
      {"none", "no", Milliseconds(broken.seconds), "", fmt::format("{}", broken.memory_bytes), ""}};
  std::string refusals;
  for (const Repair& repair : repairs) {
    rows.push_back(RowOf(broken, repair));
    if (repair.seconds == 0) {
      refusals += fmt::format("  {}: {}\n", repair.change, std::string(repair.status.message()));
    }
  }
  return FormatTable(rows, 2) + refusals;
}

std::string RepairsToJson(const Prediction& broken, const std::vector<Repair>& repairs) {
  Json json{{"schema_version", 1},
            {"step_seconds", broken.seconds},
            {"memory_bytes", broken.memory_bytes},
            {"lacks", std::string(broken.fits.message())},
            {"repairs", Json::array()}};
  for (const Repair& repair : repairs) {
    Json row{{"repair", repair.change}, {"fits", repair.status.ok()}};
    if (repair.seconds > 0) {
      row["ranks"] = repair.strategy.mesh.size();
      row["step_seconds"] = repair.seconds;
      row["costs_seconds"] = repair.seconds - broken.seconds;
      row["memory_bytes"] = repair.memory_bytes;
      row["gains_bytes"] = broken.memory_bytes - repair.memory_bytes;
    }
    if (!repair.status.ok()) row["lacks"] = std::string(repair.status.message());
    json["repairs"].push_back(std::move(row));
  }
  return json.dump(2) + "\n";
}

std::vector<std::string> ReasonsFor(const Prediction& broken, const Repair& repair) {
  return {fmt::format("Repaired, for it did not fit ({}): {}.", std::string(broken.fits.message()), repair.change),
          fmt::format("Predicted: {} ms a step, {:+.3f} ms; {} bytes on the fullest rank, {} less.",
                      Milliseconds(repair.seconds), 1e3 * (repair.seconds - broken.seconds), repair.memory_bytes,
                      broken.memory_bytes - repair.memory_bytes)};
}

}  // namespace partita

// The rows of `benchmark models` as text and JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "runtime/telemetry/progress.h"
#include "tools/benchmarks/models/model_benchmark.h"

namespace partita {
namespace {

std::string ShownIn(const Estimate& estimate, const std::string& unit) {
  const auto shown = [](double value) {
    return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
  };
  return fmt::format("{}{} ({} to {})", shown(estimate.median), unit, shown(estimate.interval.low),
                     shown(estimate.interval.high));
}

std::string MemoryText(const ModelRow& row) {
  const LoopFacts& session = row.session;
  const std::string whole =
      session.planned_process_bytes == 0 ? "" : fmt::format("planned {}, ", FormatBytes(session.planned_process_bytes));
  return fmt::format("  memory: arenas planned {}, used {}; the whole process {}resident {} at most, grew by {}\n",
                     FormatBytes(session.planned_bytes), FormatBytes(session.used_bytes), whole,
                     FormatBytes(row.ours.resident_bytes), FormatBytes(row.ours.grown_bytes));
}

std::string CommunicationText(const ModelRow& row) {
  if (row.session.ranks == 1) return "";
  return fmt::format("  communication: {:.1f} ms a step on a rank, {:.1f} ms of them exposed ({:.1f} % of the step)\n",
                     1e3 * row.session.communication_seconds, 1e3 * row.session.exposed_seconds,
                     100 * row.exposed_share);
}

std::string OtherText(const Throughput& other, const std::string& unit) {
  if (!other.failure.empty()) return fmt::format("  {:<15} does not run: {}\n", other.name, other.failure);
  return fmt::format("  {:<15} {}; ours {}; it was resident with {}, grew by {}\n", other.name,
                     ShownIn(other.per_s, unit), ShownIn(other.ratio, " of it"), FormatBytes(other.resident_bytes),
                     FormatBytes(other.grown_bytes));
}

std::string PeerText(const ModelRow& row) {
  if (row.peer.empty()) return "";
  std::string text = fmt::format("  {}: ", row.peer);
  if (row.agreement.batch == 0) {
    text += "not compared (--skip-agreement)\n";
  } else {
    text += fmt::format(
        "one step of {} samples agrees: loss to {:.1e}, {} gradients, of '{}' to {:.1e} of f64 (its own: {:.1e})\n",
        row.agreement.batch, row.agreement.loss_difference, row.agreement.gradients, row.agreement.largest,
        row.agreement.gradient_error, row.agreement.peer_error);
  }
  if (!row.best.empty()) text += fmt::format("  best of it: {}; ours {}\n", row.best, ShownIn(row.ratio, " of that"));
  return text;
}

nlohmann::json Json(const Estimate& estimate) {
  return {{"median", estimate.median}, {"low", estimate.interval.low}, {"high", estimate.interval.high}};
}

nlohmann::json Json(const Throughput& throughput) {
  return {{"name", throughput.name},
          {"per_s", Json(throughput.per_s)},
          {"ratio", Json(throughput.ratio)},
          {"resident_bytes", throughput.resident_bytes},
          {"grown_bytes", throughput.grown_bytes},
          {"failure", throughput.failure}};
}

nlohmann::json Json(const LoopFacts& session) {
  return {{"device", session.device},
          {"mesh", session.mesh},
          {"ranks", session.ranks},
          {"threads_per_rank", session.threads_per_rank},
          {"planned_bytes", session.planned_bytes},
          {"used_bytes", session.used_bytes},
          {"planned_process_bytes", session.planned_process_bytes},
          {"step_seconds", session.step_seconds},
          {"communication_seconds", session.communication_seconds},
          {"exposed_seconds", session.exposed_seconds}};
}

nlohmann::json Json(const Agreement& agreement) {
  return {{"batch", agreement.batch},           {"loss_difference", agreement.loss_difference},
          {"gradients", agreement.gradients},   {"gradient_error", agreement.gradient_error},
          {"peer_error", agreement.peer_error}, {"largest", agreement.largest}};
}

nlohmann::json Json(const ModelRow& row) {
  nlohmann::json json = {{"model", row.model},
                         {"precision", row.precision},
                         {"batch", row.batch},
                         {"image_size", row.image_size},
                         {"sizes", row.sizes},
                         {"unit", row.unit.name + "/s"},
                         {"session", Json(row.session)},
                         {"ours", Json(row.ours)},
                         {"flops_per_s", row.flops_per_s},
                         {"product_flops_per_s", row.product_flops_per_s},
                         {"flop_utilisation", row.flop_utilisation},
                         {"limit_share", row.limit_share},
                         {"exposed_share", row.exposed_share},
                         {"others", nlohmann::json::array()},
                         {"peer", row.peer},
                         {"best", row.best},
                         {"ratio", Json(row.ratio)}};
  for (const Throughput& other : row.others) json["others"].push_back(Json(other));
  if (row.agreement.batch > 0) json["agreement"] = Json(row.agreement);
  return json;
}

}  // namespace

std::string SizesText(const ModelRow& row) {
  if (row.image_size > 0) return fmt::format(" of {} px", row.image_size);
  return row.sizes.empty() ? "" : fmt::format(", {}", fmt::join(row.sizes, ", "));
}

std::string RanksText(const LoopFacts& session) {
  const std::string ranks = session.ranks == 1 ? "1 rank" : fmt::format("{} ranks ({})", session.ranks, session.mesh);
  return fmt::format("{} of {} thread{}", ranks, session.threads_per_rank, session.threads_per_rank == 1 ? "" : "s");
}

std::string ToText(const std::vector<ModelRow>& rows) {
  std::string text;
  for (const ModelRow& row : rows) {
    const std::string unit = fmt::format(" {}/s", row.unit.name);
    text +=
        fmt::format("{} {} batch {}{} on {}", row.model, row.precision, row.batch, SizesText(row), row.session.device);
    text += fmt::format(", {}\n", RanksText(row.session));
    text += fmt::format("  {}; {:.2f} GFLOP/s, {:.0f} % of the fastest product's {:.2f}; {:.0f} % of the limit\n",
                        ShownIn(row.ours.per_s, unit), row.flops_per_s / 1e9, 100 * row.flop_utilisation,
                        row.product_flops_per_s / 1e9, 100 * row.limit_share);
    text += CommunicationText(row) + MemoryText(row);
    for (const Throughput& other : row.others) text += OtherText(other, unit);
    text += PeerText(row);
  }
  return text;
}

std::string ToJson(const std::vector<ModelRow>& rows) {
  nlohmann::json json = nlohmann::json::array();
  for (const ModelRow& row : rows) json.push_back(Json(row));
  return json.dump(2) + "\n";
}

}  // namespace partita

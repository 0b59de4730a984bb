#include "tools/commands/run_page/run_page.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "runtime/base/files.h"

namespace partita {
namespace {

constexpr std::chrono::seconds kBetweenWritings{5};

}  // namespace

void RunPage::Add(const std::string& line) {
  history_.Add(line);
  if (!written_ || std::chrono::steady_clock::now() - *written_ >= kBetweenWritings) Write();
}

void RunPage::Finish(ReportProto report, std::string pictures) {
  facts_.report = std::move(report);
  facts_.pictures = std::move(pictures);
  Write();
}

void RunPage::Write() {
  const absl::Status written = WriteFileAtomically(path_, RunToHtml(history_, facts_));
  written_ = std::chrono::steady_clock::now();
  if (written.ok() || has_warned_) return;
  has_warned_ = true;
  spdlog::warn("{}; training goes on without its page", std::string(written.message()));
}

}  // namespace partita

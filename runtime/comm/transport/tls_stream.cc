#include "runtime/comm/transport/tls_stream.h"

#include <algorithm>

namespace partita {
namespace {

// The other side opens one part while the next one is sealed. Both directions take turns by parts.
constexpr size_t kPart = 64 << 10;

// Most that is read at a time.
constexpr size_t kAhead = 64 << 10;

}  // namespace

bool TlsStream::Write(std::span<const char> head, std::span<const char> body) {
  // A header goes in one record with what follows it.
  const std::span<const char> beside = body.first(std::min(body.size(), kPart - std::min(kPart, head.size())));
  first_.assign(head.begin(), head.end());
  first_.insert(first_.end(), beside.begin(), beside.end());
  if (!WritePart(first_)) return false;
  body = body.subspan(beside.size());
  while (!body.empty()) {
    const std::span<const char> part = body.first(std::min(body.size(), kPart));
    if (!WritePart(part)) return false;
    body = body.subspan(part.size());
  }
  return true;
}

bool TlsStream::WritePart(std::span<const char> part) {
  sealed_.clear();
  {
    std::lock_guard lock(mutex_);
    if (!session_->Seal(part, sealed_).ok()) return false;
  }
  return tcp_.Write(sealed_, {});
}

bool TlsStream::Read(std::span<char> to) {
  while (!to.empty()) {
    {
      std::lock_guard lock(mutex_);
      const absl::StatusOr<size_t> opened = session_->Open(to);
      if (!opened.ok()) {
        flaw_ = std::string(opened.status().message());
        return false;
      }
      to = to.subspan(*opened);
    }
    if (to.empty()) break;
    came_.resize(kAhead);
    const size_t count = tcp_.Receive(came_);
    if (count == 0) return false;
    session_->Give(std::span(came_).first(count));
  }
  return true;
}

}  // namespace partita

#include "run/host/log.h"

#include <mutex>

namespace partita {
namespace {

struct Sink {
  std::mutex mutex;
  LogSink sink;
};

// Never destroyed: threads may log while the process ends.
Sink& TheSink() {
  static auto& sink = *new Sink();
  return sink;
}

}  // namespace

void SetLogSink(LogSink sink) {
  Sink& current = TheSink();
  const std::lock_guard lock(current.mutex);
  current.sink = std::move(sink);
}

void Log(LogLevel level, const std::string& line) {
  Sink& current = TheSink();
  const std::lock_guard lock(current.mutex);
  if (current.sink) current.sink(level, line);
}

}  // namespace partita

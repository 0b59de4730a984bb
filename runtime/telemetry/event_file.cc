#include "runtime/telemetry/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "proto/tensorboard.pb.h"
#include "runtime/base/status.h"
#include "runtime/telemetry/crc32c.h"

namespace partita {
namespace {

constexpr int kSessionStarts = 1;

double SecondsNow() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

// Little-endian.
template <typename T>
std::string BytesOf(T value) {
  std::string bytes;
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

uint32_t MaskedCrc(std::string_view bytes) {
  const uint32_t crc = Crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8U;
}

// A record of TFRecord: its length and its bytes, each with a checksum.
std::string Record(const EventProto& event) {
  const std::string bytes = event.SerializeAsString(), length = BytesOf(uint64_t{bytes.size()});
  return length + BytesOf(MaskedCrc(length)) + bytes + BytesOf(MaskedCrc(bytes));
}

EventProto Event(int64_t step) {
  EventProto event;
  event.set_wall_time(SecondsNow());
  event.set_step(step);
  return event;
}

}  // namespace

absl::StatusOr<EventFile> EventFile::Create(const std::string& folder, int64_t first_step) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return InvalidArgument("{}: cannot make the folder: {}", folder, error.message());
  // The nanoseconds tell apart what one process writes.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  const std::string name = fmt::format("events.out.tfevents.{}.{}.{}.{}", seconds.count(), HostName(), getpid(),
                                       std::chrono::nanoseconds(now - seconds).count());
  ASSIGN_OR_RETURN(AppendedFile file, AppendedFile::Open((std::filesystem::path(folder) / name).string()));
  EventProto version = Event(0), start = Event(first_step + 1);
  version.set_file_version("brain.Event:2");
  start.mutable_session_log()->set_status(kSessionStarts);
  RETURN_IF_ERROR(file.Append(Record(version) + Record(start)));
  return EventFile(std::move(file));
}

absl::Status EventFile::Add(int64_t step, const Scalars& scalars) {
  EventProto event = Event(step);
  for (const auto& [tag, value] : scalars) {
    ScalarProto& scalar = *event.mutable_summary()->add_value();
    scalar.set_tag(tag);
    scalar.set_simple_value(static_cast<float>(value));
  }
  return file_.Append(Record(event));
}

}  // namespace partita

#include "runtime/admission/door.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "runtime/base/exhaustion.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

using Clock = std::chrono::steady_clock;

// Between two looks at those who are here already.
constexpr int kMostAtATime = 16;

// For the process to get descriptors back that others use.
constexpr std::chrono::milliseconds kNoDescriptors(10);

}  // namespace

absl::StatusOr<std::unique_ptr<Door>> Door::Open(Endpoint endpoint, Identity identity, Limits limits,
                                                 std::function<void(Guest)> on_guest) {
  ASSIGN_OR_RETURN(WakeEvent close, WakeEvent::Create());
  std::unique_ptr<Door> door(
      new Door(std::move(endpoint), std::move(identity), limits, std::move(on_guest), std::move(close)));
  ASSIGN_OR_RETURN(door->listener_, ListenAt(door->endpoint_));
  door->server_ = std::thread([server = door.get()] { server->Serve(); });
  return door;
}

Door::~Door() {
  if (!server_.joinable()) return;
  close_.Set();
  server_.join();
}

void Door::Serve() {
  while (WaitForSomebody()) {
    LetComeIn();
    const Clock::time_point now = Clock::now();
    std::erase_if(strangers_, [&](Stranger& stranger) {
      if (Hear(stranger) && now <= stranger.deadline) return false;
      if (!stranger.admitted) ++refused_;
      return true;
    });
  }
}

// False: the door is to be closed.
bool Door::WaitForSomebody() {
  std::vector<pollfd> descriptors = {{close_.descriptor(), POLLIN, 0}, {listener_.descriptor(), POLLIN, 0}};
  for (const Stranger& stranger : strangers_) descriptors.push_back({stranger.socket.descriptor(), POLLIN, 0});
  const int wait = strangers_.empty() ? -1 : static_cast<int>(limits_.handshake.count() / 4);
  poll(descriptors.data(), descriptors.size(), wait);
  return descriptors[0].revents == 0;
}

void Door::LetComeIn() {
  for (int come = 0; come < kMostAtATime; ++come) {
    Socket socket = AcceptFrom(listener_);
    if (!socket.valid()) {
      if (!LacksDescriptors(errno)) return;
      if (strangers_.empty()) return std::this_thread::sleep_for(kNoDescriptors);
      return SendAwayOne();
    }
    strangers_.emplace_back(std::move(socket), identity_, Clock::now() + limits_.handshake);
    if (strangers_.size() > limits_.strangers) SendAwayOne();
  }
}

void Door::SendAwayOne() {
  const auto mute = std::ranges::find_if(strangers_, [](const Stranger& one) { return !one.admission.greeted(); });
  strangers_.erase(mute == strangers_.end() ? strangers_.begin() : mute);
  ++refused_;
}

// False: it is no stranger any more, or sent away.
bool Door::Hear(Stranger& stranger) {
  while (true) {
    const size_t had = stranger.bytes.size(), wanted = stranger.admission.bytes_wanted();
    stranger.bytes.resize(wanted);
    const ssize_t count = recv(stranger.socket.descriptor(), stranger.bytes.data() + had, wanted - had, 0);
    stranger.bytes.resize(had + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (count <= 0 || !stranger.admission.CouldBeginWith(stranger.bytes)) return false;
    if (stranger.bytes.size() == wanted && !Answer(stranger)) return false;
  }
}

bool Door::Answer(Stranger& stranger) {
  std::string answer;
  const Admission::Step step = stranger.admission.Take(stranger.bytes, answer);
  stranger.bytes.clear();
  if (!answer.empty() && !stranger.socket.Write(answer, stranger.deadline).ok()) return false;
  if (step == Admission::Step::kDisagrees) on_guest_({stranger.admission.rank(), Socket(), {}});
  if (step != Admission::Step::kAdmitted) return step == Admission::Step::kGoesOn;
  stranger.admitted = true;
  on_guest_({stranger.admission.rank(), std::move(stranger.socket), stranger.admission.seeds()});
  return false;
}

}  // namespace partita

#include "runtime/comm/transport/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <string>

#include "runtime/admission/token.h"
#include "runtime/base/status.h"

namespace partita {
namespace {

struct Layout {
  char nonce[kNonceBytes];
  SharedRing rings[2];
};

// What is said of it over the connection; no process: there is none.
struct Offer {
  int32_t process = 0;
  int32_t descriptor = 0;
  char nonce[kNonceBytes] = {};
};

// Null: the system does not let us.
std::unique_ptr<SharedMemory> Map(const Socket& file) {
  void* const mapping = mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  return mapping == MAP_FAILED ? nullptr : std::make_unique<SharedMemory>(mapping);
}

// Of fixed size: nobody can cut it under the feet of the other one.
Socket NewFile() {
  Socket file(memfd_create("partita", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool made = file.valid() && ftruncate(file.descriptor(), sizeof(Layout)) == 0 &&
                    fcntl(file.descriptor(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
  return made ? std::move(file) : Socket();
}

// Two network namespaces are two hosts, whatever else they have in common: memory would hide that the network between
// them is gone.
bool IsOnThisNetwork(int process) {
  struct stat here {
  }, there{};
  return stat("/proc/self/ns/net", &here) == 0 && stat(fmt::format("/proc/{}/ns/net", process).c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

Socket OpenFile(const Offer& offer) {
  const std::string path = fmt::format("/proc/{}/fd/{}", offer.process, offer.descriptor);
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return Socket();
  Socket file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  const int sealed = file.valid() ? fcntl(file.descriptor(), F_GET_SEALS) : -1;
  const bool fits = sealed >= 0 && (sealed & F_SEAL_SHRINK) != 0 && status.st_size == sizeof(Layout);
  return fits ? std::move(file) : Socket();
}

}  // namespace

SharedMemory::~SharedMemory() { munmap(mapping_, sizeof(Layout)); }

SharedRing& SharedMemory::to_maker() const { return static_cast<Layout*>(mapping_)->rings[0]; }

SharedRing& SharedMemory::from_maker() const { return static_cast<Layout*>(mapping_)->rings[1]; }

absl::StatusOr<std::unique_ptr<SharedMemory>> OfferSharedMemory(Socket& socket, bool wanted, Socket::Time deadline) {
  Offer offer;
  const Socket file = wanted ? NewFile() : Socket();
  std::unique_ptr<SharedMemory> memory = file.valid() ? Map(file) : nullptr;
  if (memory != nullptr) {
    offer.process = getpid();
    offer.descriptor = file.descriptor();
    const std::string nonce = NewNonce();
    std::memcpy(offer.nonce, nonce.data(), kNonceBytes);
    if (pwrite(file.descriptor(), nonce.data(), kNonceBytes, 0) != static_cast<ssize_t>(kNonceBytes)) {
      offer.process = 0;
    }
  }
  RETURN_IF_ERROR(socket.Write({reinterpret_cast<const char*>(&offer), sizeof(offer)}, deadline));
  ASSIGN_OR_RETURN(const std::string taken, socket.Read(1, deadline));
  if (taken != "1") memory = nullptr;
  return memory;
}

absl::StatusOr<std::unique_ptr<SharedMemory>> AcceptSharedMemory(Socket& socket, bool wanted, Socket::Time deadline) {
  ASSIGN_OR_RETURN(const std::string bytes, socket.Read(sizeof(Offer), deadline));
  Offer offer;
  std::memcpy(&offer, bytes.data(), sizeof(offer));
  std::unique_ptr<SharedMemory> memory;
  if (wanted && offer.process != 0 && IsOnThisNetwork(offer.process)) {
    const Socket file = OpenFile(offer);
    char nonce[kNonceBytes];
    const bool is_it = file.valid() && pread(file.descriptor(), nonce, kNonceBytes, 0) == ssize_t{kNonceBytes} &&
                       std::memcmp(nonce, offer.nonce, kNonceBytes) == 0;
    if (is_it) memory = Map(file);
  }
  RETURN_IF_ERROR(socket.Write(memory != nullptr ? "1" : "0", deadline));
  return memory;
}

}  // namespace partita

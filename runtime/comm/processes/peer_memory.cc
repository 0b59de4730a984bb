#include "runtime/comm/processes/peer_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "runtime/base/status.h"
#include "runtime/comm/processes/peer_arenas.h"
#include "runtime/device/host/shared_arena.h"

namespace partita {
namespace {

constexpr int64_t kProofBytes = 32;

// What a rank says of itself, as it lies in memory.
struct Words {
  int64_t process = 0;  // 0: it does not want to be read
  SharedPlace place;    // of its proof
  char proof[kProofBytes] = {};
  char network[64] = {};
};

// Two network namespaces are two hosts, whatever else they have in common: memory would hide that the network between
// them is gone.
void SetNetwork(Words& words) {
  if (readlink("/proc/self/ns/net", words.network, sizeof(words.network) - 1) <= 0) words.process = 0;
}

// Else there may be no arena that can be mapped, which is a file.
bool FilesMayBeLarge() {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

std::string WordsKey(int rank) { return fmt::format("memory/{}", rank); }

std::string ReadsKey(int rank) { return fmt::format("memory/{}/reads", rank); }

}  // namespace

PeerMemory::PeerMemory(int rank, int ranks)
    : rank_(rank),
      proof_(AllocateSharedArena(kProofBytes)),
      processes_(static_cast<size_t>(ranks)),
      who_reads_(static_cast<size_t>(ranks)) {
  if (proof_ == nullptr) return;
  std::random_device random;
  std::ranges::generate(std::span(static_cast<char*>(proof_->data()), kProofBytes),
                        [&] { return static_cast<char>(random()); });
}

std::string PeerMemory::OwnWords(bool wanted) const {
  Words words;
  if (wanted && proof_ != nullptr && FilesMayBeLarge()) {
    words.process = getpid();
    words.place = FindSharedPlace(proof_->data());
    std::memcpy(words.proof, proof_->data(), kProofBytes);
    SetNetwork(words);
  }
  return {reinterpret_cast<const char*>(&words), sizeof(words)};
}

bool PeerMemory::CanRead(int rank, const std::string& words) {
  Words own, theirs;
  own.process = 1;
  SetNetwork(own);
  if (words.size() != sizeof(theirs) || own.process == 0) return false;
  std::memcpy(static_cast<void*>(&theirs), words.data(), sizeof(theirs));
  if (theirs.process <= 0 || std::memcmp(own.network, theirs.network, sizeof(own.network)) != 0) return false;
  PeerArenas arenas;
  const char* const found = arenas.Find(static_cast<pid_t>(theirs.process), theirs.place, kProofBytes);
  if (found == nullptr || std::memcmp(found, theirs.proof, kProofBytes) != 0) return false;
  processes_[rank] = static_cast<pid_t>(theirs.process);
  return true;
}

std::unique_ptr<PeerMemory> PeerMemory::None(int rank, int ranks) {
  std::unique_ptr<PeerMemory> memory(new PeerMemory(rank, ranks));
  memory->who_reads_.assign(static_cast<size_t>(ranks), std::string(static_cast<size_t>(ranks), '0'));
  return memory;
}

absl::StatusOr<std::unique_ptr<PeerMemory>> PeerMemory::Meet(int rank, int ranks, KeyValueStore& store, bool wanted,
                                                             std::chrono::milliseconds timeout) {
  std::unique_ptr<PeerMemory> memory(new PeerMemory(rank, ranks));
  if (ranks == 1) return memory;
  RETURN_IF_ERROR(store.Set(WordsKey(rank), memory->OwnWords(wanted)));
  std::string reads(static_cast<size_t>(ranks), '0');
  for (int other = 0; other < ranks; ++other) {
    ASSIGN_OR_RETURN(const std::string words, store.Get(WordsKey(other), timeout));
    if (wanted && other != rank && memory->CanRead(other, words)) reads[other] = '1';
  }
  RETURN_IF_ERROR(store.Set(ReadsKey(rank), reads));
  for (int other = 0; other < ranks; ++other) {
    ASSIGN_OR_RETURN(memory->who_reads_[other], store.Get(ReadsKey(other), timeout));
    if (static_cast<int>(memory->who_reads_[other].size()) == ranks) continue;
    return Unavailable("rank {} says of {} ranks whether it can read their memory", other,
                       memory->who_reads_[other].size());
  }
  return memory;
}

bool PeerMemory::Connects(std::span<const int> ranks) const {
  return std::ranges::all_of(ranks, [&](int reader) {
    return std::ranges::all_of(ranks,
                               [&](int read) { return reader == read || who_reads_[reader].substr(read, 1) == "1"; });
  });
}

}  // namespace partita

// How the ranks of a job reach each other where the program that embeds Partita does it, e.g. by MPI.
#ifndef PARTITA_RUNTIME_COMM_PEER_CHANNEL_H_
#define PARTITA_RUNTIME_COMM_PEER_CHANNEL_H_

#include <cstddef>
#include <functional>

namespace partita {

// For each other rank, one thread sends while another one receives. What a rank sends arrives in order, and each
// receive asks for exactly the bytes of one send.
struct PeerChannel {
  int rank = 0;   // of this process
  int ranks = 1;  // of the job, one in each process
  // Both block until all bytes were taken over or filled in. False: the other rank is gone, or was closed.
  std::function<bool(int to, const void* data, size_t bytes)> send;
  std::function<bool(int from, void* data, size_t bytes)> receive;
  // Ends both directions with a rank, so that waiting calls return false. Any thread, several times.
  std::function<void(int rank)> close;
};

}  // namespace partita

#endif  // PARTITA_RUNTIME_COMM_PEER_CHANNEL_H_

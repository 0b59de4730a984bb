// A port of this machine at which nobody listens, for the rendezvous of a job.
#ifndef PARTITA_TESTS_RUNTIME_API_JOB_FREE_PORT_H_
#define PARTITA_TESTS_RUNTIME_API_JOB_FREE_PORT_H_

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace partita {

inline int FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(listener);
  return ntohs(address.sin_port);
}

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_API_JOB_FREE_PORT_H_

// Somebody who connects to a port and is not of the job.
#ifndef PARTITA_TESTS_RUNTIME_ADMISSION_STRANGER_H_
#define PARTITA_TESTS_RUNTIME_ADMISSION_STRANGER_H_

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "runtime/admission/socket.h"

namespace partita {

inline Socket::Time Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(60); }

class Stranger {
 public:
  explicit Stranger(const Endpoint& endpoint, const std::string& words = "") {
    absl::StatusOr<Socket> socket = ConnectTo(endpoint, Soon());
    EXPECT_TRUE(socket.ok()) << socket.status();
    if (!socket.ok()) return;
    socket_ = *std::move(socket);
    socket_.Write(words, Soon()).IgnoreError();  // may be sent away meanwhile
  }

  Socket& socket() { return socket_; }

  // True if the other side has ended the connection, whatever it has sent before.
  bool IsSentAway() {
    absl::StatusOr<std::string> byte = socket_.Read(1, Soon());
    while (byte.ok()) byte = socket_.Read(1, Soon());
    return std::string(byte.status().message()).find("in time") == std::string::npos;
  }

 private:
  Socket socket_;
};

}  // namespace partita

#endif  // PARTITA_TESTS_RUNTIME_ADMISSION_STRANGER_H_

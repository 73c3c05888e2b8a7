#pragma once

#include <cstdint>
#include <string>

namespace trainyard::comm::transport {

// Where a process listens: "tcp:HOST:PORT" (port 0: any that is free), "unix:PATH", or "shm:PATH":
// shared memory, for which the two sides meet at a Unix socket.
struct Address {
  enum class Kind : std::uint8_t { tcp, unix_socket, shared_memory };
  Kind kind = Kind::tcp;
  std::string host = "127.0.0.1";  // or the path
  std::uint16_t port = 0;

  // Error (config) that says what is allowed.
  static Address parse(const std::string& text);
  std::string to_string() const;

  bool is_path() const { return kind != Kind::tcp; }
  // Reached from this machine alone.
  bool is_local() const;
};

}  // namespace trainyard::comm::transport

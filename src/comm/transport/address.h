#pragma once

#include <cstdint>
#include <string>

namespace trainyard::comm::transport {

// Where a process listens: "tcp:HOST:PORT" (port 0: any that is free) or "unix:PATH".
struct Address {
  enum class Kind : std::uint8_t { tcp, unix_socket };
  Kind kind = Kind::tcp;
  std::string host = "127.0.0.1";  // or the path
  std::uint16_t port = 0;

  // Error (config) that says what is allowed.
  static Address parse(const std::string& text);
  std::string to_string() const;

  // Reached from this machine alone.
  bool is_local() const;
};

}  // namespace trainyard::comm::transport

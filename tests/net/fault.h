#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace trainyard::net_test {

// The two ways of a connection: from who called to the target, and back.
enum class Way : std::uint8_t { to_target, to_caller };

// The conditions of one direction of a connection, until they are changed.
struct Conditions {
  double delay_seconds = 0;
  double jitter_seconds = 0;    // at most so much on top; the order stays
  double bytes_per_second = 0;  // 0: as fast as it goes

  bool operator==(const Conditions&) const = default;
};

// A fault that happens once, in front of one byte of one direction of a connection.
struct Fault {
  enum class Kind : std::uint8_t {
    stall,   // nothing goes on for `seconds`; all sockets stay open
    flip,    // bit `bit` of this byte
    insert,  // noise(seed, bytes)
    fin,     // both ends are told that the other one has ended
    rst,     // both ends are told that the connection broke
  };
  Kind kind = Kind::rst;
  std::uint64_t at_byte = 0;  // counts what the sender sent
  double seconds = 0;
  int bit = 0;
  std::uint64_t seed = 0;
  std::uint32_t bytes = 0;

  std::string to_string() const;
  bool operator==(const Fault&) const = default;
};

struct Script {
  Conditions conditions;
  std::vector<Fault> faults;
};

// Returns the script for one direction of a connection; connections count from 0.
using Plan = std::function<Script(int connection, Way way)>;

// Chances that it happens, once, to a way of a connection.
struct Hazards {
  double stall = 0, flip = 0, insert = 0, fin = 0, rst = 0;
  std::uint64_t within_bytes = 1 << 20;  // in front of one of so many bytes
  double most_stall_seconds = 1;
  Conditions conditions;
};

// The same for the same seed, however many connections there were before.
Plan seeded_plan(std::uint64_t seed, const Hazards& hazards);

}  // namespace trainyard::net_test

#pragma once

#include <cstdint>

#include "comm/transport/frame.h"
#include "comm/transport/handshake.h"

// What workers and servers say to each other; docs/formats/ps-wire.md has the frames that carry it.
namespace trainyard::ps {

// Of a handshake.
enum class Role : std::uint8_t { worker = 1, server = 2 };

// Of a frame. `clock` counts the gradients of a worker, from 0; `epoch` is the membership that a server gave
// it.
enum class Kind : std::uint8_t {
  join = 1,   // worker: here I am; clock: of the gradient that I will push next
  welcome,    // server: you are in, by this epoch; clock: of the gradient that I take next; payload: Welcome
  push,       // worker: a key of a gradient
  received,   // server: all my keys of this clock are here
  commit,     // worker: all servers have all keys of this clock
  weights,    // server: a key of the parameters; clock: how many updates are in them
  leave,      // worker: I am done
  refusal,    // server: what you sent is not taken, and you are out; payload: why, in words
  heartbeat,  // both: I am alive
};

// Flags.
inline constexpr std::uint16_t kBf16 = 1;    // push, weights: numbers of 16 bits
inline constexpr std::uint16_t kLast = 2;    // weights: the last key of this server
inline constexpr std::uint16_t kReturn = 4;  // refusal: it may join again

struct Welcome {
  std::int64_t elements = 0;  // of all parameters: both sides must mean the same array
  std::int32_t keys = 0, servers = 0, server = 0;

  bool operator==(const Welcome&) const = default;
};
inline constexpr std::size_t kWelcomeBytes = 20;
using WelcomeBytes = std::array<std::byte, kWelcomeBytes>;

WelcomeBytes encode(const Welcome& welcome);
// Error (peer) when it is something else.
Welcome decode_welcome(std::span<const std::byte> bytes);

inline std::uint8_t wire(Kind kind) { return static_cast<std::uint8_t>(kind); }

}  // namespace trainyard::ps

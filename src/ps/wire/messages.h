#pragma once

#include <bit>

#include "comm/transport/address.h"
#include "comm/transport/frame.h"
#include "comm/transport/handshake.h"
#include "ps/wire/ledger.h"
#include "tensor/tensor.h"

namespace trainyard::ps {

// Counters of a server, for the record of a run.
struct ServerCounts {
  std::int64_t updates = 0, gradients = 0, refused_gradients = 0, joined = 0, left = 0;
  std::int64_t most_waiting = 0;       // gradients to be applied
  std::int64_t interruptions = 0;      // times that a server was missing
  std::int64_t apply_nanoseconds = 0;  // on the thread that talks
  std::int64_t elements = 0;
  std::uint64_t bytes_received = 0, bytes_sent = 0;
  // The number of gradients by the updates that the parameters had moved on when they were applied.
  std::map<std::int64_t, std::int64_t> staleness = {};

  bool operator==(const ServerCounts&) const = default;
};

// A Key is a piece of the flat array of parameters: what one frame carries, and one server keeps.
struct Key {
  std::int64_t first = 0, elements = 0;
  int server = 0;

  std::int64_t end() const { return first + elements; }
  bool operator==(const Key&) const = default;
};

// Cuts an array of floats into pieces of nearly one length, at most `most_key_bytes` each, which take turns
// among the servers: every server has as many bytes as the others, and its part of every stretch of the
// array, so that all of them have work while a backward pass goes through it.
std::vector<Key> make_keys(std::int64_t elements, int servers, std::int64_t most_key_bytes = 128 << 10);

// These are the messages between workers, servers and the coordinator of a run. docs/formats/ps-wire.md
// describes the frames that carry them.

// The role that a process states in its handshake.
enum class Role : std::uint8_t { worker = 1, server = 2 };

// The kind of a frame. `clock` counts the gradients of a worker, from 0; `epoch` is the membership that it
// was given.
enum class Kind : std::uint8_t {
  // Between a worker and a server.
  join = 1,   // worker: here I am; clock: of the gradient that I will push next
  welcome,    // server: you are in, by this epoch; clock: of the gradient that I take next; payload: Welcome
  push,       // worker: a key of a gradient
  note,       // worker, to the leader: what else is to be known of this gradient; payload: the user's
  lease,      // leader: a batch is yours; clock: its number
  weights,    // server: a key of the parameters; clock: how many updates are in them
  done,       // leader: nothing is left to do
  leave,      // worker: I am done
  refusal,    // server: what you sent is not taken, and you are out; payload: why, in words
  heartbeat,  // all: I am alive

  // Between a server and the leader.
  ledger = 20,  // server: this counts for me; payload: Ledger
  history,      // leader: this counts, too; payload: Counted, several
  agreed,       // server: so it does
  seen,         // server: the worker `key` wants to join
  lost,         // server: its connection of this epoch is gone; flags: kReturn; payload: why
  prepared,  // server: all its keys of this clock are here, and kept; flags: kBad, payload: the first bad key
  event,     // leader: this happens now, on all servers in this order; payload: Event

  // Between a server, or a worker, and the coordinator.
  announce = 40,    // server: I listen here; flags: kBegun; payload: address
  where,            // worker: where are the servers?
  peers,            // coordinator: there; payload: addresses, a line each
  begin,            // coordinator: numbers to begin with; key: the array; clock: the first element
  begun,            // coordinator: that was all; payload: the ledger's beginning; server: so they are mine
  snapshot_wanted,  // coordinator: all numbers, as soon as so many updates are in them: clock
  snapshot,         // server: numbers; key: the array; clock: the first element
  snapshot_end,     // server: that was all, of so many updates; payload: the ledger's beginning
  noted,            // leader: a gradient counts; payload: Noted and the user's note
  halt,             // coordinator, to the leader: lend no more batches
  finished,         // leader: nothing is left to do; flags: kBad, payload: why it ended before
  counts_wanted,    // coordinator
  counts,           // server: payload: ServerCounts
  end,              // coordinator: that was the run
};

// Flags.
inline constexpr std::uint16_t kBf16 = 1;    // push, weights: numbers of 16 bits
inline constexpr std::uint16_t kLast = 2;    // weights: the last key of this server
inline constexpr std::uint16_t kReturn = 4;  // refusal, lost: it may join again
inline constexpr std::uint16_t kBad = 8;     // prepared: not all numbers are finite; finished: it failed
inline constexpr std::uint16_t kBegun = 16;  // announce: it has all numbers already

struct Welcome {
  std::int64_t elements = 0;  // of all parameters: both sides must mean the same array
  std::int32_t keys = 0, servers = 0, server = 0;

  bool operator==(const Welcome&) const = default;
};

// An event that happens to a worker, on all servers alike.
struct Event {
  enum class Kind : std::uint8_t {
    admit = 1,
    start,
    commit,
    rest,    // nobody waits for it: there is no batch for it
    resume,  // now there is
    remove
  };
  Kind kind = Kind::admit;
  std::uint32_t worker = 0, epoch = 0;
  std::uint64_t clock = 0;  // commit: of its gradient; admit: of its next
  std::int64_t batch = 0;   // commit: that the gradient was made of
  bool may_return = false;  // remove
  std::string reason = {};  // remove

  bool operator==(const Event&) const = default;
};

// A Noted is a gradient that counts, as the leader tells the coordinator.
struct Noted {
  std::uint32_t worker = 0;
  std::uint64_t clock = 0;
  std::int64_t batch = 0, updates = 0;  // in the parameters, when it was taken
  std::int64_t staleness = 0;           // of these, such as were not in the weights that it was made of
  std::int64_t nanoseconds = 0;         // by the leader's clock
  std::int32_t waiting = 0;             // gradients that were to be applied before it

  bool operator==(const Noted&) const = default;
};

// The starting point of a ledger, or its statement about batches.
struct LedgerStart {
  std::int64_t updates = 0, next_batch = 0;
  std::vector<std::int64_t> loose;

  bool operator==(const LedgerStart&) const = default;
};
LedgerStart start_of(const Ledger& ledger);

using Bytes = std::vector<std::byte>;

// The next functions throw Error (peer) when the bytes are something else.
Bytes encode(const Welcome& welcome);
Welcome decode_welcome(std::span<const std::byte> bytes);
Bytes encode(const Event& event);
Event decode_event(std::span<const std::byte> bytes);
Bytes encode(const std::vector<Counted>& gradients);
std::vector<Counted> decode_history(std::span<const std::byte> bytes);
Bytes encode(const Noted& noted, std::span<const std::byte> note);
Noted decode_noted(std::span<const std::byte> bytes, Bytes& note);
Bytes encode(const LedgerStart& start);
LedgerStart decode_start(std::span<const std::byte> bytes);
Bytes encode(const ServerCounts& counts);
ServerCounts decode_counts(std::span<const std::byte> bytes);
Bytes encode(const Ledger& ledger);
Ledger decode_ledger(std::span<const std::byte> bytes);

// The addresses stand one a line.
std::vector<comm::transport::Address> addresses_of(std::span<const std::byte> lines);

inline std::uint8_t wire(Kind kind) { return static_cast<std::uint8_t>(kind); }
inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }
inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Numbers as they come over the wire, of 16 bits or 32.

inline void round_numbers(std::span<const float> from, std::span<BFloat16> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = BFloat16(from[i]);
}

inline void widen_numbers(std::span<const BFloat16> from, std::span<float> to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]);
}

// The loop has no branch per number, so that it takes no longer than to read them.
inline bool all_finite(std::span<const float> numbers) {
  constexpr std::uint32_t kExponent = 0x7F800000;
  std::uint32_t infinite = 0;
  for (const float number : numbers)
    infinite |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(number) & kExponent) == kExponent);
  return infinite == 0;
}

}  // namespace trainyard::ps

#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/philox.h"
#include "net/fault.h"

namespace trainyard::net_test {

// One way of a connection: what came in and may not yet go out. Knows no sockets and no clock: times are
// given to it.
class Pipe {
 public:
  using Report = std::function<void(const Fault&)>;

  // REQUIRES: the faults in the order of their bytes. `jitter` decides how late each piece is; pieces are as
  // the sockets gave them, so only faults happen at the same byte again, not delays.
  Pipe(Script script, const Philox& jitter, Report report);

  // From the sender: not more than room(), so that a receiver that does not read slows the sender down.
  std::size_t room() const;
  void received(std::span<const std::byte> bytes, double now);
  void ended(double now);

  // To the receiver. ready() also does what is due: ask cut() and finished() behind it.
  std::span<const std::byte> ready(double now);
  void sent(std::size_t count, double now);
  std::optional<Fault::Kind> cut() const { return cut_; }
  bool finished(double now) const;  // all went out, and so may the end
  double next_time() const;         // when there will be more without being given more; maybe never

  // at_byte counts from what was sent until now.
  void order(Fault fault);
  void set_conditions(const Conditions& conditions) { conditions_ = conditions; }
  std::uint64_t sent_bytes() const { return sent_; }  // of the sender's

 private:
  struct Piece {
    std::vector<std::byte> bytes;
    double arrived = 0;
    float lateness = 0;     // share of the jitter
    bool inserted = false;  // not the sender's
    bool is_end = false;
    std::size_t done = 0;
  };
  double due(const Piece& piece) const;
  bool apply_next_fault(double now);

  Conditions conditions_;
  std::deque<Fault> faults_;
  Philox jitter_;
  Report report_;
  std::deque<Piece> pieces_;
  std::size_t held_bytes_ = 0;
  std::uint64_t pieces_so_far_ = 0, sent_ = 0;
  double stalled_until_ = 0, free_at_ = 0;
  std::optional<Fault::Kind> cut_;
};

}  // namespace trainyard::net_test

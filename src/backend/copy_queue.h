#pragma once

#include <cstddef>
#include <vector>

namespace trainyard::backend {

// Copies from the host to a device while its kernels run: a queue beside theirs. Each copy goes to one of a
// few places, which copies and kernels have in turn. Nothing waits in the caller but settle(), await_use()
// and the end.
// Used by one thread.
class CopyQueue {
 public:
  virtual ~CopyQueue() = default;  // waits for the copies

  // Memory of the host that it copies from, zeroed, as much as was asked for.
  virtual std::byte* host() const = 0;
  // Starts a copy to a place, behind all that the device had been given to do before give_back(place).
  virtual void send(int place, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  // What the device is given to do from now on comes behind the last send(place).
  virtual void take(int place) = 0;
  virtual void give_back(int place) = 0;
  // Waits for the last send(place); what it copied from may be changed then.
  virtual void settle(int place) = 0;
  // Has the device done all that it had been given before give_back(place)? await_use() waits until it has.
  virtual bool is_used(int place) = 0;
  virtual void await_use(int place) = 0;

  // When copies ran, for a trace: from watch(true) on each is noted, until copies() gives and forgets those
  // that were. By now_seconds(), as far as Device::match_clocks() made the clocks agree. Waits for them.
  struct Copy {
    double began, ended;
    std::size_t bytes;
  };
  virtual void watch(bool /*on*/) {}
  virtual std::vector<Copy> copies() { return {}; }
};

}  // namespace trainyard::backend

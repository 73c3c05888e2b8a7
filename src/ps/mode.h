#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace trainyard::ps {

// The rule by which a server takes gradients and lets workers go on. One file a mode; all of them are called
// on one thread, and know of no network: what they decide, their host does.
//
// A worker joins, is released with the newest weights, commits the gradient that it made of them, is released
// again, and so on until it leaves.
class Mode {
 public:
  class Host {
   public:
    virtual ~Host() = default;
    // One update of the parameters.
    virtual void apply(std::span<const float> gradient) = 0;
    // The newest weights go to the worker.
    virtual void release(int worker) = 0;
  };

  virtual ~Mode() = default;

  // Before start() workers only gather. Who joins later is counted from the next clock on.
  virtual void join(int worker) = 0;
  virtual void start() = 0;
  // What the worker has committed still counts; nobody waits for more of it.
  virtual void leave(int worker) = 0;
  // The whole gradient of a worker that was released. `gradient` stays as it is until the worker is released,
  // or, when it leaves, until forgotten(worker).
  virtual void commit(int worker, std::span<const float> gradient) = 0;
  // Whether nothing is kept any more of a worker that left.
  virtual bool forgotten(int worker) const = 0;
};

// What a user says: "bsp", "bsp:sum", "asp", "ssp:3".
struct ModeName {
  enum class Kind : std::uint8_t { bsp, asp, ssp };
  Kind kind = Kind::bsp;
  bool mean = true;  // bsp: the mean of a round's gradients, else their sum
  int bound = 0;     // ssp: how many clocks the fastest may be ahead of the slowest

  // Error (usage) that says what is allowed.
  static ModeName parse(const std::string& text);
  std::string to_string() const;
};

// `elements`: of a gradient.
std::unique_ptr<Mode> make_mode(const ModeName& name, Mode::Host& host, std::int64_t elements);

}  // namespace trainyard::ps

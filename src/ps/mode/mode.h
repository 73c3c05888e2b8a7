#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ps/wire/buffer_pool.h"

namespace trainyard::ps {

// The rule by which a server takes gradients and lets workers go on. One file a mode; all of them are called
// on one thread, and know of no network: what they decide, their host does.
//
// A worker joins, is released with the newest weights, commits the gradient that it made of them, is released
// again, and so on until it leaves.
class Mode {
 public:
  // The gradient of a whole shard. It stays unchanged while anyone holds it.
  using Gradient = std::shared_ptr<const Buffer>;

  class Host {
   public:
    virtual ~Host() = default;
    // One update of the parameters, by what was committed since the last; `summed`: so many gradients are
    // added up in it, their mean being one.
    virtual void apply(std::span<const float> gradient, int summed) = 0;
    // Applies in the background; then calls `done`, on the mode's thread.
    virtual void apply_beside(int worker, Gradient gradient, std::function<void()> done) = 0;
    // Sends the newest weights to the worker.
    virtual void release(int worker) = 0;
  };

  virtual ~Mode() = default;

  // Before start() workers only gather. A worker that joins later is counted from the next clock on.
  virtual void join(int worker) = 0;
  virtual void start() = 0;
  // Removes the worker. Gradients that it has committed still count; nobody waits for more of them.
  virtual void leave(int worker) = 0;
  // Takes the whole gradient of a worker that was released.
  virtual void commit(int worker, Gradient gradient) = 0;
};

// A mode as a user names it: "bsp", "bsp:sum", "asp", "ssp:3", "lazy", "lazy-locked", "hogwild".
struct ModeName {
  enum class Kind : std::uint8_t { bsp, asp, ssp, lazy, lazy_locked, hogwild };
  Kind kind = Kind::bsp;
  bool mean = true;  // bsp: the mean of a round's gradients, else their sum
  int bound = 0;     // ssp: how many clocks the fastest may be ahead of the slowest

  // Error (usage) that says what is allowed.
  static ModeName parse(const std::string& text);
  std::string to_string() const;
};

// Returns the words of all modes, with "ssp:N" for one that takes a number.
std::vector<std::string> mode_words();

// The gradients of one round, by worker: their sum in the order of workers, or their mean, in `sum`.
void add_in_order(const std::map<int, std::span<const float>>& gradients, bool mean, std::span<float> sum);

// `elements`: the length of a gradient.
std::unique_ptr<Mode> make_mode(const ModeName& name, Mode::Host& host, std::int64_t elements);

// One function a mode, each in the file of its name.

std::unique_ptr<Mode> make_bsp(Mode::Host& host, std::int64_t elements, bool mean);
std::unique_ptr<Mode> make_asp(Mode::Host& host);
std::unique_ptr<Mode> make_ssp(Mode::Host& host, int bound);
std::unique_ptr<Mode> make_lazy(Mode::Host& host, int most_waiting);
std::unique_ptr<Mode> make_hogwild(Mode::Host& host);

// The common base of modes in which no worker waits for another: workers gather before the start, then each
// proceeds at its own pace. A derived mode decides when a gradient is applied and whether its worker is held
// until then.
class FreeRunning : public Mode {
 public:
  explicit FreeRunning(Host& host) : host_(host) {}

  void join(int worker) final;
  void start() final;
  void leave(int worker) final;

 protected:
  Host& host_;
  std::deque<int> held_;  // workers that do not go on, the longest first

 private:
  bool started_ = false;
};

}  // namespace trainyard::ps

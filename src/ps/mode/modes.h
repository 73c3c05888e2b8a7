#pragma once

#include <deque>

#include "ps/mode/mode.h"

namespace trainyard::ps {

// This is the list of modes. One function a mode, in the file of its name, and one row below: words, help
// texts, choices of studies, the server's threads and the tests of all modes follow from it.

std::unique_ptr<Mode> make_bsp(const ModeName& name, Mode::Host& host, std::int64_t elements);
std::unique_ptr<Mode> make_asp(const ModeName& name, Mode::Host& host, std::int64_t elements);
std::unique_ptr<Mode> make_ssp(const ModeName& name, Mode::Host& host, std::int64_t elements);
std::unique_ptr<Mode> make_lazy(const ModeName& name, Mode::Host& host, std::int64_t elements);
std::unique_ptr<Mode> make_hogwild(const ModeName& name, Mode::Host& host, std::int64_t elements);

inline constexpr ModeRow kModes[] = {
    {.word = "bsp",
     .help = "updates by the mean of a gradient of every worker",
     .also = "bsp:mean",
     .pace = Pace::rounds,
     .make = make_bsp},
    {.word = "bsp:sum",
     .help = "the same by their sum",
     .pace = Pace::rounds,
     .sums = true,
     .make = make_bsp},
    {.word = "asp", .help = "applies each gradient at once", .make = make_asp},
    {.word = "ssp",
     .help = "the same, with the fastest worker at most N steps ahead of the slowest",
     .takes_number = true,
     .pace = Pace::bounded,
     .make = make_ssp},
    {.word = "lazy",
     .help = "lets a worker go on before its gradient is applied",
     .sharing = Sharing::snapshots,
     .make = make_lazy},
    {.word = "lazy-locked", .help = "the same with a lock", .sharing = Sharing::locked, .make = make_lazy},
    {.word = "hogwild",
     .help = "several threads apply without a lock",
     .sharing = Sharing::racing,
     .make = make_hogwild},
};

// FreeRunning is the common base of modes in which no worker waits for another: workers gather before the
// start, then each proceeds at its own pace. A derived mode decides when a gradient is applied and whether
// its worker is held until then.
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

#pragma once

#include <deque>

#include "ps/mode.h"

namespace trainyard::ps {

// What modes share in which no worker waits for another: before the start they gather, then each goes on as
// it comes. When a gradient is applied, and whether its worker is held until then, is theirs to say.
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

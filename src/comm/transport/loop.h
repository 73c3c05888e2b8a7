#pragma once

#include "base/standard.h"

namespace boost::asio {
class io_context;
}

namespace trainyard::comm::transport {

// Loop is the thread on which connections live: all their calls are made from it, and what they report comes
// on it.
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Runs until stop(), or until nothing is left to wait for. Exceptions of handlers propagate out of it.
  void run();
  // These two may be called from any thread.
  void stop();
  void post(std::function<void()> work);

  // Runs `work` once, so many seconds from now, unless the timer is gone by then.
  class Timer {
   public:
    virtual ~Timer() = default;
  };
  std::unique_ptr<Timer> after(double seconds, std::function<void()> work);

  boost::asio::io_context& context() { return *context_; }

 private:
  std::unique_ptr<boost::asio::io_context> context_;
};

}  // namespace trainyard::comm::transport

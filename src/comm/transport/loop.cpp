#include "comm/transport/loop.h"

#include <chrono>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace trainyard::comm::transport {
namespace {

class SteadyTimer final : public Loop::Timer {
 public:
  SteadyTimer(boost::asio::io_context& context, double seconds, std::function<void()> work)
      : timer_(context,
               std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds))) {
    // The handler may be under way already when the timer goes: it must then do nothing.
    timer_.async_wait([alive = std::weak_ptr<bool>(alive_),
                       work = std::move(work)](const boost::system::error_code& error) {
      if (!error && !alive.expired()) work();
    });
  }

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  boost::asio::steady_timer timer_;
};

}  // namespace

Loop::Loop() : context_(std::make_unique<boost::asio::io_context>(1)) {}
Loop::~Loop() = default;

void Loop::run() {
  context_->run();
  context_->restart();  // so that it can run again
}
void Loop::stop() { context_->stop(); }
void Loop::post(std::function<void()> work) { boost::asio::post(*context_, std::move(work)); }

std::unique_ptr<Loop::Timer> Loop::after(double seconds, std::function<void()> work) {
  return std::make_unique<SteadyTimer>(*context_, seconds, std::move(work));
}

}  // namespace trainyard::comm::transport

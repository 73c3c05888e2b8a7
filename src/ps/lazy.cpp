#include <deque>
#include <utility>

#include "ps/modes.h"

namespace trainyard::ps {
namespace {

// Lazy: a worker goes on at once, with weights that its own gradient may not be in yet; gradients are applied
// beside. While too many wait for that, workers wait, too: neither memory nor the age of weights grows
// without a bound.
class Lazy final : public Mode {
 public:
  Lazy(Host& host, int most_waiting) : host_(host), most_waiting_(most_waiting) {}

  void join(int worker) override {
    if (started_)
      host_.release(worker);
    else
      held_.push_back(worker);
  }

  void start() override {
    started_ = true;
    const std::deque<int> released = std::exchange(held_, {});
    for (const int worker : released) host_.release(worker);
  }

  void leave(int worker) override { std::erase(held_, worker); }

  void commit(int worker, Gradient gradient) override {
    ++waiting_;
    host_.apply_beside(worker, std::move(gradient), [this] { applied(); });
    if (waiting_ < most_waiting_)
      host_.release(worker);
    else
      held_.push_back(worker);
  }

 private:
  void applied() {
    --waiting_;
    if (!started_ || held_.empty()) return;
    const int worker = held_.front();
    held_.pop_front();
    host_.release(worker);
  }

  Host& host_;
  int most_waiting_, waiting_ = 0;  // gradients to be applied
  bool started_ = false;
  std::deque<int> held_;  // workers, the longest first
};

}  // namespace

std::unique_ptr<Mode> make_lazy(Mode::Host& host, int most_waiting) {
  return std::make_unique<Lazy>(host, most_waiting);
}

}  // namespace trainyard::ps

#include <utility>

#include "ps/mode/mode.h"

namespace trainyard::ps {
namespace {

// Lazy: a worker goes on at once, with weights that its own gradient may not be in yet; gradients are applied
// beside. While too many wait for that, workers wait, too: neither memory nor the age of weights grows
// without a bound.
class Lazy final : public FreeRunning {
 public:
  Lazy(Host& host, int most_waiting) : FreeRunning(host), most_waiting_(most_waiting) {}

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
    if (held_.empty()) return;
    const int worker = held_.front();
    held_.pop_front();
    host_.release(worker);
  }

  int most_waiting_, waiting_ = 0;  // gradients to be applied
};

}  // namespace

std::unique_ptr<Mode> make_lazy(Mode::Host& host, int most_waiting) {
  return std::make_unique<Lazy>(host, most_waiting);
}

}  // namespace trainyard::ps

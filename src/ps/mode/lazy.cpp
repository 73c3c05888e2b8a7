#include "ps/mode/modes.h"

namespace trainyard::ps {
namespace {

// Gradients that a lazy server may still have to apply: more would only make them older.
constexpr int kMostWaiting = 8;

// Lazy: a worker goes on at once, with weights that its own gradient may not be in yet; gradients are applied
// beside. While too many wait for that, workers wait, too: neither memory nor the age of weights grows
// without a bound.
class Lazy final : public FreeRunning {
 public:
  using FreeRunning::FreeRunning;

  void commit(int worker, Gradient gradient) override {
    ++waiting_;
    host_.apply_beside(worker, std::move(gradient), [this] { applied(); });
    if (waiting_ < kMostWaiting)
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

  int waiting_ = 0;  // gradients to be applied
};

}  // namespace

std::unique_ptr<Mode> make_lazy(const ModeName&, Mode::Host& host, std::int64_t) {
  return std::make_unique<Lazy>(host);
}

}  // namespace trainyard::ps

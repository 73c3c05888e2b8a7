#include "ps/mode/modes.h"

namespace trainyard::ps {
namespace {

// Hogwild (Niu et al. 2011): gradients of several workers are applied at the same time to the same numbers,
// by threads that wait for nobody. What a worker is sent may be of no single version at all.
class Hogwild final : public FreeRunning {
 public:
  using FreeRunning::FreeRunning;

  void commit(int worker, Gradient gradient) override {
    host_.apply_beside(worker, std::move(gradient), [this, worker] { host_.release(worker); });
  }
};

}  // namespace

std::unique_ptr<Mode> make_hogwild(const ModeName&, Mode::Host& host, std::int64_t) {
  return std::make_unique<Hogwild>(host);
}

}  // namespace trainyard::ps

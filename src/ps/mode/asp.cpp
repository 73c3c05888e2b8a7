#include "ps/mode/modes.h"

namespace trainyard::ps {
namespace {

// Asynchronous: every gradient is applied when it comes, and then its worker goes on. Nobody waits for
// another, and nothing bounds how old the weights are that a gradient was made of.
class Asp final : public FreeRunning {
 public:
  using FreeRunning::FreeRunning;

  void commit(int worker, Gradient gradient) override {
    host_.apply(gradient->values, 1);
    gradient.reset();  // its memory is free for the next
    host_.release(worker);
  }
};

}  // namespace

std::unique_ptr<Mode> make_asp(const ModeName&, Mode::Host& host, std::int64_t) {
  return std::make_unique<Asp>(host);
}

}  // namespace trainyard::ps

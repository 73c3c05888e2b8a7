#include <utility>
#include <vector>

#include "ps/modes.h"

namespace trainyard::ps {
namespace {

// Asynchronous: every gradient is applied when it comes, and then its worker goes on. Nobody waits for
// another, and nothing bounds how old the weights are that a gradient was made of.
class Asp final : public Mode {
 public:
  explicit Asp(Host& host) : host_(host) {}

  void join(int worker) override {
    if (started_)
      host_.release(worker);
    else
      waiting_.push_back(worker);
  }
  void start() override {
    started_ = true;
    const std::vector<int> released = std::exchange(waiting_, {});
    for (const int worker : released) host_.release(worker);
  }
  void leave(int worker) override { std::erase(waiting_, worker); }
  void commit(int worker, Gradient gradient) override {
    host_.apply(gradient->values, 1);
    gradient.reset();  // its memory is free for the next
    host_.release(worker);
  }

 private:
  Host& host_;
  bool started_ = false;
  std::vector<int> waiting_;
};

}  // namespace

std::unique_ptr<Mode> make_asp(Mode::Host& host) { return std::make_unique<Asp>(host); }

}  // namespace trainyard::ps

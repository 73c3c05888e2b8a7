#include <utility>
#include <vector>

#include "ps/modes.h"

namespace trainyard::ps {
namespace {

// Hogwild (Niu et al. 2011): gradients of several workers are applied at the same time to the same numbers,
// by threads that wait for nobody. What a worker is sent may be of no single version at all.
class Hogwild final : public Mode {
 public:
  explicit Hogwild(Host& host) : host_(host) {}

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
    host_.apply_beside(worker, std::move(gradient), [this, worker] { host_.release(worker); });
  }

 private:
  Host& host_;
  bool started_ = false;
  std::vector<int> waiting_;
};

}  // namespace

std::unique_ptr<Mode> make_hogwild(Mode::Host& host) { return std::make_unique<Hogwild>(host); }

}  // namespace trainyard::ps

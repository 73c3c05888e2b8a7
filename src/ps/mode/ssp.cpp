#include "base/error.h"
#include "ps/mode/modes.h"

namespace trainyard::ps {
namespace {

// Stale synchronous (Ho et al. 2013): a gradient is applied when it comes, but its worker goes on only while
// it is at most `bound` clocks ahead of the slowest.
class Ssp final : public Mode {
 public:
  Ssp(Host& host, int bound) : host_(host), bound_(bound) {}

  void join(int worker) override {
    // A worker that joins starts at the clock of the slowest: it holds up nobody that was not held up before.
    const std::int64_t clock = slowest();
    clocks_[worker] = {clock, true};
    if (started_) release_all();
  }

  void start() override {
    started_ = true;
    release_all();
  }

  void leave(int worker) override {
    clocks_.erase(worker);
    if (started_) release_all();
  }

  void commit(int worker, Gradient gradient) override {
    Progress& progress = clocks_.at(worker);
    TRAINYARD_CHECK(!progress.waits);
    host_.apply(gradient->values, 1);
    gradient.reset();  // its memory is free for the next
    ++progress.clock;
    progress.waits = true;
    release_all();
  }

 private:
  struct Progress {
    std::int64_t clock = 0;
    bool waits = false;
  };

  std::int64_t slowest() const {
    const auto found = std::min_element(clocks_.begin(), clocks_.end(), [](const auto& a, const auto& b) {
      return a.second.clock < b.second.clock;
    });
    return found == clocks_.end() ? 0 : found->second.clock;
  }

  void release_all() {
    const std::int64_t most = slowest() + bound_;
    std::vector<int> released;
    for (auto& [worker, progress] : clocks_)
      if (progress.waits && progress.clock <= most) {
        progress.waits = false;
        released.push_back(worker);
      }
    for (const int worker : released) host_.release(worker);
  }

  Host& host_;
  int bound_;
  bool started_ = false;
  std::map<int, Progress> clocks_;
};

}  // namespace

std::unique_ptr<Mode> make_ssp(const ModeName& name, Mode::Host& host, std::int64_t elements) {
  // Nobody ahead of anybody: rounds, with one update each as all gradients are of the same weights.
  if (name.number == 0) return make_bsp(name, host, elements);
  return std::make_unique<Ssp>(host, name.number);
}

}  // namespace trainyard::ps

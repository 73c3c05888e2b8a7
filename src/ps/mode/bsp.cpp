#include "base/error.h"
#include "ps/mode/modes.h"

namespace trainyard::ps {
namespace {

// Bulk synchronous: a round takes one gradient of every worker, adds them in the order of workers whatever
// order they came in, and makes one update.
class Bsp final : public Mode {
 public:
  Bsp(Host& host, std::int64_t elements, bool mean)
      : host_(host), mean_(mean), sum_(static_cast<std::size_t>(elements)) {}

  void join(int worker) override {
    waiting_.push_back(worker);
    if (started_ && members_.empty() && committed_.empty()) begin_round();
  }

  void start() override {
    started_ = true;
    if (!waiting_.empty()) begin_round();
  }

  void leave(int worker) override {
    std::erase(waiting_, worker);
    std::erase(members_, worker);
    end_round_when_complete();
  }

  void commit(int worker, Gradient gradient) override {
    TRAINYARD_CHECK(std::count(members_.begin(), members_.end(), worker) == 1);
    TRAINYARD_CHECK(gradient->values.size() == sum_.size() && !committed_.contains(worker));
    committed_[worker] = std::move(gradient);
    end_round_when_complete();
  }

 private:
  void begin_round() {
    members_.insert(members_.end(), waiting_.begin(), waiting_.end());
    std::sort(members_.begin(), members_.end());  // who gets which batch must not depend on who came first
    waiting_.clear();
    // This is a copy, because a released worker may leave at once.
    const std::vector<int> released = members_;
    for (const int worker : released) host_.release(worker);
  }

  void end_round_when_complete() {
    const bool complete = std::all_of(members_.begin(), members_.end(),
                                      [this](int worker) { return committed_.contains(worker); });
    if (!started_ || !complete) return;
    if (!committed_.empty()) apply_sum();
    if (!members_.empty() || !waiting_.empty()) begin_round();
  }

  void apply_sum() {
    const std::map<int, Gradient> round = std::exchange(committed_, {});
    if (round.size() == 1) return host_.apply(round.begin()->second->values, 1);
    std::map<int, std::span<const float>> gradients;
    for (const auto& [worker, gradient] : round) gradients[worker] = gradient->values;
    add_in_order(gradients, mean_, sum_);
    host_.apply(sum_, mean_ ? 1 : static_cast<int>(round.size()));
  }

  Host& host_;
  bool mean_, started_ = false;
  std::vector<int> waiting_, members_;  // of the next round, and of this one
  std::map<int, Gradient> committed_;   // of this round; also of workers that left since
  std::vector<float> sum_;
};

}  // namespace

// Block by block, so that a sum stays in the cache until it is complete.
void add_in_order(const std::map<int, std::span<const float>>& gradients, bool mean, std::span<float> sum) {
  constexpr std::size_t kBlock = 2048;
  const auto count = static_cast<float>(gradients.size());
  for (std::size_t begin = 0; begin < sum.size(); begin += kBlock) {
    const std::size_t length = std::min(kBlock, sum.size() - begin);
    float* const to = sum.data() + begin;
    auto next = gradients.begin();
    std::copy_n(next->second.data() + begin, length, to);
    for (++next; next != gradients.end(); ++next) {
      const float* const from = next->second.data() + begin;
      for (std::size_t i = 0; i < length; ++i) to[i] += from[i];
    }
    if (mean && gradients.size() > 1)
      for (std::size_t i = 0; i < length; ++i) to[i] /= count;
  }
}

std::unique_ptr<Mode> make_bsp(const ModeName& name, Mode::Host& host, std::int64_t elements) {
  return std::make_unique<Bsp>(host, elements, !name.row->sums);
}

}  // namespace trainyard::ps

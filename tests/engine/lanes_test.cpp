// Kernels that run concurrently, in one training step or in two consecutive ones, touch no memory that one of
// them writes. A device of four lanes notes which lane waits for which while the executor starts several
// steps.
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "engine/executor.h"
#include "ops/dense.h"
#include "train/session/session.h"

namespace trainyard {
namespace {

// Runs nothing beside anything; knows of every mark all that is surely done before it.
class FourLanes final : public backend::Device {
 public:
  explicit FourLanes(std::size_t free_bytes) : free_bytes_(free_bytes) {}
  std::string name() const override { return "lanes"; }
  std::byte* allocate(std::size_t bytes) override { return backend::host_device()->allocate(bytes); }
  void release(std::byte* memory, std::size_t bytes) noexcept override {
    backend::host_device()->release(memory, bytes);
  }
  std::size_t free_bytes() const override { return free_bytes_; }
  void write(std::byte* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void read(const std::byte* from, void* to, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void wait() override {}
  void fill_random(std::byte*, std::size_t, DType) override {}
  double time(const std::function<void()>& enqueue) override { return enqueue(), 0; }

  int lanes() const override { return static_cast<int>(done_.size()); }
  void use_lane(int lane) override { lane_ = static_cast<std::size_t>(lane); }
  int mark_lane() override {
    const int mark = static_cast<int>(before_.size());
    before_.push_back(done_[lane_]);
    done_[lane_].insert(mark);
    return mark;
  }
  void wait_for_mark(int mark) override {
    const std::set<int>& before = before_[static_cast<std::size_t>(mark)];
    done_[lane_].insert(before.begin(), before.end());
    done_[lane_].insert(mark);
  }
  void join_lanes(int count) override {
    lane_ = 0;
    for (std::size_t lane = 1; lane < static_cast<std::size_t>(count); ++lane)
      done_[0].insert(done_[lane].begin(), done_[lane].end());
  }

  bool surely_before(int mark, int later) const {
    return before_[static_cast<std::size_t>(later)].contains(mark);
  }
  std::size_t marks() const { return before_.size(); }

 private:
  std::size_t free_bytes_, lane_ = 0;
  std::array<std::set<int>, 4> done_;  // by lane
  std::vector<std::set<int>> before_;  // by mark
};

// Runs the reference's kernels on such a device. When it `joins`, the update of a dense layer, which makes
// its gradient itself, has a name that the planner takes for a fast one.
class OnLanes final : public backend::Backend {
 public:
  OnLanes(std::shared_ptr<FourLanes> device, bool joins)
      : device_(std::move(device)), candidates_(reference_->candidates()) {
    for (backend::Candidate& candidate : candidates_)
      if (joins && candidate.op == &ops::dense_update_op) candidate.name = "own:dense_update";
  }
  std::string name() const override { return "lanes"; }
  std::shared_ptr<backend::Device> device() const override { return device_; }
  const std::vector<backend::Candidate>& candidates() const override { return candidates_; }
  std::unique_ptr<backend::Kernel> make_reorder(const graph::TensorType& type, const Layout& from,
                                                const Layout& to) const override {
    return reference_->make_reorder(type, from, to);
  }

 private:
  std::shared_ptr<FourLanes> device_;
  std::unique_ptr<backend::Backend> reference_ = backend::make_reference_backend();
  std::vector<backend::Candidate> candidates_;
};

struct Piece {
  plan::Region region;
  std::size_t begin, end;
  bool written;
};

std::vector<Piece> pieces_of(const plan::CompiledStep& compiled, const plan::Step& step) {
  std::vector<Piece> pieces;
  const auto add = [&](int id, bool written) {
    const plan::Buffer& buffer = compiled.plan.buffers[static_cast<std::size_t>(id)];
    pieces.push_back({buffer.region, buffer.offset, buffer.offset + buffer.bytes, written});
  };
  std::set<int> changed;
  if (!step.is_reorder())
    for (const int i : graph::mutated_inputs({*compiled.graph, compiled.graph->node(step.node)}))
      changed.insert(i);
  for (std::size_t i = 0; i < step.inputs.size(); ++i)
    add(step.inputs[i], changed.contains(static_cast<int>(i)));
  for (const int id : step.outputs) add(id, true);
  if (step.workspace >= 0) add(step.workspace, true);
  return pieces;
}

bool conflict(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  for (const Piece& x : a)
    for (const Piece& y : b)
      if ((x.written || y.written) && x.region == y.region && x.begin < y.end && y.begin < x.end) return true;
  return false;
}

class Lanes : public testing::TestWithParam<std::tuple<const char*, bool, bool>> {};

TEST_P(Lanes, NobodyOvertakesWhoTouchesItsMemory) {
  const auto& [network, roomy, joins] = GetParam();
  const auto device = std::make_shared<FourLanes>(roomy ? std::size_t{1} << 40 : 0);
  train::SessionOptions options;
  options.model = {.network = network, .batch = 1};
  options.update.rule = ops::Rule::adam;
  const OnLanes backend(device, joins);
  plan::CompiledStep compiled = train::compile_step(options, backend);
  std::vector<std::vector<Piece>> pieces;
  std::size_t late = 0;
  for (const plan::Step& step : compiled.plan.steps) {
    pieces.push_back(pieces_of(compiled, step));
    late += step.late ? 1 : 0;
  }
  // Most weights of lenet are in its first dense layer, so their update is apart. One that makes its gradient
  // reads activations, whose memory the rest of the step may want.
  EXPECT_EQ(late > 0, std::string(network) == "lenet" && (roomy || !joins));

  engine::Executor executor(std::move(compiled));
  const std::size_t first = device->marks();
  executor.run_steps({1, 0}, 16);
  // Every training step marks its start, then each of its kernels.
  const std::size_t kernels = pieces.size(), of_step = kernels + 1;
  ASSERT_EQ(device->marks() - first, 16 * of_step);
  for (std::size_t a = 0; a < 4 * of_step; ++a)
    for (std::size_t b = a + 1; b < 4 * of_step; ++b) {
      if (a % of_step == 0 || b % of_step == 0) continue;
      const std::size_t s = a % of_step - 1, t = b % of_step - 1;
      if (!conflict(pieces[s], pieces[t])) continue;
      EXPECT_TRUE(device->surely_before(static_cast<int>(first + a), static_cast<int>(first + b)))
          << executor.plan().steps[s].name << " of step " << a / of_step << " and "
          << executor.plan().steps[t].name << " of step " << b / of_step;
    }
}

// The places of the plan's steps that run this op.
std::vector<std::size_t> steps_of(const train::SessionOptions& options, const std::string& op) {
  const plan::CompiledStep compiled =
      train::compile_step(options, OnLanes(std::make_shared<FourLanes>(0), true));
  std::vector<std::size_t> places;
  for (std::size_t s = 0; s < compiled.plan.steps.size(); ++s)
    if (compiled.plan.steps[s].op == op) places.push_back(s);
  return places;
}

TEST(UpdateOnLanes, StaysWholeWhereItClips) {
  train::SessionOptions options;
  options.model = {.network = "lenet", .batch = 1};
  options.keep_gradients = true;
  EXPECT_GT(steps_of(options, "update").size(), 1u);
  options.update.clip_norm = 1;
  EXPECT_EQ(steps_of(options, "update").size(), 1u);
  options.keep_gradients = false;
  EXPECT_EQ(steps_of(options, "update").size(), 1u);
  EXPECT_TRUE(steps_of(options, "dense_update").empty());
}

TEST(UpdateOnLanes, FollowsTheSumsOfGradients) {
  train::SessionOptions options;
  options.model = {.network = "lenet", .batch = 1};
  options.keep_gradients = true;
  options.micro_batches = 2;
  const std::vector<std::size_t> sums = steps_of(options, "accumulate"),
                                 updates = steps_of(options, "update");
  ASSERT_EQ(sums.size(), 1u);
  ASSERT_FALSE(updates.empty());
  EXPECT_LT(sums.front(), updates.front());
}

TEST(Watched, TellsOfEveryKernelOnceInTheirOrder) {
  const auto device = std::make_shared<FourLanes>(0);
  train::SessionOptions options;
  options.model = {.network = "lenet", .batch = 1};
  const OnLanes backend(device, false);
  engine::Executor executor(train::compile_step(options, backend));
  for (std::int64_t step = 0; step < 2; ++step) {
    double last = 0;
    std::size_t next = 0;
    executor.run_watched({1, step}, [&](std::size_t number, double began, double ended) {
      EXPECT_EQ(number, next++);
      EXPECT_LE(last, began);
      EXPECT_LE(began, ended);
      last = ended;
    });
    EXPECT_EQ(next, executor.plan().steps.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Lanes,
                         testing::Values(std::tuple{"lenet", false, false}, std::tuple{"lenet", true, false},
                                         std::tuple{"lenet", false, true}, std::tuple{"lenet", true, true},
                                         std::tuple{"resnet20", false, false},
                                         std::tuple{"resnet20", true, false}),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) ? "_roomy" : "_tight") +
                                  (std::get<2>(test.param) ? "_joined" : "");
                         });

}  // namespace
}  // namespace trainyard

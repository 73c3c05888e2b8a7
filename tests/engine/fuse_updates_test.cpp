// A dense layer that makes its gradient where it is used learns the same, on a backend that says it can.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "engine/canonical.h"
#include "ops/dense.h"
#include "ops/update.h"
#include "train/session/session.h"

namespace trainyard {
namespace {

// The reference's kernels; the joined update has a name that the planner takes for a fast one.
class JoiningBackend final : public backend::Backend {
 public:
  JoiningBackend() : candidates_(reference_->candidates()) {
    for (backend::Candidate& candidate : candidates_)
      if (candidate.op == &ops::dense_update_op) candidate.name = "own:dense_update";
  }
  std::string name() const override { return "joining"; }
  std::shared_ptr<backend::Device> device() const override { return reference_->device(); }
  const std::vector<backend::Candidate>& candidates() const override { return candidates_; }
  std::unique_ptr<backend::Kernel> make_reorder(const graph::TensorType& type, const Layout& from,
                                                const Layout& to) const override {
    return reference_->make_reorder(type, from, to);
  }

 private:
  std::unique_ptr<backend::Backend> reference_ = backend::make_reference_backend();
  std::vector<backend::Candidate> candidates_;
};

train::SessionOptions lenet() {
  train::SessionOptions options;
  options.model = {.network = "lenet", .batch = 2};
  options.update.rule = ops::Rule::momentum;
  options.update.schedule.rate = 0.01;
  options.update.ema_decay = 0.9;
  return options;
}

class FuseUpdates : public testing::Test {
 protected:
  static std::unique_ptr<engine::Executor> trained(bool fuse) {
    const JoiningBackend backend;
    train::SessionOptions options = lenet();
    options.fuse = fuse;
    auto executor = std::make_unique<engine::Executor>(train::compile_step(options, backend));
    engine::initialise_state(*executor, 3);
    engine::initialise_optimizer(*executor, 3);
    for (int step = 0; step < 3; ++step) {
      engine::initialise_inputs(*executor, static_cast<std::uint64_t>(step));
      executor->run({3, step});
    }
    return executor;
  }

  static std::ptrdiff_t nodes_of(const graph::Graph& graph, const graph::OpDef& op) {
    return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                         [&](const graph::Node& node) { return node.op == &op; });
  }
};

TEST_F(FuseUpdates, ParametersAndTheirStateBecomeTheSame) {
  const auto joined = trained(true), apart = trained(false);
  int compared = 0;
  for (const plan::Buffer& buffer : apart->plan().buffers) {
    if (buffer.region != plan::Region::parameters && buffer.region != plan::Region::optimizer_state) continue;
    const HostTensor got = joined->read(buffer.name), want = apart->read(buffer.name);
    const auto a = got.as<float>(), b = want.as<float>();
    ASSERT_EQ(a.size(), b.size()) << buffer.name;
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], 1e-5 * std::max(1.0f, std::abs(b[i]))) << buffer.name << " at " << i;
    ++compared;
  }
  EXPECT_EQ(compared, 3 * 8);  // four layers' weight and bias, each with momentum and moving average
}

TEST_F(FuseUpdates, OnlyWhatIsLargeJoins) {
  const JoiningBackend backend;
  const plan::CompiledStep step = train::compile_step(lenet(), backend);
  EXPECT_EQ(nodes_of(*step.graph, ops::dense_update_op), 1);
  const auto rest = std::find_if(step.graph->nodes().begin(), step.graph->nodes().end(),
                                 [](const graph::Node& node) { return node.op == &ops::update_op; });
  ASSERT_NE(rest, step.graph->nodes().end());
  EXPECT_EQ(ops::updated_parameters({*step.graph, *rest}), 6);
}

TEST_F(FuseUpdates, NotWhereGradientsAreKept) {
  const JoiningBackend backend;
  train::SessionOptions options = lenet();
  options.keep_gradients = true;
  const plan::CompiledStep step = train::compile_step(options, backend);
  EXPECT_EQ(nodes_of(*step.graph, ops::dense_update_op), 0);
  EXPECT_TRUE(engine::GradientSchedule(step).complete());
  EXPECT_FALSE(engine::GradientSchedule(train::compile_step(lenet(), backend)).complete());
}

TEST_F(FuseUpdates, NotWhereGradientsAreClipped) {
  const JoiningBackend backend;
  train::SessionOptions options = lenet();
  options.update.clip_norm = 1;
  const plan::CompiledStep step = train::compile_step(options, backend);
  EXPECT_EQ(nodes_of(*step.graph, ops::dense_update_op), 0);
}

TEST_F(FuseUpdates, NotWhereTheBackendHasOnlySimpleLoops) {
  const auto backend = backend::make_reference_backend();
  const plan::CompiledStep step = train::compile_step(lenet(), *backend);
  EXPECT_EQ(nodes_of(*step.graph, ops::dense_update_op), 0);
  EXPECT_EQ(std::count_if(step.plan.fusions.begin(), step.plan.fusions.end(),
                          [](const std::string& note) {
                            return note.find("stays apart from its update") != std::string::npos;
                          }),
            1);
}

}  // namespace
}  // namespace trainyard

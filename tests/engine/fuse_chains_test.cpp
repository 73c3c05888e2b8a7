// Layers that run as one learn the same, on a backend that says it can.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "engine/canonical.h"
#include "ops/dense.h"
#include "plan/compile.h"
#include "train/session/session.h"

namespace trainyard {
namespace {

// The reference's kernels; those of chains have names that the planner takes for fast ones.
class ChainingBackend final : public backend::Backend {
 public:
  ChainingBackend() : candidates_(reference_->candidates()) {
    for (backend::Candidate& candidate : candidates_) {
      if (candidate.op == &ops::dense_chain_op) candidate.name = "own:dense_chain";
      if (candidate.op == &ops::dense_chain_d_src_op) candidate.name = "own:dense_chain_d_src";
      if (candidate.op == &ops::dense_chain_d_weight_op) candidate.name = "own:dense_chain_d_weight";
    }
  }
  std::string name() const override { return "chaining"; }
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

// An input of 12, layers of 8, and a last one of 3.
struct Network {
  graph::Graph graph;
  std::vector<graph::ValueId> hidden;
  graph::ValueId logits = graph::kNone;
};

Network layers_of_eight(int layers) {
  Network made;
  const auto layer = [&](const std::string& name, graph::ValueId src, std::int64_t outputs) {
    const auto weight = made.graph.add_parameter(
        name + "/weight", {{outputs, made.graph.shape(src)[1]}, DType::f32}, graph::Initializer::normal(0.5));
    const auto bias =
        made.graph.add_parameter(name + "/bias", {{outputs}, DType::f32}, graph::Initializer::normal(0.5));
    return ops::dense(made.graph, name, src, weight, bias);
  };
  graph::ValueId x = made.graph.add_input("images", {{5, 12}, DType::f32}, graph::Initializer::normal(1));
  for (int l = 1; l <= layers; ++l) {
    x = ops::activation(made.graph, fmt::format("fc{}/relu", l), layer(fmt::format("fc{}", l), x, 8),
                        {ops::Activation::relu});
    made.hidden.push_back(x);
  }
  made.logits = layer("logits", x, 3);
  made.graph.mark_output(made.logits);
  return made;
}

std::ptrdiff_t nodes_of(const graph::Graph& graph, const graph::OpDef& op) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [&](const graph::Node& node) { return node.op == &op; });
}

TEST(FuseChains, LayersOfInferenceKeepTheLastAlone) {
  const plan::CompiledStep step = plan::compile(layers_of_eight(6).graph, ChainingBackend());
  ASSERT_EQ(nodes_of(*step.graph, ops::dense_chain_op), 1);
  EXPECT_EQ(nodes_of(*step.graph, ops::dense_op), 2);  // the first has other inputs, the last other outputs
  const auto chain = std::find_if(step.graph->nodes().begin(), step.graph->nodes().end(),
                                  [](const graph::Node& node) { return node.op == &ops::dense_chain_op; });
  EXPECT_EQ(chain->outputs.size(), 1u);
  EXPECT_EQ(chain->inputs.size(), 1u + 2 * 5);
}

TEST(FuseChains, WhatAnotherReadsEndsAChain) {
  Network network = layers_of_eight(7);
  network.graph.mark_output(network.hidden[2]);
  const plan::CompiledStep step = plan::compile(network.graph, ChainingBackend());
  EXPECT_EQ(nodes_of(*step.graph, ops::dense_chain_op), 1);  // of fc4 to fc7; fc2 and fc3 are too few
  EXPECT_EQ(nodes_of(*step.graph, ops::dense_op), 4);
}

TEST(FuseChains, TooFewStayApart) {
  const plan::CompiledStep step = plan::compile(layers_of_eight(3).graph, ChainingBackend());
  EXPECT_EQ(nodes_of(*step.graph, ops::dense_chain_op), 0);
}

std::unique_ptr<engine::Executor> trained(bool fuse) {
  train::SessionOptions options;
  options.model = {.network = "fc", .batch = 3};
  options.update.schedule.rate = 0.1;
  options.fuse = fuse;
  auto executor = std::make_unique<engine::Executor>(train::compile_step(options, ChainingBackend()));
  engine::initialise_state(*executor, 3);
  engine::initialise_optimizer(*executor, 3);
  for (int step = 0; step < 2; ++step) {
    engine::initialise_inputs(*executor, static_cast<std::uint64_t>(step));
    executor->run({3, step});
  }
  return executor;
}

TEST(FuseChains, ParametersBecomeTheSame) {
  const auto joined = trained(true), apart = trained(false);
  EXPECT_EQ(nodes_of(joined->graph(), ops::dense_chain_op), 1);
  EXPECT_EQ(nodes_of(joined->graph(), ops::dense_chain_d_src_op), 1);
  EXPECT_EQ(nodes_of(joined->graph(), ops::dense_chain_d_weight_op), 1);
  int compared = 0;
  for (const plan::Buffer& buffer : apart->plan().buffers) {
    if (buffer.region != plan::Region::parameters) continue;
    const HostTensor got = joined->read(buffer.name), want = apart->read(buffer.name);
    const auto a = got.as<float>(), b = want.as<float>();
    ASSERT_EQ(a.size(), b.size()) << buffer.name;
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], 1e-5 * std::max(1.0f, std::abs(b[i]))) << buffer.name << " at " << i;
    ++compared;
  }
  EXPECT_EQ(compared, 2 * 5);
}

}  // namespace
}  // namespace trainyard

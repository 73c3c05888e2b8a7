// Random small networks compute the same with and without fusion, on every backend of the host.
#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/canonical.h"
#include "engine/executor.h"
#include "networks/builder.h"
#include "ops/loss.h"
#include "ops/registry/registry.h"
#include "ops/shape.h"
#include "plan/compile.h"

namespace trainyard {
namespace {

using graph::ValueId;

constexpr std::int64_t kWidth = 8, kSide = 4, kSamples = 2, kClasses = 5;

// Layers of one shape in a random order, each on one of the last three values, so that values are read twice,
// masks follow masks and sums follow sums.
graph::Graph random_network(unsigned seed) {
  std::mt19937 random(seed);
  graph::Graph graph;
  networks::Builder builder(graph, true);
  std::vector<ValueId> values{graph.add_input("images", {{kSamples, kWidth, kSide, kSide}, DType::f32},
                                              graph::Initializer::normal(1))};
  const auto any = [&] {
    return values[values.size() - 1 - random() % std::min<std::size_t>(3, values.size())];
  };
  for (int n = 0; n < 12; ++n) {
    const std::string name = "n" + std::to_string(n);
    switch (random() % 9) {
      case 0:
        values.push_back(
            builder.conv(name, any(), {.filters = kWidth, .kernel = 3, .activation = ops::Activation::none}));
        break;
      case 1:
        values.push_back(builder.batch_norm(name, any(), {}));
        break;
      case 2:
      case 3:
        values.push_back(builder.add(name, {any(), any()}));
        break;
      case 4:
        values.push_back(builder.dropout(name, any(), 0.5));
        break;
      case 5:
        values.push_back(
            builder.max_pool(name, any(), {.kernel = 3, .stride = 1, .padding = networks::Padding::same}));
        break;
      default:
        values.push_back(builder.relu(name, any()));
    }
  }
  const ValueId logits = builder.logits(values.back(), kClasses);
  const ValueId labels =
      graph.add_input("labels", {{kSamples}, DType::i32}, graph::Initializer::integers(0, kClasses));
  const auto loss = ops::softmax_cross_entropy(graph, "loss", logits, labels);
  graph.mark_output(loss.loss);
  graph.set_phase(graph::Phase::backward);
  const ValueId one = ops::fill(graph, "d_loss", graph.value(loss.loss).type, 1);
  for (const ValueId gradient :
       ops::backward(graph, {loss.loss}, {one}, graph.values_with(graph::Role::parameter)))
    if (gradient != graph::kNone) graph.mark_output(gradient);
  return graph;
}

std::vector<std::vector<float>> outputs_of(const graph::Graph& graph, const backend::Backend& backend,
                                           bool fuse) {
  engine::Executor executor(plan::compile(graph, backend, {.fuse = fuse}));
  engine::initialise_state(executor, 1);
  engine::initialise_inputs(executor, 2);
  executor.run({3, 0});
  std::vector<std::vector<float>> outputs;
  for (const ValueId output : graph.outputs()) {
    const HostTensor tensor = executor.read(graph.value(output).name);
    const auto numbers = tensor.as<float>();
    outputs.emplace_back(numbers.begin(), numbers.end());
  }
  return outputs;
}

class RandomGraphs : public testing::TestWithParam<const char*> {};

TEST_P(RandomGraphs, ComputeTheSameWhenFused) {
  const std::unique_ptr<backend::Backend> reference = backend::make_reference_backend();
  if (std::string(GetParam()) == "onednn" && backend::make_onednn_backend() == nullptr)
    GTEST_SKIP() << "built without oneDNN";
  const std::unique_ptr<backend::Backend> backend = backend::make_backend(GetParam());
  for (unsigned seed = 0; seed < 40; ++seed) {
    const graph::Graph graph = random_network(seed);
    const auto want = outputs_of(graph, *reference, false), got = outputs_of(graph, *backend, true);
    for (std::size_t o = 0; o < want.size(); ++o) {
      float largest = 1;  // what cancels out exactly leaves noise
      for (const float number : want[o]) largest = std::max(largest, std::abs(number));
      for (std::size_t i = 0; i < want[o].size(); ++i)
        ASSERT_NEAR(got[o][i], want[o][i], 1e-3f * largest)
            << "seed " << seed << ", '" << graph.value(graph.outputs()[o]).name << "' at " << i << " of\n"
            << to_text(graph);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, RandomGraphs, testing::Values("reference", "onednn"));

}  // namespace
}  // namespace trainyard

#include <random>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/registry/registry.h"
#include "ops/shape.h"
#include "plan/passes.h"

namespace trainyard::plan {
namespace {

using graph::Graph;
using graph::ValueId;

// Returns the null backend's candidates, which the passes take for fast kernels of every op, also of fused
// ones.
const backend::Backend& willing_backend() {
  static const std::unique_ptr<backend::Backend> backend = backend::make_null_backend();
  return *backend;
}

class Fuse : public testing::Test {
 protected:
  Graph fused() {
    Graph made = fuse(graph_, willing_backend(), notes_);
    graph::verify(made);
    return made;
  }
  ValueId parameter(const std::string& name, const Shape& shape) {
    return graph_.add_parameter(name, {shape, DType::f32}, {});
  }
  ValueId dense(const std::string& name, ValueId x) {
    const std::int64_t width = graph_.shape(x)[1];
    return ops::dense(graph_, name, x, parameter(name + "/w", {width, width}),
                      parameter(name + "/b", {width}));
  }
  ValueId relu(const std::string& name, ValueId x) { return ops::relu(graph_, name, x); }
  ValueId norm(const std::string& name, ValueId x) {
    const Shape channels{graph_.shape(x)[1]};
    const auto statistic = [&](const char* what) {
      return graph_.add_state(name + what, {channels, DType::f32}, graph::Role::statistic, {});
    };
    return ops::batch_norm(graph_, name,
                           {x, parameter(name + "/gamma", channels), parameter(name + "/beta", channels),
                            statistic("/mean"), statistic("/variance")},
                           {});
  }
  // Appends the gradients of the parameters, as outputs.
  void train(ValueId logits) {
    const ValueId labels = graph_.add_input("labels", {{graph_.shape(logits)[0]}, DType::i32});
    const auto loss = ops::softmax_cross_entropy(graph_, "loss", logits, labels);
    graph_.mark_output(loss.loss);
    for (const ValueId gradient :
         ops::gradients_of(graph_, loss.loss, graph_.values_with(graph::Role::parameter)))
      graph_.mark_output(gradient);
  }
  bool noted(const std::string& words) const {
    return std::any_of(notes_.begin(), notes_.end(),
                       [&](const std::string& note) { return note.find(words) != std::string::npos; });
  }
  static std::ptrdiff_t count(const Graph& graph, const graph::OpDef& op) {
    return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                         [&](const graph::Node& node) { return node.op == &op; });
  }

  Graph graph_;
  ValueId x_ = graph_.add_input("x", {{4, 8}, DType::f32});
  std::vector<std::string> notes_;
};

TEST_F(Fuse, AnActivationJoinsItsDenseLayer) {
  graph_.mark_output(relu("relu", dense("fc", x_)));
  const Graph made = fused();
  ASSERT_EQ(made.nodes().size(), 1u);
  EXPECT_EQ(made.node(0).attrs<ops::DenseAttrs>().activation.kind, ops::Activation::relu);
  EXPECT_EQ(made.value(made.outputs()[0]).name, "relu:0") << "readers find the value under its name";
  EXPECT_TRUE(noted("'relu' joins dense 'fc'"));
}

TEST_F(Fuse, AnActivationStaysWhereAnotherNodeReadsItsInput) {
  const ValueId y = dense("fc", x_);
  graph_.mark_output(ops::add(graph_, "sum", {relu("relu", y), y}));
  EXPECT_EQ(fused().nodes().size(), 3u);
  EXPECT_TRUE(noted("'relu' stays: its input is read by 2 nodes"));
}

TEST_F(Fuse, AnActivationStaysWhereItsInputIsAnOutput) {
  const ValueId y = dense("fc", x_);
  graph_.mark_output(y);
  graph_.mark_output(relu("relu", y));
  EXPECT_EQ(fused().nodes().size(), 2u);
}

TEST_F(Fuse, ALayerTakesOneActivation) {
  graph_.mark_output(ops::activation(graph_, "tanh", relu("relu", dense("fc", x_)), {ops::Activation::tanh}));
  EXPECT_EQ(fused().nodes().size(), 2u);
  EXPECT_TRUE(noted("'tanh' stays: 'fc' already applies one"));
}

TEST_F(Fuse, AShortcutJoinsTheNormBeforeIt) {
  const ValueId beside = relu("beside", x_);
  graph_.mark_output(relu("end", ops::add(graph_, "sum", {norm("norm", x_), beside})));
  const Graph made = fused();
  EXPECT_EQ(count(made, ops::add_op), 0);
  ASSERT_EQ(count(made, ops::batch_norm_op), 1);
  EXPECT_TRUE(made.nodes().back().attrs<ops::BatchNormAttrs>().residual);
  EXPECT_EQ(made.nodes().back().attrs<ops::BatchNormAttrs>().activation.kind, ops::Activation::relu);
}

TEST_F(Fuse, ANormThatIsAddedToItselfKeepsTheSum) {
  const ValueId y = norm("norm", x_);
  graph_.mark_output(ops::add(graph_, "sum", {y, y}));
  EXPECT_EQ(count(fused(), ops::add_op), 1);
}

TEST_F(Fuse, TheLossMakesItsOwnGradientWithTheLastLayer) {
  train(dense("fc", relu("relu", dense("hidden", x_))));
  const Graph made = fused();
  EXPECT_EQ(count(made, ops::classify_op), 1);
  EXPECT_EQ(count(made, ops::softmax_cross_entropy_grad_op), 0);
  EXPECT_EQ(count(made, ops::activation_grad_op), 0) << "the mask of the hidden layer joins, too";
}

TEST_F(Fuse, AMaskJoinsTheSumOfGradientsBeforeIt) {
  const ValueId hidden = relu("relu", dense("hidden", x_));
  train(ops::add(graph_, "both", {dense("left", hidden), dense("right", hidden)}));
  const Graph made = fused();
  EXPECT_EQ(count(made, ops::activation_grad_op), 0);
  EXPECT_TRUE(noted("joins add"));
}

// A sum can apply one mask: a second one would take the first mask's values for a term.
TEST_F(Fuse, ASumOfGradientsTakesOneMask) {
  const ValueId hidden = relu("outer", relu("inner", dense("hidden", x_)));
  train(ops::add(graph_, "both", {dense("left", hidden), dense("right", hidden)}));
  const Graph made = fused();
  EXPECT_EQ(count(made, ops::activation_grad_op), 1);
  for (const graph::Node& node : made.nodes())
    if (node.op == &ops::add_op && node.attrs<ops::AddAttrs>().mask_by_last) {
      EXPECT_EQ(node.inputs.size(), 3u);
    }
}

// Whatever is fused, the same outputs have the same names and types, and the state keeps its readers.
TEST(FuseRandom, KeepsOutputsAndNeverAddsNodes) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Graph graph;
    std::vector<ValueId> values{graph.add_input("x", {{4, 8}, DType::f32})};
    const auto any = [&] {
      return values[values.size() - 1 - random() % std::min<std::size_t>(3, values.size())];
    };
    for (int n = 0; n < 10; ++n) {
      const std::string name = "n" + std::to_string(n);
      const auto parameter = [&](const char* what, const Shape& shape) {
        return graph.add_parameter(name + what, {shape, DType::f32}, {});
      };
      switch (random() % 5) {
        case 0:
          values.push_back(ops::dense(graph, name, any(), parameter("/w", {8, 8}), parameter("/b", {8})));
          break;
        case 1:
          values.push_back(ops::add(graph, name, {any(), any()}));
          break;
        case 2:
          values.push_back(ops::dropout(graph, name, any(), 0.5));
          break;
        default:
          values.push_back(ops::relu(graph, name, any()));
      }
    }
    const ValueId last =
        ops::dense(graph, "last", values.back(), graph.add_parameter("w", {{8, 8}, DType::f32}, {}),
                   graph.add_parameter("b", {{8}, DType::f32}, {}));
    const auto loss =
        ops::softmax_cross_entropy(graph, "loss", last, graph.add_input("labels", {{4}, DType::i32}));
    graph.mark_output(loss.loss);
    graph.set_phase(graph::Phase::backward);
    const ValueId one = ops::fill(graph, "d_loss", graph.value(loss.loss).type, 1);
    for (const ValueId gradient :
         ops::backward(graph, {loss.loss}, {one}, graph.values_with(graph::Role::parameter)))
      if (gradient != graph::kNone) graph.mark_output(gradient);
    graph::verify(graph);
    std::vector<std::string> notes;
    const Graph made = fuse(graph, willing_backend(), notes);
    ASSERT_NO_THROW(graph::verify(made)) << "seed " << seed << "\n" << to_text(made);
    ASSERT_EQ(made.outputs(), graph.outputs());
    ASSERT_LE(made.nodes().size(), graph.nodes().size());
    for (const graph::Node& node : made.nodes()) {
      if (node.op != &ops::add_op || node.phase != graph::Phase::backward) continue;
      for (std::size_t i = 0; i + 1 < node.inputs.size(); ++i)
        ASSERT_TRUE(made.node(made.value(node.inputs[i]).producer).phase == graph::Phase::backward ||
                    made.value(node.inputs[i]).gradient_of != graph::kNone)
            << "seed " << seed << ": '" << node.name << "' adds an activation to gradients\n"
            << to_text(made);
    }
  }
}

}  // namespace
}  // namespace trainyard::plan

#include <random>

#include <gtest/gtest.h>

#include "backend/backend.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/layer_norm.h"
#include "ops/loss.h"
#include "ops/norm.h"
#include "ops/registry/registry.h"
#include "ops/shape.h"
#include "ops/smooth_unit.h"
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

class FuseStreams : public Fuse {
 protected:
  Graph joined(bool with_forward = true) {
    Graph made = fuse_streams(graph_, willing_backend(), with_forward, notes_);
    graph::verify(made);
    return made;
  }
  ValueId layer_norm(const std::string& name, ValueId x) {
    const Shape channels{graph_.shape(x)[1]};
    return ops::layer_norm(graph_, name, x, parameter(name + "/gamma", channels),
                           parameter(name + "/beta", channels), 1e-5);
  }
  // A residual block: the stream, and beside it a norm and a layer.
  ValueId block(const std::string& name, ValueId stream) {
    return ops::add(graph_, name + "/out", {stream, dense(name + "/fc", layer_norm(name + "/norm", stream))});
  }
  static const graph::Node& named(const Graph& graph, const std::string& name) {
    return *std::find_if(graph.nodes().begin(), graph.nodes().end(),
                         [&](const graph::Node& node) { return node.name == name; });
  }
};

TEST_F(FuseStreams, ASumJoinsTheNormThatReadsIt) {
  const ValueId sum = ops::add(graph_, "sum", {x_, relu("beside", x_)});
  graph_.mark_output(layer_norm("norm", sum));
  graph_.mark_output(dense("other", sum));
  const Graph made = joined();
  EXPECT_EQ(count(made, ops::add_op), 0);
  const graph::Node& norm = named(made, "norm");
  EXPECT_TRUE(norm.attrs<ops::LayerNormAttrs>().adds);
  EXPECT_EQ(norm.outputs.back(), sum) << "its other reader finds the sum under its name";
  EXPECT_EQ(made.value(norm.inputs.front()).name, "beside:0") << "the term that nobody else reads";
  EXPECT_TRUE(noted("add 'sum' joins layer_norm 'norm'"));
}

TEST_F(FuseStreams, TheNormMovesBeforeOtherReadersOfTheSum) {
  const ValueId sum = ops::add(graph_, "sum", {x_, relu("beside", x_)});
  graph_.mark_output(dense("first", sum));
  graph_.mark_output(layer_norm("norm", sum));
  EXPECT_EQ(count(joined(), ops::add_op), 0);
}

TEST_F(FuseStreams, ASumStaysWithMoreTermsOrWithoutANorm) {
  const ValueId three = ops::add(graph_, "three", {x_, relu("a", x_), relu("b", x_)});
  graph_.mark_output(layer_norm("norm", three));
  graph_.mark_output(dense("fc", ops::add(graph_, "two", {x_, relu("c", x_)})));
  EXPECT_EQ(count(joined(), ops::add_op), 2);
}

TEST_F(FuseStreams, ASumWithAnActivationStays) {
  graph_.mark_output(layer_norm("norm", graph_.add(ops::add_op, "sum", {x_, x_},
                                                   ops::AddAttrs{.activation = {ops::Activation::relu}})));
  EXPECT_EQ(count(joined(), ops::add_op), 1);
}

TEST_F(FuseStreams, TheGradientOfANormAddsThatOfTheStream) {
  train(block("second", block("first", dense("before", x_))));
  const Graph made = joined();
  EXPECT_EQ(count(made, ops::add_op), 1) << "the last sum of the forward pass, which no norm reads";
  for (const char* name : {"first/norm/d_src", "second/norm/d_src"})
    EXPECT_TRUE(named(made, name).attrs<ops::LayerNormAttrs>().adds) << name;
}

TEST_F(FuseStreams, WithoutTheForwardPassOnlyGradientsJoin) {
  train(block("second", block("first", dense("before", x_))));
  const Graph made = joined(false);
  EXPECT_EQ(count(made, ops::add_op), 2);
  EXPECT_TRUE(named(made, "first/norm/d_src").attrs<ops::LayerNormAttrs>().adds);
}

TEST_F(FuseStreams, AGradientThatOthersReadStaysBeforeItsSum) {
  const ValueId stream = dense("before", x_), normal = layer_norm("norm", stream);
  const ValueId d_normal = graph_.add_input("d", {{4, 8}, DType::f32});
  graph_.set_phase(graph::Phase::backward);
  const ValueId d_stream = ops::backward(graph_, {normal}, {d_normal}, {stream}).front();
  graph_.mark_output(d_stream);
  graph_.mark_output(ops::add(graph_, "sum", {d_stream, d_normal}));
  EXPECT_EQ(count(joined(), ops::add_op), 1);
}

TEST_F(FuseStreams, TheProducerOfAGradientSumsThatOfTheBias) {
  train(dense("last", ops::smooth_unit(graph_, "unit", dense("fc", x_), {})));
  const Graph made = joined();
  const graph::Node &unit = named(made, "unit/d_src"), &d_weight = named(made, "fc/d_weight");
  EXPECT_TRUE(unit.attrs<ops::SmoothUnitAttrs>().column_sums);
  EXPECT_EQ(made.value(unit.outputs.back()).name, "fc/d_weight:1");
  EXPECT_EQ(d_weight.outputs.size(), 1u);
  EXPECT_FALSE(d_weight.attrs<ops::DenseGradAttrs>().bias);
  EXPECT_EQ(named(made, "last/d_weight").outputs.size(), 2u) << "the loss sums no columns";
  EXPECT_TRUE(noted("the bias of 'fc/d_weight' joins smooth_unit_grad 'unit/d_src'"));
}

TEST_F(FuseStreams, AProducerSumsForOneBias) {
  const ValueId left = dense("left", x_), right = dense("right", x_);
  train(layer_norm("norm", ops::add(graph_, "sum", {left, right})));
  const Graph made = joined();
  EXPECT_EQ(named(made, "left/d_weight").outputs.size() + named(made, "right/d_weight").outputs.size(), 3u);
  EXPECT_TRUE(noted("sums that of another layer"));
}

TEST_F(FuseStreams, AGatedUnitLeavesTheBias) {
  const ValueId wide = ops::dense(graph_, "fc", x_, parameter("w", {16, 8}), parameter("b", {16}));
  train(ops::smooth_unit(graph_, "unit", wide, {.gated = true}));
  EXPECT_EQ(named(joined(), "fc/d_weight").outputs.size(), 2u);
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
      switch (random() % 7) {
        case 0:
          values.push_back(ops::dense(graph, name, any(), parameter("/w", {8, 8}), parameter("/b", {8})));
          break;
        case 1:
          values.push_back(ops::add(graph, name, {any(), any()}));
          break;
        case 2:
          values.push_back(ops::dropout(graph, name, any(), 0.5));
          break;
        case 3:
          values.push_back(
              ops::layer_norm(graph, name, any(), parameter("/gamma", {8}), parameter("/beta", {8}), 1e-5));
          break;
        case 4:
          values.push_back(ops::smooth_unit(graph, name, any(), {}));
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
    const Graph made = fuse_streams(fuse(graph, willing_backend(), notes), willing_backend(), true, notes);
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

// A transformer whose norms and units make the sums beside them learns the same, on a backend that says it
// can.
#include <algorithm>
#include <cmath>
#include <string_view>

#include <gtest/gtest.h>

#include "engine/canonical.h"
#include "engine/gradient_schedule.h"
#include "ops/dense.h"
#include "ops/elementwise.h"
#include "ops/layer_norm.h"
#include "ops/smooth_unit.h"
#include "plan/compile.h"
#include "train/session/session.h"

namespace trainyard {
namespace {

// The reference's kernels; those of norms, units and dense layers have names that the planner takes for fast
// ones.
class StreamBackend final : public backend::Backend {
 public:
  StreamBackend() : candidates_(reference_->candidates()) {
    for (backend::Candidate& candidate : candidates_) {
      if (candidate.op == &ops::layer_norm_op) candidate.name = "own:layer_norm";
      if (candidate.op == &ops::layer_norm_grad_op) candidate.name = "own:layer_norm_grad";
      if (candidate.op == &ops::smooth_unit_grad_op) candidate.name = "own:smooth_unit_grad";
      if (candidate.op == &ops::dense_d_weight_op) candidate.name = "own:dense_d_weight";
    }
  }
  std::string name() const override { return "streams"; }
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

constexpr int kLayers = 2;

train::SessionOptions transformer(const char* norm, const char* order) {
  train::SessionOptions options;
  options.model = {.network = "transformer",
                   .batch = 2,
                   .parameters = {{"layers", std::to_string(kLayers)},
                                  {"width", "24"},
                                  {"heads", "2"},
                                  {"length", "8"},
                                  {"vocabulary", "11"},
                                  {"norm", norm},
                                  {"norm_place", order}}};
  options.update.rule = ops::Rule::momentum;
  options.update.schedule.rate = 0.01;
  return options;
}

std::unique_ptr<engine::Executor> trained(train::SessionOptions options, bool fuse) {
  const StreamBackend backend;
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

template <typename Attrs, typename Holds>
std::ptrdiff_t count(const graph::Graph& graph, const graph::OpDef& op, const Holds& holds) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [&](const graph::Node& node) { return node.op == &op && holds(node.attrs<Attrs>()); });
}

std::ptrdiff_t adding(const graph::Graph& graph, const graph::OpDef& op) {
  return count<ops::LayerNormAttrs>(graph, op, [](const auto& attrs) { return attrs.adds; });
}

std::ptrdiff_t biases(const graph::Graph& graph) {
  return count<ops::DenseGradAttrs>(graph, ops::dense_d_weight_op,
                                    [](const auto& attrs) { return attrs.bias; });
}

struct Form {
  const char *norm, *place;
  int tensors;  // parameters, each with its momentum
};

class FuseStreams : public testing::TestWithParam<Form> {};

TEST_P(FuseStreams, ParametersBecomeTheSame) {
  const train::SessionOptions options = transformer(GetParam().norm, GetParam().place);
  const auto joined = trained(options, true), apart = trained(options, false);
  int compared = 0;
  for (const plan::Buffer& buffer : apart->plan().buffers) {
    if (buffer.region != plan::Region::parameters && buffer.region != plan::Region::optimizer_state) continue;
    const HostTensor got = joined->read(buffer.name), want = apart->read(buffer.name);
    const auto a = got.as<float>(), b = want.as<float>();
    ASSERT_EQ(a.size(), b.size()) << buffer.name;
    for (std::size_t i = 0; i < a.size(); ++i)
      ASSERT_NEAR(a[i], b[i], 1e-4 * std::max(1.0f, std::abs(b[i]))) << buffer.name << " at " << i;
    ++compared;
  }
  EXPECT_EQ(compared, GetParam().tensors);
}

INSTANTIATE_TEST_SUITE_P(Norms, FuseStreams,
                         testing::Values(Form{"layer", "pre", 56}, Form{"rms", "pre", 46},
                                         Form{"layer", "post", 56}),
                         [](const auto& test) {
                           return std::string(test.param.norm) + "_" + test.param.place;
                         });

TEST(FuseStreamsPlan, SumsBesideNormsJoinThem) {
  const StreamBackend backend;
  const plan::CompiledStep step = train::compile_step(transformer("layer", "pre"), backend);
  const graph::Graph& graph = *step.graph;
  // Two sums a layer, forward and back; the table of the embedding has a sum of gradients of its own.
  EXPECT_EQ(adding(graph, ops::layer_norm_op), 2 * kLayers);
  EXPECT_EQ(adding(graph, ops::layer_norm_grad_op), 2 * kLayers);
  EXPECT_EQ(count<ops::AddAttrs>(graph, ops::add_op, [](const auto&) { return true; }), 1);
  // Of a layer's four biases that of queries, keys and values stays: attention sums no columns.
  EXPECT_EQ(biases(graph), kLayers);
  EXPECT_EQ(count<ops::SmoothUnitAttrs>(graph, ops::smooth_unit_grad_op,
                                        [](const auto& attrs) { return attrs.column_sums; }),
            kLayers);
}

TEST(FuseStreamsPlan, NormsBehindSumsJoinTheSumOfTheForwardPass) {
  const StreamBackend backend;
  const plan::CompiledStep step = train::compile_step(transformer("layer", "post"), backend);
  EXPECT_EQ(adding(*step.graph, ops::layer_norm_op), 2 * kLayers);
  // The gradient of such a norm has more readers than the sum.
  EXPECT_EQ(adding(*step.graph, ops::layer_norm_grad_op), 0);
  EXPECT_EQ(biases(*step.graph), kLayers);
}

TEST(FuseStreamsPlan, GradientsStayCompleteWhereTheyAreKept) {
  const StreamBackend backend;
  train::SessionOptions options = transformer("layer", "pre");
  options.keep_gradients = true;
  const plan::CompiledStep step = train::compile_step(options, backend);
  EXPECT_EQ(biases(*step.graph), kLayers);
  EXPECT_TRUE(engine::GradientSchedule(step).complete());
}

// The sums of columns are f32, as gradients of biases are, and what is added has the type of the stream.
TEST(FuseStreamsPlan, JoinedNodesFitStreamsInBf16) {
  const auto backend = backend::make_null_backend();
  train::SessionOptions options = transformer("layer", "pre");
  options.precision = backend::Precision::bf16;
  const plan::CompiledStep step = train::compile_step(options, *backend);
  EXPECT_NO_THROW(graph::verify(*step.graph));
  EXPECT_EQ(adding(*step.graph, ops::layer_norm_op), 2 * kLayers);
  EXPECT_EQ(adding(*step.graph, ops::layer_norm_grad_op), 2 * kLayers);
  EXPECT_EQ(biases(*step.graph), 0) << "in bf16 attention sums that of queries, keys and values";
}

TEST(FuseStreamsPlan, UnderAMemoryLimitNormsStayByThemselves) {
  const StreamBackend backend;
  train::SessionOptions options = transformer("layer", "pre");
  options.limit_bytes = std::size_t{1} << 40;
  const plan::CompiledStep step = train::compile_step(options, backend);
  EXPECT_EQ(adding(*step.graph, ops::layer_norm_op), 0);
  EXPECT_EQ(adding(*step.graph, ops::layer_norm_grad_op), 2 * kLayers);
}

TEST(FuseStreamsPlan, NotWhereTheBackendHasOnlySimpleLoops) {
  const auto backend = backend::make_reference_backend();
  const plan::CompiledStep step = train::compile_step(transformer("layer", "pre"), *backend);
  EXPECT_EQ(adding(*step.graph, ops::layer_norm_op) + adding(*step.graph, ops::layer_norm_grad_op), 0);
  EXPECT_EQ(biases(*step.graph), 4 * kLayers);
}

}  // namespace
}  // namespace trainyard

// Counts what a generated network costs in three ways: by formulas, by walking its graph, and as the sum over
// the kernels of a plan. The test draws 200 random networks of each family.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/backend.h"
#include "base/philox.h"
#include "networks/zoo/zoo.h"
#include "ops/elementwise.h"
#include "plan/compile.h"

namespace trainyard::networks::generator {
namespace {

// Numbers that are as often small as large, and odd ones among them.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : draws_(seed, 0) {}
  std::int64_t number(std::int64_t low, std::int64_t high) {
    const double share = static_cast<double>(draws_.word(next_++) % 100'001) / 1e5;
    return std::llround(static_cast<double>(low) *
                        std::pow(static_cast<double>(high) / static_cast<double>(low), share));
  }
  std::string text(std::int64_t low, std::int64_t high) { return std::to_string(number(low, high)); }
  template <typename T>
  T one_of(std::initializer_list<T> choices) {
    return choices.begin()[draws_.word(next_++) % choices.size()];
  }

 private:
  Philox draws_;
  std::uint64_t next_ = 0;
};

ModelOptions random_fc(Draw& draw) {
  return {.network = "fc",
          .batch = draw.number(1, 300),
          .classes = static_cast<int>(draw.number(1, 1500)),
          .parameters = {
              {"layers", draw.text(1, 20)}, {"width", draw.text(1, 1500)}, {"inputs", draw.text(1, 3000)}}};
}

ModelOptions random_cnn(Draw& draw) {
  const auto blocks = [&] { return draw.text(1, 3); };
  const std::string pool = draw.one_of<const char*>({"fixed", "adaptive"});
  std::string of_groups = blocks();
  if (draw.one_of({false, true})) of_groups += "," + blocks() + "," + blocks() + "," + blocks();
  return {.network = "cnn",
          .batch = draw.number(1, 20),
          .classes = static_cast<int>(draw.number(1, 1500)),
          .parameters = {{"block", draw.one_of<const char*>({"residual", "bottleneck"})},
                         {"blocks", of_groups},
                         {"filters", draw.text(1, 40)},
                         {"image", draw.text(pool == "fixed" ? 193 : 32, 310)},
                         {"pool", pool}}};
}

ModelOptions random_rnn(Draw& draw) {
  return {.network = "rnn",
          .batch = draw.number(1, 60),
          .parameters = {{"cell", draw.one_of<const char*>({"rnn", "lstm", "gru"})},
                         {"layers", draw.text(1, 8)},
                         {"hidden", draw.text(1, 300)},
                         {"length", draw.text(1, 60)},
                         {"vocabulary", draw.text(2, 1500)}}};
}

ModelOptions random_transformer(Draw& draw) {
  const std::int64_t kv_heads = draw.number(1, 4), heads = kv_heads * draw.number(1, 4),
                     head_size = 2 * draw.number(1, 24);
  const std::int64_t experts = draw.one_of({false, true}) ? draw.number(1, 12) : 0;
  const auto yes_or_no = [&] { return draw.one_of<const char*>({"yes", "no"}); };
  return {.network = "transformer",
          .batch = draw.number(1, 12),
          .parameters = {
              {"layers", draw.text(1, 5)},
              {"width", std::to_string(heads * head_size)},
              {"heads", std::to_string(heads)},
              {"kv_heads", std::to_string(draw.one_of({false, true}) ? kv_heads : 0)},
              {"ffn", draw.one_of({false, true}) ? draw.text(1, 700) : "0"},
              {"length", draw.text(1, 70)},
              {"vocabulary", draw.text(2, 1500)},
              {"causal", yes_or_no()},
              {"norm", draw.one_of<const char*>({"layer", "rms"})},
              {"norm_place", draw.one_of<const char*>({"pre", "post"})},
              {"head", draw.one_of<const char*>({"linear", "transform"})},
              {"activation", draw.one_of<const char*>({"relu", "gelu", "gelu_tanh", "silu", "swiglu"})},
              {"positions", draw.one_of<const char*>({"learned", "sinusoidal", "rotary", "none"})},
              {"bias", yes_or_no()},
              {"tied", yes_or_no()},
              {"experts", std::to_string(experts)},
              {"top_k", draw.text(1, std::max<std::int64_t>(experts, 1))},
              {"balance", draw.one_of<const char*>({"0", "0.01"})}}};
}

std::string described(const ModelOptions& options) {
  std::string text = fmt::format("{} batch {} classes {} {}", options.network, options.batch, options.classes,
                                 options.training ? "training" : "inference");
  for (const auto& [name, value] : options.parameters) text += " --" + name + " " + value;
  return text;
}

// Counts over the plan's kernels, which run every node by itself.
Counts count_plan(const plan::StepPlan& plan) {
  Counts counts;
  for (const plan::Step& step : plan.steps) {
    (step.phase == graph::Phase::forward ? counts.forward_flops : counts.backward_flops) += step.cost.flops;
    counts.compulsory_bytes += step.cost.bytes_moved;
  }
  for (const plan::Buffer& buffer : plan.buffers) {
    if (buffer.region == plan::Region::parameters) counts.parameters += buffer.type.shape.elements();
    const bool made_here = buffer.region == plan::Region::slab || buffer.region == plan::Region::outputs;
    if (made_here && buffer.saved) counts.saved_bytes += buffer.type.bytes();
  }
  return counts;
}

using Family = ModelOptions (*)(Draw&);

class GeneratorCountsTest : public testing::TestWithParam<Family> {};

TEST_P(GeneratorCountsTest, FormulasGraphAndKernelsAgree) {
  const auto null_backend = backend::make_null_backend();
  Draw draw(6);
  double least = 1, most = 1;
  std::string least_of, most_of;
  for (int i = 0; i < 200; ++i) {
    ModelOptions options = GetParam()(draw);
    options.training = options.loss = draw.number(1, 4) > 1;
    const ops::UpdateAttrs update{
        .rule = draw.one_of({ops::Rule::sgd, ops::Rule::momentum, ops::Rule::rmsprop, ops::Rule::adam}),
        .schedule = {}};
    SCOPED_TRACE(described(options));
    Model model = build_model(options);
    if (options.training) add_training_step(model, update);
    const NetworkInfo& info = find_network(options.network);
    const Counts by_formula = info.generator->count(
        parameters_of(info, options.parameters), options.classes,
        {.batch = options.batch, .training = options.training, .slots = update.slots()});
    const Counts by_graph = count_graph(model.graph);
    const plan::CompiledStep step = plan::compile(model.graph, *null_backend, {.fuse = false});
    const Counts by_plan = count_plan(step.plan);
    EXPECT_EQ(by_formula.parameters, by_graph.parameters);
    EXPECT_EQ(by_formula.forward_flops, by_graph.forward_flops);
    EXPECT_EQ(by_formula.backward_flops, by_graph.backward_flops);
    EXPECT_EQ(by_formula.compulsory_bytes, by_graph.compulsory_bytes);
    EXPECT_EQ(by_formula.saved_bytes, by_graph.saved_bytes);
    EXPECT_EQ(by_formula.peak_bytes, by_graph.peak_bytes);
    EXPECT_EQ(by_plan.parameters, by_graph.parameters);
    EXPECT_EQ(by_plan.forward_flops, by_graph.forward_flops);
    EXPECT_EQ(by_plan.backward_flops, by_graph.backward_flops);
    EXPECT_EQ(by_plan.compulsory_bytes, by_graph.compulsory_bytes);
    EXPECT_EQ(by_plan.saved_bytes, by_graph.saved_bytes);
    if (HasFailure()) return;
    // The plan gives saved values back in the backward pass. It rounds up every buffer, which small networks
    // feel, and its values may lie so that there are gaps between them.
    constexpr double kMebibyte = 1024 * 1024;
    if (static_cast<double>(by_formula.peak_bytes) < kMebibyte) continue;
    const double ratio =
        static_cast<double>(by_formula.peak_bytes) / static_cast<double>(step.plan.total_bytes());
    if (ratio < least) least_of = described(options);
    if (ratio > most) most_of = described(options);
    least = std::min(least, ratio);
    most = std::max(most, ratio);
  }
  RecordProperty("least", fmt::format("{}", least));
  RecordProperty("most", fmt::format("{}", most));
  EXPECT_GT(least, 0.9) << least_of;
  EXPECT_LT(most, 1.4) << most_of;
}

std::string family_of(const testing::TestParamInfo<Family>& row) {
  Draw draw(1);
  return row.param(draw).network;
}

INSTANTIATE_TEST_SUITE_P(Families, GeneratorCountsTest,
                         testing::Values(random_fc, random_cnn, random_rnn, random_transformer), family_of);

// a is read by the node behind it and by the last one, and waits beside the two between them.
TEST(GeneratorCounts, PeaksCountWhatWaits) {
  graph::Graph graph;
  const graph::ValueId x = graph.add_input("x", {{100}, DType::f32});
  const graph::ValueId a = ops::relu(graph, "a", x), b = ops::relu(graph, "b", a),
                       c = ops::relu(graph, "c", b);
  const graph::ValueId sum = ops::add(graph, "sum", {a, c});
  EXPECT_EQ(count_graph(graph).peak_bytes, 400 * (1 + 3));  // x; a, c and either b or sum
  graph.mark_output(sum);
  EXPECT_EQ(count_graph(graph).peak_bytes, 400 * (2 + 3));  // sum is kept, and there is nothing but a, b, c
  graph.mark_output(a);
  EXPECT_EQ(count_graph(graph).peak_bytes, 400 * (3 + 2));
  ops::relu(graph, "unread", x);
  EXPECT_EQ(count_graph(graph).peak_bytes, 400 * (3 + 2));
}

TEST(GeneratorCounts, SizesThatNoCounterHoldsAreRefused) {
  try {
    build_model(
        {.network = "fc", .batch = 1 << 30, .parameters = {{"layers", "4096"}, {"width", "16777216"}}});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_STREQ(
        error.what(),
        "network 'fc': a step of batch 1073741824 in these sizes has more than 9.2e+18 operations or bytes");
  }
}

}  // namespace
}  // namespace trainyard::networks::generator

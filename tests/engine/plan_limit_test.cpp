// A plan that has to fit a limit takes no more than that, and computes the same to the bit.
#include <gtest/gtest.h>

#include "engine/canonical.h"
#include "engine/executor.h"
#include "networks/builder.h"
#include "networks/zoo/zoo.h"
#include "ops/matmul.h"
#include "ops/shape.h"
#include "plan/passes.h"
#include "plan/recompute.h"

namespace trainyard {
namespace {

using graph::ValueId;
using plan::Region;
using plan::StepPlan;

// A small transformer on patches, with dropout of its probabilities and of both branches.
graph::Graph with_dropout(std::int64_t batch, bool training) {
  constexpr std::int64_t kPatches = 16, kWidth = 32;
  graph::Graph graph;
  networks::Builder builder(graph, training);
  const ValueId images =
      graph.add_input("images", {{batch, kPatches, kWidth}, DType::f32}, graph::Initializer::normal(1));
  ValueId x = ops::reshape(graph, "rows", images, {batch * kPatches, kWidth});
  for (int layer = 0; layer < 3; ++layer) {
    const auto scope = builder.scope("layer" + std::to_string(layer));
    const auto linear = [&](const char* name, ValueId from, std::int64_t outputs) {
      return builder.dense(name, from, {.outputs = outputs, .activation = ops::Activation::none});
    };
    const ValueId attended = builder.attention(
        "attention", linear("qkv", builder.layer_norm("norm1", x, {}), 3 * kWidth),
        {.heads = 4,
         .kv_heads = 4,
         .rows = {kPatches, true},
         .causal = false,
         .dropout = {.rate = training ? 0.2 : 0, .stream = static_cast<std::uint64_t>(50 + layer)}});
    x = builder.add("sum1", {x, builder.dropout("drop1", linear("out", attended, kWidth), 0.1)});
    const ValueId wide =
        builder.smooth_unit("gelu", linear("up", builder.layer_norm("norm2", x, {}), 128), {});
    x = builder.add("sum2", {x, builder.dropout("drop2", linear("down", wide, kWidth), 0.1)});
  }
  graph.mark_output(builder.logits(ops::reshape(graph, "all", x, {batch, kPatches * kWidth}), 10));
  return graph;
}

struct Subject {
  const char* name;
  double reached;  // the share of the slab that a plan comes down to; 1: one kernel needs all of it
  networks::ModelOptions model;
  const char* backend = "onednn";
};

void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

std::vector<Subject> subjects() {
  const networks::generator::Given small_rnn{
      {"cell", "lstm"}, {"layers", "3"}, {"hidden", "24"}, {"length", "20"}, {"vocabulary", "50"}},
      small_transformer{{"layers", "4"},  {"width", "32"},         {"heads", "4"},
                        {"length", "24"}, {"vocabulary", "64"},    {"positions", "rotary"},
                        {"norm", "rms"},  {"activation", "swiglu"}},
      small_vit{{"layers", "3"}, {"width", "32"}, {"heads", "4"}, {"image", "32"}, {"patch", "8"}};
  return {
      {"lenet", 1, {.network = "lenet", .batch = 64}},
      {"deepmnist", 1, {.network = "deepmnist", .batch = 16}},
      {"cifarnet", 0.96, {.network = "cifarnet", .batch = 32}},
      {"resnet20", 0.4, {.network = "resnet20", .batch = 16}},
      {"resnet20_plain_loops", 0.4, {.network = "resnet20", .batch = 2}, "reference"},
      {"densenet40", 0.4, {.network = "densenet40_k12", .batch = 2}},
      {"mobilenet", 0.5, {.network = "mobilenet_v1", .batch = 1}},
      {"rnn", 0.85, {.network = "rnn", .batch = 16, .parameters = small_rnn}},
      {"transformer", 0.4, {.network = "transformer", .batch = 16, .parameters = small_transformer}},
      {"vit", 0.5, {.network = "vit", .batch = 8, .parameters = small_vit}},
      {"dropout", 0.5, {.network = "with dropout", .batch = 16, .input = {16, 32}, .imported = with_dropout}},
      {"dropout_plain_loops",
       0.5,
       {.network = "with dropout", .batch = 4, .input = {16, 32}, .imported = with_dropout},
       "reference"}};
}

networks::Model model_of(const Subject& subject, int micro_batches = 1) {
  networks::Model model = networks::build_model(subject.model);
  ops::UpdateAttrs update{.rule = ops::Rule::momentum};
  update.schedule.rate = 0.01;
  networks::add_training_step(model, update, micro_batches);
  return model;
}

// Holds what training leaves: all that outlives a step, byte by byte, and the losses.
struct LimitedRun {
  std::vector<float> losses;
  std::map<Region, std::vector<float>> kept;
  StepPlan plan;
};

LimitedRun train(const networks::Model& model, const char* backend, const plan::CompileOptions& options,
                 int micro_batches = 1) {
  engine::Executor executor(plan::compile(model.graph, *backend::make_backend(backend), options));
  engine::initialise_state(executor, 1);
  engine::initialise_optimizer(executor, 1);
  constexpr std::int64_t kSteps = 2;
  LimitedRun trained{.plan = executor.plan()};
  for (std::int64_t step = 0; step < kSteps; ++step) {
    for (std::int64_t i = 0; i < micro_batches; ++i) {
      const std::int64_t batch = step * micro_batches + i;
      engine::initialise_inputs(executor, static_cast<std::uint64_t>(batch));
      options.keep_gradients ? executor.run_gradients({7, batch}) : executor.run({7, batch});
      trained.losses.push_back(executor.host_view<float>("loss:0")[0]);
    }
    if (options.keep_gradients) executor.run_update({7, step});
  }
  for (const Region region : {Region::parameters, Region::optimizer_state, Region::statistics}) {
    const std::span<float> numbers = executor.floats(region);
    trained.kept[region].assign(numbers.begin(), numbers.end());
  }
  return trained;
}

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << what;
}

void expect_same(const LimitedRun& limited, const LimitedRun& whole) {
  expect_same_bits(limited.losses, whole.losses, "losses");
  for (const auto& [region, numbers] : whole.kept)
    expect_same_bits(limited.kept.at(region), numbers, plan::name(region));
}

std::size_t limit_at(const StepPlan& plan, double share) {
  const std::size_t slab = plan.bytes(Region::slab);
  return plan.total_bytes() - slab + static_cast<std::size_t>(share * static_cast<double>(slab));
}

class Recomputation : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    if (std::string(GetParam().backend) == "onednn" && backend::make_onednn_backend() == nullptr)
      GTEST_SKIP() << "built without oneDNN";
  }
};

std::string name_of(const testing::TestParamInfo<Subject>& parameter) { return parameter.param.name; }

INSTANTIATE_TEST_SUITE_P(Networks, Recomputation, testing::ValuesIn(subjects()), name_of);

TEST_P(Recomputation, OfAllNodesGivesTheSameBits) {
  networks::Model model = model_of(GetParam());
  const auto backend = backend::make_backend(GetParam().backend);
  std::vector<std::string> notes;
  const graph::Graph fused = plan::live_nodes(plan::fuse(model.graph, *backend, notes));
  plan::Dropped all;
  for (const graph::Node& node : fused.nodes())
    if (plan::can_run_again({fused, node})) all.insert(node.outputs.front());
  const plan::Recomputed changed = plan::recompute(fused, all);
  graph::verify(changed.graph);
  EXPECT_GT(changed.again.size(), 0u);
  const LimitedRun once = train(model, GetParam().backend, {});
  model.graph = changed.graph;
  expect_same(train(model, GetParam().backend, {.fuse = false}), once);
}

class PlanLimit : public Recomputation {};

std::vector<Subject> subjects_that_shrink() {
  std::vector<Subject> all = subjects();
  std::erase_if(all, [](const Subject& subject) { return subject.reached == 1; });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Networks, PlanLimit, testing::ValuesIn(subjects_that_shrink()), name_of);

TEST_P(PlanLimit, IsKeptAndChangesNoBit) {
  const networks::Model model = model_of(GetParam());
  const LimitedRun whole = train(model, GetParam().backend, {});
  ASSERT_EQ(whole.plan.recomputed_work().bytes_moved, 0);
  for (const double share : {(1 + GetParam().reached) / 2, GetParam().reached}) {
    SCOPED_TRACE(share);
    const std::size_t limit = limit_at(whole.plan, share);
    const LimitedRun limited = train(model, GetParam().backend, {.limit_bytes = limit});
    EXPECT_LE(limited.plan.total_bytes(), limit);
    EXPECT_EQ(limited.plan.limit_bytes, limit);
    EXPECT_EQ(limited.plan.unlimited_bytes, whole.plan.total_bytes());
    EXPECT_EQ(limited.plan.work().flops, whole.plan.work().flops) << "the work of the network is the same";
    const graph::Cost again = limited.plan.recomputed_work();
    EXPECT_GT(again.bytes_moved, 0);
    EXPECT_LT(again.flops, whole.plan.work().flops / 3 + 1) << "at most the forward pass";
    expect_same(limited, whole);
  }
}

TEST_P(PlanLimit, HoldsWithoutFusionAndForGradientsThatAreKept) {
  const networks::Model model = model_of(GetParam(), 2);
  for (const bool fuse : {false, true}) {
    plan::CompileOptions options{.fuse = fuse, .keep_gradients = true};
    const LimitedRun whole = train(model, GetParam().backend, options, 2);
    options.limit_bytes = limit_at(whole.plan, (1 + GetParam().reached) / 2);
    const LimitedRun limited = train(model, GetParam().backend, options, 2);
    EXPECT_LE(limited.plan.total_bytes(), options.limit_bytes);
    EXPECT_GT(limited.plan.recomputed_work().bytes_moved, 0);
    expect_same(limited, whole);
  }
}

TEST_P(PlanLimit, SaysHowMuchTheSmallestPlanTakes) {
  const networks::Model model = model_of(GetParam());
  const auto backend = backend::make_backend(GetParam().backend);
  const std::size_t whole = plan::compile(model.graph, *backend).plan.total_bytes();
  try {
    plan::compile(model.graph, *backend, {.limit_bytes = 1});
    FAIL() << "a plan of one byte";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(error.with_options().find("--memory-limit 1.00 B: the smallest plan of a step takes "),
              std::string::npos)
        << error.with_options();
  }
  const StepPlan roomy = plan::compile(model.graph, *backend, {.limit_bytes = whole}).plan;
  EXPECT_EQ(roomy.recomputed_work().bytes_moved, 0) << "what fits is left as it is";
  EXPECT_EQ(roomy.total_bytes(), whole);
}

// Deep networks of equal layers come down to the order of the square root of their depth.
TEST(PlanLimitOfDeepNetworks, GoesFarBelowWhatTheyKeep) {
  const networks::generator::Given deep{
      {"layers", "16"}, {"width", "64"}, {"heads", "4"}, {"length", "64"}, {"vocabulary", "64"}};
  const Subject subject{
      "transformer", 0.3, {.network = "transformer", .batch = 4, .parameters = deep}, "null"};
  const networks::Model model = model_of(subject);
  const auto backend = backend::make_backend("null");
  const StepPlan whole = plan::compile(model.graph, *backend).plan;
  const StepPlan limited = plan::compile(model.graph, *backend, {.limit_bytes = limit_at(whole, 0.3)}).plan;
  EXPECT_LE(limited.bytes(Region::slab), 0.3 * static_cast<double>(whole.bytes(Region::slab)));
  EXPECT_LT(limited.recomputed_work().flops, whole.work().flops / 3) << "at most the forward pass";
}

TEST(PlanLimitOfServers, DoesNotCountStateThatIsKeptElsewhere) {
  const networks::Model model = model_of({"lenet", 0.9, {.network = "lenet", .batch = 16}, "null"});
  const auto backend = backend::make_backend("null");
  const plan::CompileOptions kept{.keep_gradients = true};
  const StepPlan whole = plan::compile(model.graph, *backend, kept).plan;
  const std::size_t state = whole.bytes(Region::optimizer_state);
  ASSERT_GT(state, 0u);
  plan::CompileOptions elsewhere{
      .keep_gradients = true, .limit_bytes = whole.total_bytes() - state, .optimizer_state = false};
  EXPECT_EQ(plan::compile(model.graph, *backend, elsewhere).plan.recomputed_work().bytes_moved, 0);
}

}  // namespace
}  // namespace trainyard

#include "plan/step_plan.h"

#include <gtest/gtest.h>

#include "ops/registry/registry.h"
#include "ops/update.h"

namespace trainyard::plan {
namespace {

using graph::ValueId;

Buffer buffer_named(const std::string& name, std::size_t bytes, Region region) {
  return {.name = name, .type = {{1}, DType::f32}, .bytes = bytes, .region = region};
}

TEST(StepPlan, SumsItsRegions) {
  StepPlan plan;
  plan.region_bytes[static_cast<std::size_t>(Region::parameters)] = 128;
  plan.region_bytes[static_cast<std::size_t>(Region::slab)] = 64;
  EXPECT_EQ(plan.bytes(Region::parameters), 128u);
  EXPECT_EQ(plan.total_bytes(), 192u);
  plan.buffers = {buffer_named("a", 64, Region::slab), buffer_named("b", 64, Region::slab),
                  buffer_named("w", 128, Region::parameters)};
  EXPECT_EQ(plan.unshared_slab_bytes(), 128u);
}

TEST(StepPlan, FindsPersistentBuffersByTheNameOfTheirValue) {
  StepPlan plan;
  plan.buffers = {buffer_named("x", 64, Region::slab), buffer_named("x", 64, Region::outputs)};
  EXPECT_EQ(plan.find_buffer("x"), 1) << "the slab's content does not outlive the step";
  EXPECT_EQ(plan.find_buffer("y"), -1);
}

TEST(StepPlan, EveryRegionHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t r = 0; r < kRegions; ++r) names.insert(name(static_cast<Region>(r)));
  EXPECT_EQ(names.size(), kRegions);
  EXPECT_FALSE(names.contains("?"));
}

TEST(StepPlan, ReordersAreNoUpdates) {
  StepPlan plan;
  plan.steps = {{.node = 0, .phase = graph::Phase::update}, {.phase = graph::Phase::update}};
  EXPECT_EQ(plan.reorders(), 1);
  EXPECT_TRUE(plan.steps[0].is_update());
  EXPECT_FALSE(plan.steps[1].is_update());
}

TEST(StepPlan, TextNamesKernelsLayoutsAndRegions) {
  StepPlan plan;
  plan.backend = "toy";
  plan.fusions = {"relu joins dense"};
  plan.buffers = {buffer_named("x", 64, Region::inputs), buffer_named("y", 64, Region::slab)};
  plan.buffers[1].layout = Layout::channels_last(4);
  plan.steps = {{.name = "conv", .kernel = "own:conv2d", .attributes = "3x3", .inputs = {0}, .outputs = {1}}};
  const std::string text = to_text(plan);
  EXPECT_EQ(text.find("backend toy\nfusion relu joins dense\n"), 0u) << text;
  EXPECT_NE(text.find("conv = own:conv2d {3x3} (x["), std::string::npos) << text;
  EXPECT_NE(text.find("(y[acdb])\n"), std::string::npos) << text;
  EXPECT_NE(text.find("rounded copies 0 bytes\n"), std::string::npos) << text;
}

// A matrix, a vector and a matrix with their gradients; matrices have rounded copies where `copies`.
struct Updated {
  graph::Graph graph;
  std::vector<ValueId> parameters, gradients, copies;

  Updated(const ops::UpdateAttrs& given, bool with_copies) {
    const Shape shapes[] = {{4, 3}, {4}, {2, 4}};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string name = "p" + std::to_string(i);
      parameters.push_back(graph.add_parameter(name, {shapes[i], DType::f32}, {}));
      gradients.push_back(graph.add_input("d_" + name, {shapes[i], DType::f32}));
    }
    ops::UpdateAttrs attrs = given;
    std::vector<ValueId> inputs = parameters;
    inputs.insert(inputs.end(), gradients.begin(), gradients.end());
    const std::vector<ValueId> slots = ops::add_slots(graph, parameters, attrs);
    inputs.insert(inputs.end(), slots.begin(), slots.end());
    for (const std::size_t matrix : {0, 2}) {
      if (!with_copies) break;
      copies.push_back(graph.add_state("copy" + std::to_string(matrix), {shapes[matrix], DType::bf16},
                                       graph::Role::statistic, {}));
      inputs.push_back(copies.back());
      ++attrs.rounded_copies;
    }
    graph.add_node(ops::update_op, "update", inputs, attrs);
  }
  const graph::Node& update() const { return graph.nodes().back(); }
};

class UpdatedParameters : public testing::TestWithParam<std::tuple<ops::Rule, bool>> {};

TEST_P(UpdatedParameters, AreReadFromAnUpdateAndWrittenBackAsTheyWere) {
  const auto& [rule, with_copies] = GetParam();
  const Updated made({.rule = rule, .ema_decay = 0.9}, with_copies);
  const std::vector<UpdatedParameter> found = parameters_of(made.graph, made.update());
  ASSERT_EQ(found.size(), 3u);
  const auto slots = static_cast<std::size_t>(made.update().attrs<ops::UpdateAttrs>().slots());
  for (std::size_t p = 0; p < 3; ++p) {
    EXPECT_EQ(found[p].value, made.parameters[p]);
    EXPECT_EQ(found[p].gradient, made.gradients[p]);
    ASSERT_EQ(found[p].slots.size(), slots);
    for (const ValueId slot : found[p].slots)
      EXPECT_EQ(made.graph.value(slot).name.find("p" + std::to_string(p) + ":"), 0u)
          << made.graph.value(slot).name;
  }
  EXPECT_EQ(found[1].copy, graph::kNone) << "vectors are not multiplied";
  if (with_copies) {
    EXPECT_EQ(found[0].copy, made.copies[0]);
    EXPECT_EQ(found[2].copy, made.copies[1]);
  }
  graph::Node again = made.update();
  again.inputs.clear();
  add_parameters(again, found);
  EXPECT_EQ(again.inputs, made.update().inputs);
  EXPECT_EQ(again.attrs<ops::UpdateAttrs>().rounded_copies, with_copies ? 2 : 0);
}

TEST_P(UpdatedParameters, OfAPartMakeAValidUpdate) {
  const auto& [rule, with_copies] = GetParam();
  Updated made({.rule = rule}, with_copies);
  std::vector<UpdatedParameter> part = parameters_of(made.graph, made.update());
  part.erase(part.begin());
  graph::Node update = made.update();
  update.inputs.clear();
  add_parameters(update, part);
  made.graph.replace_nodes({update});
  graph::verify(made.graph);
  EXPECT_EQ(ops::updated_parameters({made.graph, made.graph.node(0)}), 2);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, UpdatedParameters,
    testing::Combine(testing::Values(ops::Rule::sgd, ops::Rule::momentum, ops::Rule::adam), testing::Bool()),
    [](const auto& tested) {
      return std::string(ops::name(std::get<0>(tested.param))) +
             (std::get<1>(tested.param) ? "_with_copies" : "");
    });

}  // namespace
}  // namespace trainyard::plan

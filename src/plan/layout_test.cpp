#include <gtest/gtest.h>

#include "backend/backend.h"
#include "ops/elementwise.h"
#include "ops/update.h"
#include "plan/compile.h"
#include "plan/passes.h"

namespace trainyard::plan {
namespace {

using backend::Candidate;
using backend::Decision;
using backend::Kernel;
using backend::KernelRequest;
using graph::ValueId;

void compute_nothing(const backend::Arguments&) {}

// Returns a kernel that wants all its inputs and outputs in one layout.
std::unique_ptr<Kernel> kernel_in(const KernelRequest& request, const Layout& layout) {
  backend::KernelIo io;
  io.inputs.assign(static_cast<std::size_t>(request.node.inputs()), layout);
  io.outputs.assign(static_cast<std::size_t>(request.node.outputs()), layout);
  return std::make_unique<backend::FunctionKernel>(request.node, std::move(io), compute_nothing);
}
std::unique_ptr<Kernel> plain(const KernelRequest& request) { return kernel_in(request, {}); }
std::unique_ptr<Kernel> channels_last(const KernelRequest& request) {
  return kernel_in(request, Layout::channels_last(4));
}
Decision accept(const KernelRequest&) { return Decision::yes(); }
Decision decline(const KernelRequest&) { return Decision::no("wants a Tuesday"); }

class ListedBackend final : public backend::Backend {
 public:
  explicit ListedBackend(std::vector<Candidate> candidates, std::vector<double> seconds = {})
      : candidates_(std::move(candidates)), seconds_(std::move(seconds)) {}
  std::string name() const override { return "listed"; }
  const std::vector<Candidate>& candidates() const override { return candidates_; }
  std::unique_ptr<Kernel> make_reorder(const graph::TensorType&, const Layout& from,
                                       const Layout& to) const override {
    return std::make_unique<Reorder>(backend::KernelIo{{from}, {to}, 0, {}});
  }
  bool measures() const override { return !seconds_.empty(); }
  std::vector<double> kept_seconds(const std::string&) const override { return seconds_; }

 private:
  class Reorder final : public Kernel {
   public:
    using Kernel::Kernel;
    void bind(const backend::Binding&) override {}
    void run(const backend::StepContext&) override {}
  };
  std::vector<Candidate> candidates_;
  std::vector<double> seconds_;
};

// Activations in plain layout, sums and products in channels last.
ListedBackend mixed_backend() {
  return ListedBackend({{&ops::activation_op, "toy:relu", accept, plain},
                        {&ops::add_op, "toy:add", accept, channels_last},
                        {&ops::multiply_op, "toy:multiply", accept, channels_last},
                        {&ops::update_op, "toy:update", accept, plain}});
}

const graph::TensorType kImage{{2, 3, 4, 4}, DType::f32};

CompiledStep compiled(const graph::Graph& graph, const backend::Backend& backend,
                      const CompileOptions& options = {.fuse = false}) {
  return compile(graph, backend, options);
}

TEST(Layouts, AReorderIsMadeOnceForAllReaders) {
  graph::Graph graph;
  const ValueId y = ops::relu(graph, "y", graph.add_input("x", kImage));
  const ValueId sum = ops::add(graph, "sum", {y, y}), product = ops::multiply(graph, "product", y, sum);
  graph.mark_output(ops::relu(graph, "end", product));
  const CompiledStep step = compiled(graph, mixed_backend());
  EXPECT_EQ(step.plan.reorders(), 2) << "to channels last, and back:\n" << to_text(step.plan);
  EXPECT_EQ(step.plan.steps.size(), step.kernels.size());
}

TEST(Layouts, AParameterTakesTheLayoutOfItsFirstReader) {
  graph::Graph graph;
  const ValueId w = graph.add_parameter("w", kImage, {});
  graph.mark_output(ops::add(graph, "sum", {w, w}));
  const CompiledStep step = compiled(graph, mixed_backend());
  EXPECT_EQ(persistent_layouts(step.plan).at("w"), Layout::channels_last(4));
  ASSERT_EQ(step.plan.reorders(), 1) << "only the output is brought into plain order";
  EXPECT_TRUE(step.plan.steps[1].is_reorder());
}

TEST(Layouts, APinnedLayoutStaysAndTheReaderGetsACopy) {
  graph::Graph graph;
  const ValueId w = graph.add_parameter("w", kImage, {});
  graph.mark_output(ops::add(graph, "sum", {w, w}));
  const CompiledStep step =
      compiled(graph, mixed_backend(), {.fuse = false, .pinned_layouts = {{"w", Layout()}}});
  EXPECT_TRUE(persistent_layouts(step.plan).at("w").is_plain());
  EXPECT_EQ(step.plan.reorders(), 2);
  // The copy lives inside the step; the parameter is where it was.
  EXPECT_EQ(step.plan.bytes(Region::parameters), static_cast<std::size_t>(kImage.bytes()));
}

TEST(Layouts, OutputsArePlainAndOutliveTheStep) {
  graph::Graph graph;
  const ValueId x = graph.add_input("x", kImage), sum = ops::add(graph, "sum", {x, x});
  graph.mark_output(sum);
  const CompiledStep step = compiled(graph, mixed_backend());
  const int found = step.plan.find_buffer("sum:0");
  ASSERT_GE(found, 0);
  const Buffer& output = step.plan.buffers[static_cast<std::size_t>(found)];
  EXPECT_EQ(output.region, Region::outputs);
  EXPECT_TRUE(output.layout.is_plain());
}

TEST(Layouts, StateThatNoNodeReadsHasABuffer) {
  graph::Graph graph;
  graph.mark_output(ops::relu(graph, "y", graph.add_input("x", kImage)));
  graph.add_parameter("unread", {{100}, DType::f32}, {});
  const CompiledStep step = compiled(graph, mixed_backend());
  EXPECT_GE(step.plan.find_buffer("unread"), 0);
}

TEST(Layouts, GradientsThatAnUpdateReadsAreStored) {
  graph::Graph graph;
  const ValueId w = graph.add_parameter("w", {{8}, DType::f32}, {});
  const ValueId d_w = ops::relu(graph, "d_w", graph.add_input("x", {{8}, DType::f32}));
  graph.set_phase(graph::Phase::update);
  ops::update(graph, "update", {w}, {d_w}, {.rule = ops::Rule::momentum});
  const CompiledStep step = compiled(graph, mixed_backend());
  EXPECT_GT(step.plan.bytes(Region::gradients), 0u);
  EXPECT_EQ(step.plan.bytes(Region::slab), 0u);
  EXPECT_EQ(step.plan.bytes(Region::optimizer_state), step.plan.bytes(Region::parameters));
}

TEST(Candidates, TheFirstThatAcceptsRunsAndTheOthersSayWhyNot) {
  graph::Graph graph;
  graph.mark_output(ops::relu(graph, "y", graph.add_input("x", kImage)));
  const ListedBackend backend({{&ops::activation_op, "toy:picky", decline, plain},
                               {&ops::activation_op, "toy:first", accept, plain},
                               {&ops::activation_op, "toy:second", accept, plain}});
  const CompiledStep step = compiled(graph, backend);
  ASSERT_EQ(step.plan.steps.size(), 1u);
  EXPECT_EQ(step.plan.steps[0].kernel, "toy:first");
  ASSERT_EQ(step.plan.steps[0].declined.size(), 1u);
  EXPECT_EQ(step.plan.steps[0].declined[0].candidate, "toy:picky");
  EXPECT_EQ(step.plan.steps[0].declined[0].reason, "wants a Tuesday");
}

TEST(Candidates, TheFastestRunsWhereTheBackendMeasures) {
  graph::Graph graph;
  graph.mark_output(ops::relu(graph, "y", graph.add_input("x", kImage)));
  const ListedBackend backend({{&ops::activation_op, "toy:slow", accept, plain},
                               {&ops::activation_op, "toy:fast", accept, plain},
                               {&ops::activation_op, "toy:slower", accept, plain}},
                              {3e-6, 2e-6, 4e-6});
  const CompiledStep step = compiled(graph, backend);
  EXPECT_EQ(step.plan.steps[0].kernel, "toy:fast");
  ASSERT_EQ(step.plan.steps[0].declined.size(), 2u);
  EXPECT_EQ(step.plan.steps[0].declined[0].candidate, "toy:slow");
  EXPECT_NE(step.plan.steps[0].declined[0].reason.find("slower"), std::string::npos);
}

TEST(Candidates, WhereNoneAcceptsTheErrorNamesTheNodeAndTheReason) {
  graph::Graph graph;
  graph.mark_output(ops::relu(graph, "y", graph.add_input("x", kImage)));
  const auto error_of = [&](const std::vector<Candidate>& candidates) -> std::string {
    try {
      compiled(graph, ListedBackend(candidates));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::unsupported);
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of({}), "backend 'listed' has no kernel for activation 'y'");
  EXPECT_EQ(error_of({{&ops::activation_op, "toy:picky", decline, plain}}),
            "backend 'listed' has no kernel for activation 'y': wants a Tuesday");
}

TEST(Candidates, PlainLoopsDoNotCountAsKernelsOfANode) {
  graph::Graph graph;
  ops::relu(graph, "y", graph.add_input("x", kImage));
  const auto declined_by = [&](const std::vector<Candidate>& candidates) {
    return declined(graph, graph.node(0), ListedBackend(candidates));
  };
  EXPECT_EQ(declined_by({{&ops::activation_op, "toy:relu", accept, plain}}), "");
  EXPECT_EQ(declined_by({{&ops::activation_op, "reference:relu", accept, plain}}),
            "the backend has no kernel for it");
  EXPECT_EQ(declined_by({{&ops::activation_op, "toy:relu", decline, plain}}), "wants a Tuesday");
}

TEST(LiveNodes, KeepWhatOutputsNeedAndWhatChangesState) {
  graph::Graph graph;
  const ValueId x = graph.add_input("x", {{8}, DType::f32}),
                w = graph.add_parameter("w", {{8}, DType::f32}, {});
  const ValueId needed = ops::relu(graph, "needed", x);
  ops::relu(graph, "dead_end", ops::relu(graph, "dead", x));
  graph.mark_output(ops::relu(graph, "output", needed));
  const ValueId d_w = ops::relu(graph, "d_w", x);
  graph.set_phase(graph::Phase::update);
  ops::update(graph, "update", {w}, {d_w}, {});
  const graph::Graph live = live_nodes(graph);
  graph::verify(live);
  std::vector<std::string> names;
  for (const graph::Node& node : live.nodes()) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string>{"needed", "output", "d_w", "update"}));
}

}  // namespace
}  // namespace trainyard::plan

// Every case of every op in bf16 on a GPU, planned as training plans it, against f32 on the CPU. Inputs and
// weights are numbers that bf16 holds, so that only what is computed is rounded.
#include <algorithm>
#include <map>
#include <set>

#include "conformance/problems.h"
#include "conformance/run_graph.h"
#include "curve.h"
#include "engine/executor.h"
#include "gpu.h"
#include "graph/graph.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/layer_norm.h"
#include "ops/sequence/attention.h"
#include "ops/shape.h"
#include "plan/compile.h"
#include "tensor/tensor.h"

namespace trainyard {
namespace {

using conformance::Problem;
using graph::Graph;
using graph::Role;
using graph::ValueId;

// The error is relative to the largest value. bf16 rounds by 0.4 % at most; sums are f32, so errors do not
// add up over one op.
constexpr double kAllowed = 2e-2;
// A decision that depends on a rounded number can differ from f32, and then the gradient of a pixel goes to
// another pixel or to none: a pool meets ties, and a ReLU or ReLU6 behind a bias meets numbers next to its
// kink. Roundings do add up through layers and steps that are one op.
const std::map<std::string, double> kAllowedOfGradients{{"conv2d_max_pool_d_weight", 0.4},
                                                        {"conv2d_max_pool", 0.3},
                                                        {"conv2d", 0.15},
                                                        {"dense_chain", 0.3},
                                                        {"recurrent", 0.05}};

Graph with_gradients(const Problem& problem) {
  Graph graph;
  problem.problem.build(graph, DType::f32);
  if (!conformance::has_gradient(problem)) return graph;
  std::set<ValueId> marked(graph.outputs().begin(), graph.outputs().end());
  for (const ValueId gradient : conformance::append_backward(graph))
    if (gradient != graph::kNone && marked.insert(gradient).second) graph.mark_output(gradient);
  return graph;
}

// The planner leaves inputs in f32 and lets convolutions and matrix products round them; behind those, other
// ops see bf16. Here they see it because their inputs are rounded first.
Graph with_rounded_inputs(const Graph& old) {
  Graph made;
  std::vector<ValueId> home(old.values().size(), graph::kNone);
  for (std::size_t v = 0; v < home.size(); ++v) {
    const graph::Value& value = old.values()[v];
    if (value.role == Role::intermediate) continue;
    home[v] = made.add_state(value.name, value.type, value.role, value.initializer);
    if (value.role == Role::input && value.type.dtype == DType::f32 && value.type.shape.rank() >= 2)
      home[v] = ops::cast(made, value.name + "/rounded", {home[v]}, DType::bf16).front();
  }
  for (const graph::Node& node : old.nodes()) {
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(home[static_cast<std::size_t>(input)]);
    made.set_phase(node.phase);
    const std::vector<ValueId> outputs = made.add_node(*node.op, node.name, inputs, node.attributes);
    for (std::size_t o = 0; o < outputs.size(); ++o)
      home[static_cast<std::size_t>(node.outputs[o])] = outputs[o];
  }
  for (const ValueId output : old.outputs()) made.mark_output(home[static_cast<std::size_t>(output)]);
  return made;
}

Graph for_gpu(const Problem& problem, const Graph& graph) {
  const graph::Lowering lowering = problem.op->lowering;
  const bool rounds = lowering == graph::Lowering::computes || lowering == graph::Lowering::exact;
  return rounds ? graph : with_rounded_inputs(graph);
}

bool lives_on(Role role) {
  return role == Role::parameter || role == Role::statistic || role == Role::optimizer_state;
}

class Side {
 public:
  Side(const Graph& graph, const backend::Backend& backend, const plan::CompileOptions& options)
      : executor_(plan::compile(graph, backend, options)) {}

  void fill(const Graph& graph) {
    const conformance::Values values = conformance::first_values(graph, 11);
    for (std::size_t v = 0; v < values.size(); ++v) {
      const graph::Value& value = graph.values()[v];
      if (value.role == Role::intermediate) continue;
      if (value.type.dtype == DType::f32)
        for (float& number : values[v].as<float>()) number = static_cast<float>(BFloat16(number));
      executor_.write(value.name, values[v]);
    }
  }

  void run() { executor_.run({11, 3}); }

  // Reads bf16 as well.
  std::vector<float> read(const graph::Value& value) const {
    HostTensor content(value.type.shape, DType::f32);
    const int buffer = executor_.plan().find_buffer(value.name);
    if (executor_.plan().buffers[static_cast<std::size_t>(buffer)].layout.is_plain())
      executor_.read_plain(value.name, content);
    else
      content = executor_.read(value.name);
    std::vector<float> numbers;
    if (content.dtype() == DType::bf16)
      for (const BFloat16 number : content.as<BFloat16>()) numbers.push_back(static_cast<float>(number));
    else
      for (const float number : content.as<float>()) numbers.push_back(number);
    return numbers;
  }

 private:
  engine::Executor executor_;
};

// Runs `graph` on the reference and `lowered` in bf16; gradients may differ by `of_gradients`.
void expect_close(const Graph& graph, const Graph& lowered, const backend::Backend& bf16,
                  double of_gradients) {
  const auto reference = backend::make_reference_backend();
  Side want(graph, *reference, {}),
      got(lowered, bf16, {.precision = backend::Precision::bf16, .pinned_layouts = {}});
  for (Side* side : {&want, &got}) {
    side->fill(graph);
    side->run();
  }
  std::set<ValueId> gradients;
  for (const graph::Node& node : graph.nodes())
    if (node.phase == graph::Phase::backward || node.op == &ops::conv2d_max_pool_d_weight_op)
      gradients.insert(node.outputs.begin(), node.outputs.end());
  const std::set<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (std::size_t v = 0; v < graph.values().size(); ++v) {
    const graph::Value& value = graph.values()[v];
    const bool made = value.role == Role::intermediate && outputs.contains(static_cast<ValueId>(v));
    if (value.type.dtype != DType::f32 || !(made || lives_on(value.role))) continue;
    const bool is_gradient = gradients.contains(static_cast<ValueId>(v));
    EXPECT_LT(relative_error(got.read(value), want.read(value)), is_gradient ? of_gradients : kAllowed)
        << value.name;
  }
}

TEST_F(GpuTest, EveryOpInBf16IsCloseToF32) {
  const auto bf16 = backend::make_backend("cuda", DeviceSpec::cuda(), backend::Precision::bf16);
  for (const Problem& problem : conformance::all_problems()) {
    if (conformance::runs_on_hosts_only(*problem.op)) continue;
    if (problem.op == &ops::cast_op) continue;  // names its types itself
    SCOPED_TRACE(problem.name);
    const Graph graph = with_gradients(problem);
    const auto of_gradients = kAllowedOfGradients.find(problem.op->name);
    expect_close(graph, for_gpu(problem, graph), *bf16,
                 of_gradients == kAllowedOfGradients.end() ? kAllowed : of_gradients->second);
  }
}

// The gradient that comes back is bf16 when the input of a layer is a sum in f32 and a product follows.
TEST_F(GpuTest, OpsOnF32TakeGradientsInBf16) {
  struct Layer {
    const char* name;
    std::int64_t width, made;
    ValueId (*add)(Graph&, ValueId);
  };
  const Layer layers[] = {
      {"layer_norm", 48, 48,
       [](Graph& graph, ValueId src) {
         const graph::TensorType channels{{48}, DType::f32};
         return ops::layer_norm(graph, "layer", src,
                                graph.add_parameter("gamma", channels, graph::Initializer::uniform(0.5, 2)),
                                graph.add_parameter("beta", channels, graph::Initializer::normal(1)), 1e-5);
       }},
      {"rms_norm", 21, 21,
       [](Graph& graph, ValueId src) {
         const ValueId gamma =
             graph.add_parameter("gamma", {{21}, DType::f32}, graph::Initializer::uniform(0.5, 2));
         return ops::layer_norm(graph, "layer", src, gamma, graph::kNone, 1e-5);
       }},
      {"attention", 96, 32,
       [](Graph& graph, ValueId src) {
         return ops::attention(graph, "layer", src, graph::kNone, {.heads = 2, .kv_heads = 2, .rows = {10}});
       }},
      {"attention_of_odd_heads", 15, 5, [](Graph& graph, ValueId src) {
         return ops::attention(graph, "layer", src, graph::kNone, {.heads = 1, .kv_heads = 1, .rows = {10}});
       }}};
  const auto bf16 = backend::make_backend("cuda", DeviceSpec::cuda(), backend::Precision::bf16);
  for (const Layer& layer : layers) {
    SCOPED_TRACE(layer.name);
    const Problem problem{
        layer.name,
        &ops::dense_op,
        {layer.name, [&](Graph& graph, DType dtype) {
           const ValueId src =
               graph.add_input("src", {{20, layer.width}, dtype}, graph::Initializer::normal(1));
           const ValueId weight =
               graph.add_parameter("weight", {{24, layer.made}, dtype}, graph::Initializer::normal(1));
           graph.mark_output(ops::dense(graph, "y", layer.add(graph, src), weight, graph::kNone));
         }}};
    const Graph graph = with_gradients(problem);
    expect_close(graph, graph, *bf16, kAllowed);
  }
}

}  // namespace
}  // namespace trainyard

#include "run_graph.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "base/philox.h"
#include "checked_buffer.h"
#include "fill.h"
#include "staged_buffer.h"
#include "tensor/tensor.h"

namespace trainyard::conformance {
namespace {

using backend::Candidate;
using backend::Kernel;
using backend::KernelRequest;
using graph::Graph;
using graph::Node;
using graph::NodeView;
using graph::Role;

class Runner {
 public:
  Runner(const Graph& graph, const backend::Backend& backend, const RunOptions& options)
      : graph_(graph),
        backend_(backend),
        device_(backend.device()),
        options_(options),
        step_context_(options.context),
        buffers_(graph.values().size()) {}

  void load(const Values& start) {
    for (std::size_t v = 0; v < buffers_.size(); ++v) {
      const graph::Value& value = graph_.values()[v];
      if (value.role == Role::intermediate) continue;
      CheckedBuffer plain(value.type, {});
      std::memcpy(plain.data(), start[v].data(), start[v].bytes());
      buffers_[v] = settled(std::move(plain), value.role);
    }
  }

  void run(const Node& node) {
    const NodeView view(graph_, node);
    const auto kernel = make_kernel(view);
    const backend::KernelIo& io = kernel->io();
    if (io.inputs.size() != node.inputs.size() || io.outputs.size() != node.outputs.size())
      fail(ErrorKind::internal, "{}: its kernel has {} inputs and {} outputs", node.name, io.inputs.size(),
           io.outputs.size());
    const std::vector<int> mutated = mutated_inputs(view);
    const auto changes = [&](std::size_t i) {
      return std::find(mutated.begin(), mutated.end(), static_cast<int>(i)) != mutated.end();
    };
    std::vector<CheckedBuffer> inputs, outputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      inputs.push_back(reordered(buffer(node.inputs[i]), io.inputs[i]));
    for (std::size_t o = 0; o < node.outputs.size(); ++o)
      outputs.emplace_back(graph_.value(node.outputs[o]).type, io.outputs[o]);

    execute(node, *kernel, inputs, outputs);

    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      CheckedBuffer& before = buffer(node.inputs[i]);
      if (!inputs[i].guard_intact()) violation(node, "writes behind input", i);
      if (changes(i))
        before = reordered(inputs[i], before.layout());
      else if (!inputs[i].same_bytes(reordered(before, io.inputs[i])))
        violation(node, "changes input", i);
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (!outputs[o].guard_intact()) violation(node, "writes behind output", o);
      if (!outputs[o].padding_is_zero()) violation(node, "leaves padding that is not zero in output", o);
      buffer(node.outputs[o]) = settled(std::move(outputs[o]), Role::intermediate);
    }
  }

  RunResult take() {
    for (const CheckedBuffer& made : buffers_) {
      HostTensor tensor(made.type().shape, made.type().dtype);
      std::memcpy(tensor.data(), reordered(made, {}).data(), tensor.bytes());
      result_.values.push_back(std::move(tensor));
    }
    return std::move(result_);
  }

 private:
  CheckedBuffer& buffer(graph::ValueId value) { return buffers_[static_cast<std::size_t>(value)]; }

  void violation(const Node& node, const char* what, std::size_t index) {
    result_.violations.push_back(fmt::format("{} '{}' {} {}", node.op->name, node.name, what, index));
  }

  CheckedBuffer reordered(const CheckedBuffer& from, const Layout& layout) {
    if (from.layout() == layout) return from.copy();
    CheckedBuffer to(from.type(), layout);
    const auto kernel = backend_.make_reorder(from.type(), from.layout(), layout);
    const StagedBuffer src = staged(from), dst = staged(to);
    kernel->bind({{src.data()}, {dst.data()}, nullptr});
    kernel->run(options_.context);
    dst.fetch();
    if (!to.guard_intact() || !to.padding_is_zero())
      result_.violations.push_back(fmt::format("reorder of {} from {} to {} leaves padding that is not zero",
                                               from.type().to_string(), from.layout().to_string(),
                                               layout.to_string()));
    return to;
  }

  StagedBuffer staged(const CheckedBuffer& buffer) const {
    return {device_, buffer.data(), buffer.guarded_bytes()};
  }

  // In the layout in which it waits for its readers.
  CheckedBuffer settled(CheckedBuffer made, Role role) {
    const bool image = made.type().shape.rank() == 4 && (role == Role::input || role == Role::intermediate);
    return image && options_.images ? reordered(made, *options_.images) : std::move(made);
  }

  std::unique_ptr<Kernel> make_kernel(const NodeView& view) {
    KernelRequest request{
        view, device_.get(), {}, std::vector<std::optional<Layout>>(view.node().outputs.size())};
    for (const graph::ValueId input : view.node().inputs) request.inputs.emplace_back(buffer(input).layout());
    const auto takes = [&](const Candidate& candidate) {
      if (candidate.op != view.node().op) return false;
      const backend::Decision decision = candidate.accept(request);
      if (!decision.accepted())
        result_.declines.push_back(
            fmt::format("{}: {} declines: {}", view.node().name, candidate.name, decision.reason));
      return decision.accepted();
    };
    const auto& all = backend_.candidates();
    const Candidate* chosen = options_.prefer;
    if (chosen == nullptr || !takes(*chosen)) {
      const auto first = std::find_if(all.begin(), all.end(), takes);
      if (first == all.end())
        fail(ErrorKind::unsupported, "{} '{}': no candidate of backend '{}' accepts", view.node().op->name,
             view.node().name, backend_.name());
      chosen = &*first;
    }
    result_.used.insert(chosen);
    return chosen->make(request);
  }

  // Puts inputs where outputs are, as far as the kernel allows it; by input, the output it lies in or -1.
  std::vector<int> share_memory(const Node& node, const Kernel& kernel,
                                const std::vector<CheckedBuffer>& inputs,
                                const std::vector<CheckedBuffer>& outputs) {
    std::vector<int> output_of(inputs.size(), -1);
    std::vector<bool> shared(outputs.size(), false);
    for (const auto& [first, second] : kernel.io().in_place) {
      const auto o = static_cast<std::size_t>(first), i = static_cast<std::size_t>(second);
      if (shared[o]) continue;
      if (inputs[i].bytes() != outputs[o].bytes()) {
        violation(node, "allows in place, but of another size, input", i);
        continue;
      }
      std::memcpy(outputs[o].data(), inputs[i].data(), inputs[i].bytes());
      output_of[i] = first;
      shared[o] = true;
    }
    return output_of;
  }

  void execute(const Node& node, Kernel& kernel, const std::vector<CheckedBuffer>& inputs,
               const std::vector<CheckedBuffer>& outputs) {
    const std::vector<int> output_of =
        options_.in_place ? share_memory(node, kernel, inputs, outputs) : std::vector<int>(inputs.size(), -1);
    const AlignedBuffer workspace(kernel.io().workspace_bytes);
    if (workspace.bytes() > 0) std::memset(workspace.data(), 0xFF, workspace.bytes());
    std::vector<StagedBuffer> staged_inputs, staged_outputs;
    for (const CheckedBuffer& input : inputs) staged_inputs.push_back(staged(input));
    for (const CheckedBuffer& output : outputs) staged_outputs.push_back(staged(output));
    const StagedBuffer staged_workspace(device_, workspace.data(), workspace.bytes());
    const StagedBuffer context(device_, reinterpret_cast<std::byte*>(&step_context_), sizeof step_context_);

    backend::Binding binding;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      binding.inputs.push_back(output_of[i] < 0
                                   ? staged_inputs[i].data()
                                   : staged_outputs[static_cast<std::size_t>(output_of[i])].data());
    for (const StagedBuffer& output : staged_outputs) binding.outputs.push_back(output.data());
    binding.workspace = staged_workspace.data();
    if (!device_->is_host()) binding.context = reinterpret_cast<const backend::StepContext*>(context.data());
    kernel.bind(binding);
    kernel.run(options_.context);
    device_->wait();
    for (const StagedBuffer& input : staged_inputs) input.fetch();
    for (const StagedBuffer& output : staged_outputs) output.fetch();
  }

  const Graph& graph_;
  const backend::Backend& backend_;
  const std::shared_ptr<backend::Device> device_;
  const RunOptions& options_;
  backend::StepContext step_context_;
  std::vector<CheckedBuffer> buffers_;
  RunResult result_;
};

}  // namespace

const backend::Backend& fast_backend() {
  static const auto onednn = backend::make_onednn_backend();
  static const auto plain = backend::make_reference_backend();
  return onednn != nullptr ? *onednn : *plain;
}

Values first_values(const Graph& graph, std::uint64_t seed) {
  Values values(graph.values().size());
  for (std::size_t v = 0; v < values.size(); ++v) {
    const graph::Value& value = graph.values()[v];
    if (value.role == Role::intermediate) continue;
    values[v] = HostTensor(value.type.shape, value.type.dtype);
    fill(value.initializer, values[v], seed, stream_of(value.name.c_str()));
  }
  return values;
}

RunResult run_graph(const Graph& graph, const backend::Backend& backend, const Values& start,
                    const RunOptions& options) {
  Runner runner(graph, backend, options);
  runner.load(start);
  for (const Node& node : graph.nodes()) runner.run(node);
  return runner.take();
}

RunResult run_steps(const Graph& graph, const backend::Backend& backend, RunOptions options, int steps) {
  Values start = first_values(graph, options.context.seed);
  for (HostTensor& value : start)
    if (options.rounded_start && value.data() != nullptr && value.dtype() == DType::f32)
      for (float& number : value.as<float>()) number = static_cast<float>(BFloat16(number));
  RunResult result = run_graph(graph, backend, start, options);
  for (int step = 1; step < steps; ++step) {
    ++options.context.step;
    RunResult next = run_graph(graph, backend, result.values, options);
    next.violations.insert(next.violations.end(), result.violations.begin(), result.violations.end());
    result = std::move(next);
  }
  return result;
}

}  // namespace trainyard::conformance

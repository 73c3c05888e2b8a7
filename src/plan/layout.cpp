#include "graph/autodiff.h"
#include "ops/update.h"
#include "plan/compile.h"
#include "plan/passes.h"
#include "tensor/tensor.h"

namespace trainyard::plan {
namespace {

using backend::Candidate;
using backend::Kernel;
using backend::KernelRequest;
using graph::ValueId;

Region region_of(graph::Role role) {
  switch (role) {
    case graph::Role::input:
      return Region::inputs;
    case graph::Role::parameter:
      return Region::parameters;
    case graph::Role::statistic:
      return Region::statistics;
    case graph::Role::optimizer_state:
      return Region::optimizer_state;
    case graph::Role::gradient_sum:
      return Region::gradients;
    case graph::Role::intermediate:
      return Region::slab;
  }
  return Region::slab;
}

// Walks the nodes once. A value's home is the buffer its producer wrote, or, for parameters and state, the
// buffer in the layout that its first user chose. Copies in other layouts are made once and shared.
class LayoutPass {
 public:
  LayoutPass(CompiledStep& step, const backend::Backend& backend, const CompileOptions& options)
      : step_(step),
        graph_(*step.graph),
        plan_(step.plan),
        backend_(backend),
        options_(options),
        fastest_(backend),
        buffers_of_(graph_.values().size()) {}

  void run() {
    for (std::size_t v = 0; v < graph_.values().size(); ++v) {
      const graph::Value& value = graph_.values()[v];
      if (value.role == graph::Role::input) add_buffer(static_cast<ValueId>(v), {});
      const auto pinned = options_.pinned_layouts.find(value.name);
      if (value.role != graph::Role::intermediate && pinned != options_.pinned_layouts.end())
        add_buffer(static_cast<ValueId>(v), pinned->second);
    }
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) plan_node(static_cast<graph::NodeId>(n));
    for (const ValueId output : graph_.outputs()) plan_output(output);
    // State that no kernel of this plan touches still needs a buffer.
    for (std::size_t v = 0; v < graph_.values().size(); ++v)
      if (graph_.values()[v].role != graph::Role::intermediate && buffers_of_[v].empty())
        add_buffer(static_cast<ValueId>(v), {});
  }

 private:
  int add_buffer(ValueId id, const Layout& layout) {
    const graph::Value& value = graph_.value(id);
    Buffer buffer{.name = value.name,
                  .value = id,
                  .type = value.type,
                  .layout = layout,
                  .region = region_of(value.role)};
    buffer.bytes =
        align_up(static_cast<std::size_t>(layout.elements(value.type.shape)) * size_of(value.type.dtype));
    auto& buffers = buffers_of_[static_cast<std::size_t>(id)];
    if (!buffers.empty()) {  // a copy in another layout
      buffer.region = Region::slab;
      buffer.name += fmt::format("[{}]", layout.to_string());
    }
    plan_.buffers.push_back(std::move(buffer));
    buffers.push_back(static_cast<int>(plan_.buffers.size()) - 1);
    return buffers.back();
  }

  std::optional<Layout> home_layout(ValueId id) const {
    const auto& buffers = buffers_of_[static_cast<std::size_t>(id)];
    if (buffers.empty()) return std::nullopt;
    return plan_.buffers[static_cast<std::size_t>(buffers.front())].layout;
  }

  // Returns the buffer of a value in a layout; adds a reorder step when there is none yet.
  int buffer_in(ValueId id, const Layout& layout, graph::Phase phase) {
    const Shape& shape = graph_.shape(id);
    auto& buffers = buffers_of_[static_cast<std::size_t>(id)];
    if (buffers.empty()) return add_buffer(id, layout);
    for (const int buffer : buffers)
      if (Layout::same_placement(plan_.buffers[static_cast<std::size_t>(buffer)].layout, layout, shape))
        return buffer;
    const int home = buffers.front();
    const int copy = add_buffer(id, layout);
    const graph::TensorType& type = graph_.value(id).type;
    const Layout from = plan_.buffers[static_cast<std::size_t>(home)].layout;
    add_step({.name = plan_.buffers[static_cast<std::size_t>(home)].name,
              .op = "reorder",
              .kernel = "reorder",
              .attributes = fmt::format("{} -> {}", from.to_string(), layout.to_string()),
              .phase = phase,
              .inputs = {home},
              .outputs = {copy},
              .cost = {.bytes_moved = 2 * type.bytes()}},
             backend_.make_reorder(type, from, layout));
    return copy;
  }

  void add_step(Step step, std::unique_ptr<Kernel> kernel) {
    if (kernel->io().workspace_bytes > 0) {
      plan_.buffers.push_back({.name = step.name + " workspace",
                               .type = {{static_cast<std::int64_t>(kernel->io().workspace_bytes)}, DType::u8},
                               .bytes = align_up(kernel->io().workspace_bytes),
                               .workspace = true});
      step.workspace = static_cast<int>(plan_.buffers.size()) - 1;
    }
    plan_.steps.push_back(std::move(step));
    step_.kernels.push_back(std::move(kernel));
  }

  KernelRequest request_for(const graph::Node& node) const {
    KernelRequest request{{graph_, node}, step_.device.get(), {}, {}};
    for (const ValueId input : node.inputs) request.inputs.push_back(home_layout(input));
    for (const ValueId output : node.outputs) {
      const ValueId mirrored = graph_.value(output).gradient_of;
      request.outputs.push_back(mirrored == graph::kNone ? std::nullopt : home_layout(mirrored));
    }
    return request;
  }

  // Best first, as the backend lists them; never empty.
  std::vector<const Candidate*> accepting(const KernelRequest& request,
                                          std::vector<Declined>& declined) const {
    const graph::Node& node = request.node.node();
    std::vector<const Candidate*> accepted;
    for (const Candidate& candidate : backend_.candidates()) {
      if (candidate.op != node.op) continue;
      const backend::Decision decision = candidate.accept(request);
      if (!decision.accepted()) {
        declined.push_back({candidate.name, decision.reason});
        continue;
      }
      accepted.push_back(&candidate);
      if (!backend_.measures()) break;
    }
    if (accepted.empty())
      fail(ErrorKind::unsupported, "backend '{}' has no kernel for {} '{}'{}", backend_.name(), node.op->name,
           node.name, declined.empty() ? "" : ": " + declined.front().reason);
    return accepted;
  }

  void plan_node(graph::NodeId id) {
    const graph::Node& node = graph_.node(id);
    const KernelRequest request = request_for(node);
    std::vector<Declined> declined;
    const Candidate* candidate = fastest_.find(accepting(request, declined), request, declined);
    std::unique_ptr<Kernel> kernel = candidate->make(request);
    for (backend::Alternative& alternative : kernel->alternatives())
      declined.push_back(
          {fmt::format("{} {}", candidate->name, alternative.name), std::move(alternative.reason)});
    TRAINYARD_CHECK(kernel->io().inputs.size() == node.inputs.size());
    TRAINYARD_CHECK(kernel->io().outputs.size() == node.outputs.size());
    Step step{.name = node.name,
              .op = node.op->name,
              .kernel = candidate->name,
              .choice = kernel->choice(),
              .attributes = node.op->describe == nullptr ? "" : node.op->describe(request.node),
              .node = id,
              .phase = node.phase,
              .category = node.op->category,
              .cost = graph::cost_of(graph_, id),
              .declined = std::move(declined)};
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      step.inputs.push_back(buffer_in(node.inputs[i], kernel->io().inputs[i], node.phase));
    for (const int i : graph::mutated_inputs(request.node)) {
      const auto index = static_cast<std::size_t>(i);
      // A change of a copy would be lost.
      TRAINYARD_CHECK(step.inputs[index] ==
                      buffers_of_[static_cast<std::size_t>(node.inputs[index])].front());
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      step.outputs.push_back(add_buffer(node.outputs[i], kernel->io().outputs[i]));
      if (node.phase == graph::Phase::prepare)
        plan_.buffers[static_cast<std::size_t>(step.outputs.back())].region = Region::copies;
    }
    if (node.op == &ops::update_op) mark_gradients(step);
    add_step(std::move(step), std::move(kernel));
  }

  // The gradients that an update reads lie in the gradient arena, in the order of the parameters.
  void mark_gradients(const Step& update) {
    for (const int id : update.inputs) {
      Buffer& buffer = plan_.buffers[static_cast<std::size_t>(id)];
      if (buffer.region == Region::slab) buffer.region = Region::gradients;
    }
  }

  void plan_output(ValueId id) {
    if (graph_.value(id).role != graph::Role::intermediate) return;
    Buffer& buffer = plan_.buffers[static_cast<std::size_t>(buffer_in(id, {}, graph::Phase::forward))];
    if (buffer.region == Region::slab) buffer.region = Region::outputs;
    buffer.name = graph_.value(id).name;
  }

  CompiledStep& step_;
  const graph::Graph& graph_;
  StepPlan& plan_;
  const backend::Backend& backend_;
  const CompileOptions& options_;
  FastestCandidate fastest_;
  std::vector<std::vector<int>> buffers_of_;  // home first
};

}  // namespace

void choose_kernels(CompiledStep& step, const backend::Backend& backend, const CompileOptions& options) {
  LayoutPass(step, backend, options).run();
}

}  // namespace trainyard::plan

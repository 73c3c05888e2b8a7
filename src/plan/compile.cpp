#include "plan/compile.h"

#include "base/parallel.h"
#include "base/text.h"
#include "plan/passes.h"
#include "plan/recompute.h"

namespace trainyard::plan {

namespace {

graph::Graph verified(graph::Graph graph) {
#ifndef NDEBUG
  graph::verify(graph);
#endif
  return graph;
}

// The inputs of one node, and its outputs, must be in memory at once: a step that cannot fit is refused
// before anything is measured.
void check_memory(const graph::Graph& graph, const backend::Device& device) {
  const auto free_bytes = static_cast<std::int64_t>(device.free_bytes());
  if (free_bytes == 0) return;
  for (const graph::Node& node : graph.nodes()) {
    const auto together = [&](std::vector<graph::ValueId> values) {
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
      std::int64_t bytes = 0;
      for (const graph::ValueId value : values)
        if (const graph::Role role = graph.value(value).role;
            role == graph::Role::input || role == graph::Role::intermediate)
          bytes += graph.value(value).type.bytes();
      return bytes;
    };
    if (const std::int64_t bytes = std::max(together(node.inputs), together(node.outputs));
        bytes > free_bytes)
      fail(ErrorKind::device, "{}: out of memory: {} asked by {} '{}' alone, {} free", device.name(),
           format_bytes(bytes), node.op->name, node.name, format_bytes(free_bytes));
  }
}

// Small buffers get memory of their own, because steps that share memory must wait for each other.
bool has_room_unshared(const CompiledStep& step, const CompileOptions& options) {
  constexpr std::size_t kPartOfFree = 4;
  const std::size_t slab = step.plan.unshared_slab_bytes();
  if (slab > step.device->free_bytes() / kPartOfFree) return false;
  return options.limit_bytes == 0 ||
         counted_bytes(step.plan, options) - step.plan.bytes(Region::slab) + slab <= options.limit_bytes;
}

// The passes behind fusion. The steps of the nodes `again` are marked.
void finish(CompiledStep& step, const graph::Graph& fused, const Dropped& again,
            const backend::Backend& backend, const CompileOptions& options) {
  const int lanes = step.device->lanes();
  step.graph = std::make_unique<const graph::Graph>(
      verified(live_nodes(lanes > 1 ? verified(split_update(fused)) : fused)));
  check_memory(*step.graph, *step.device);
  choose_kernels(step, backend, options);
  for (Step& each : step.plan.steps)
    if (!each.is_reorder() && !again.empty())
      if (const std::vector<graph::ValueId>& made = step.graph->node(each.node).outputs; !made.empty())
        each.recomputed = again.contains(made.front());
  if (options.keep_gradients) finish_gradients_early(step);
  place_buffers(step);
  if (lanes <= 1) return;
  if (has_room_unshared(step, options)) place_buffers(step, false);
  assign_lanes(step, lanes);
}

}  // namespace

CompiledStep compile(const graph::Graph& graph, const backend::Backend& backend,
                     const CompileOptions& options) {
  CompiledStep step;
  step.device = backend.device();
  step.plan.backend = backend.name();
  step.plan.threads = thread_count();
  graph::Graph fused = options.precision == backend::Precision::bf16 ? verified(lower_to_bf16(graph)) : graph;
  if (options.fuse) {
    fused = verified(fuse(fused, backend, step.plan.fusions));
    fused = verified(fuse_chains(fused, backend, step.plan.fusions));
    if (!options.keep_gradients) fused = verified(fuse_updates(fused, backend, step.plan.fusions));
    // Where memory is limited, a norm by itself can run again without the sum that it reads.
    fused = verified(fuse_streams(fused, backend, options.limit_bytes == 0, step.plan.fusions));
  }
  fused = verified(live_nodes(fused));
  const auto make = [&](const graph::Graph& changed, const Dropped& again) {
    CompiledStep made;
    made.device = step.device;
    made.plan = step.plan;
    finish(made, changed, again, backend, options);
    return made;
  };
  CompiledStep whole = make(fused, {});
  return options.limit_bytes == 0 ? std::move(whole) : fit_to_limit(fused, std::move(whole), options, make);
}

std::map<std::string, Layout> persistent_layouts(const StepPlan& plan) {
  std::map<std::string, Layout> layouts;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.region == Region::parameters || buffer.region == Region::statistics ||
        buffer.region == Region::optimizer_state)
      layouts[buffer.name] = buffer.layout;
  return layouts;
}

namespace {

using backend::Candidate;
using backend::KernelRequest;

// The key holds everything that the time of a node's kernels depends on.
std::string looks_of(const std::vector<const Candidate*>& accepted, const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  std::string text = node.node().op->describe == nullptr ? "" : node.node().op->describe(node);
  for (const Candidate* candidate : accepted) text += fmt::format("|{}", candidate->name);
  for (int i = 0; i < node.inputs(); ++i)
    text += fmt::format("|{} {}", node.input(i).type.to_string(), request.input_or_plain(i).to_string());
  for (int o = 0; o < node.outputs(); ++o) text += fmt::format("|{}", node.output(o).type.to_string());
  return text;
}

}  // namespace

const Candidate* FastestCandidate::find(const std::vector<const Candidate*>& accepted,
                                        const KernelRequest& request, std::vector<Declined>& declined) {
  if (accepted.size() == 1) return accepted.front();
  try {
    const std::vector<double>& seconds = measured(accepted, request);
    const auto best = std::min_element(seconds.begin(), seconds.end());
    const auto winner = static_cast<std::size_t>(best - seconds.begin());
    for (std::size_t i = 0; i < accepted.size(); ++i)
      if (i != winner)
        declined.push_back(
            {accepted[i]->name,
             fmt::format("slower: {} against {}", format_seconds(seconds[i]), format_seconds(*best))});
    return accepted[winner];
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::device) throw;
    for (std::size_t i = 1; i < accepted.size(); ++i)
      declined.push_back({accepted[i]->name, fmt::format("not measured: {}", error.what())});
    return accepted.front();
  }
}

const std::vector<double>& FastestCandidate::measured(const std::vector<const Candidate*>& accepted,
                                                      const KernelRequest& request) {
  const std::string looks = looks_of(accepted, request);
  if (const auto known = seconds_.find(looks); known != seconds_.end()) return known->second;
  std::vector<double> seconds = backend_.kept_seconds(looks);
  if (seconds.size() == accepted.size()) return seconds_[looks] = std::move(seconds);
  seconds.clear();
  double best = backend::kNeverHopeless;
  for (const Candidate* candidate : accepted) {
    const auto kernel = candidate->make(request);
    seconds.push_back(
        backend::measure_kernel(backend_.device(), request.node, *kernel, backend::hopeless_against(best)));
    best = std::min(best, seconds.back());
  }
  backend_.keep_seconds(looks, seconds);
  return seconds_[looks] = std::move(seconds);
}

std::string declined(const graph::Graph& graph, const graph::Node& node, const backend::Backend& backend) {
  const std::shared_ptr<backend::Device> device = backend.device();
  const backend::KernelRequest request{{graph, node},
                                       device.get(),
                                       std::vector<std::optional<Layout>>(node.inputs.size()),
                                       std::vector<std::optional<Layout>>(node.outputs.size())};
  std::string reason = "the backend has no kernel for it";
  for (const backend::Candidate& candidate : backend.candidates()) {
    const std::string_view name = candidate.name;
    if (candidate.op != node.op || name.starts_with("reference:") || name.ends_with("_plain")) continue;
    const backend::Decision decision = candidate.accept(request);
    if (decision.accepted()) return "";
    reason = decision.reason;
  }
  return reason;
}

graph::Graph live_nodes(const graph::Graph& graph) {
  std::vector<bool> needed(graph.values().size(), false);
  for (const graph::ValueId output : graph.outputs()) needed[static_cast<std::size_t>(output)] = true;
  std::vector<graph::Node> kept;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool makes_needed =
        std::any_of(node->outputs.begin(), node->outputs.end(),
                    [&](graph::ValueId output) { return needed[static_cast<std::size_t>(output)]; });
    // A node that changes state is wanted for that, not only for its outputs.
    if (!makes_needed && graph::mutated_inputs({graph, *node}).empty()) continue;
    for (const graph::ValueId input : node->inputs) needed[static_cast<std::size_t>(input)] = true;
    kept.push_back(*node);
  }
  std::reverse(kept.begin(), kept.end());
  graph::Graph result = graph;
  result.replace_nodes(std::move(kept));
  return result;
}

}  // namespace trainyard::plan

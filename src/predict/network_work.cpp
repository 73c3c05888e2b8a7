#include "predict/network_work.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "graph/analysis.h"
#include "graph/op_def.h"
#include "networks/model.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "ops/update.h"
#include "predict/live_bytes.h"

namespace trainyard::predict {
namespace {

using graph::Category;
using graph::Graph;
using graph::Node;
using graph::NodeView;

double elements(const Shape& shape) { return static_cast<double>(shape.elements()); }
double bytes(const graph::Value& value) { return static_cast<double>(value.type.bytes()); }

KernelKind kind_of(Category category) {
  switch (category) {
    case Category::gemm:
    case Category::conv:
    case Category::rnn:
      return KernelKind::product;
    case Category::norm:
      return KernelKind::norm;
    case Category::pool:
      return KernelKind::pool;
    case Category::copy:
      return KernelKind::copy;
    default:
      return KernelKind::elementwise;
  }
}

// Adds kernels, and counts those that are alike once.
class KernelList {
 public:
  void add(const KernelWork& kernel) {
    const auto key =
        std::tuple(kernel.kind, kernel.bytes, kernel.flops, kernel.rows, kernel.columns, kernel.inner,
                   kernel.window, kernel.strided, kernel.of_weight, kernel.dense, kernel.groups);
    const auto [at, fresh] = positions_.try_emplace(key, kernels_.size());
    if (fresh)
      kernels_.push_back(kernel);
    else
      kernels_[at->second].count += kernel.count;
  }
  std::vector<KernelWork> take() { return std::move(kernels_); }

 private:
  std::vector<KernelWork> kernels_;
  std::map<std::tuple<KernelKind, double, double, double, double, double, double, bool, bool, bool, double>,
           std::size_t>
      positions_;
};

void describe_convolution(const ops::Conv2dAttrs& attrs, KernelWork& kernel) {
  const ops::Window2d& window = attrs.window;
  kernel.window = static_cast<double>(window.area());
  kernel.strided = window.stride_h * window.stride_w > 1 || window.kernel_h != window.kernel_w;
  kernel.groups = static_cast<double>(attrs.groups);
}

// rows x columns results, each a sum over `inner`: what a product of matrices would be.
void describe_product(const NodeView& view, KernelWork& kernel) {
  const Node& node = view.node();
  const Shape &first = view.input_shape(0), &out = view.output_shape(0);
  const auto rows_and_columns = [&](double rows, double columns) {
    kernel.rows = rows;
    kernel.columns = columns;
    kernel.inner = kernel.flops / 2 / rows / columns / kernel.groups;
  };
  if (node.op == &ops::conv2d_op || node.op == &ops::conv2d_d_src_op) {
    describe_convolution(
        node.op == &ops::conv2d_op ? view.attrs<ops::Conv2dAttrs>() : view.attrs<ops::Conv2dGradAttrs>().conv,
        kernel);
    const double channels = static_cast<double>(out[1]);
    rows_and_columns(elements(out) / channels, channels / kernel.groups);
  } else if (node.op == &ops::conv2d_d_weight_op) {
    describe_convolution(view.attrs<ops::Conv2dGradAttrs>().conv, kernel);
    kernel.of_weight = true;
    rows_and_columns(static_cast<double>(out[0]) / kernel.groups, static_cast<double>(out.elements_from(1)));
  } else {
    kernel.dense = true;
    kernel.of_weight = node.op == &ops::dense_d_weight_op;
    const double rows = static_cast<double>(kernel.of_weight ? out[0] : first[0]);
    rows_and_columns(rows, elements(out) / rows);
  }
}

void add_kernels(const NodeView& view, KernelList& kernels) {
  const Node& node = view.node();
  const graph::Cost cost = node.op->cost(view);
  KernelWork kernel{.kind = kind_of(node.op->category),
                    .bytes = static_cast<double>(cost.bytes_moved),
                    .flops = static_cast<double>(cost.flops)};
  if (kernel.kind == KernelKind::product && kernel.flops > 0)
    describe_product(view, kernel);
  else
    kernel.flops = 0;
  kernels.add(kernel);
  // A bias is added, and its gradient summed, by a kernel of its own.
  const bool layer = node.op == &ops::conv2d_op || node.op == &ops::dense_op;
  if (layer && view.inputs() == 3) kernels.add({.bytes = 2 * bytes(view.output(0))});
  const bool of_weight = node.op == &ops::conv2d_d_weight_op || node.op == &ops::dense_d_weight_op;
  if (of_weight && view.outputs() == 2) kernels.add({.bytes = bytes(view.input(0))});
}

}  // namespace

double NetworkWork::launches() const {
  double sum = 0;
  for (const KernelWork& kernel : kernels) sum += kernel.count;
  return sum;
}

NetworkWork work_of(const Graph& graph, std::int64_t batch) {
  NetworkWork work{.batch = batch};
  KernelList kernels;
  for (const Node& node : graph.nodes()) {
    const NodeView view(graph, node);
    if (node.phase == graph::Phase::update) continue;
    add_kernels(view, kernels);
    double touched = 0;
    for (int i = 0; i < view.inputs(); ++i)
      if (view.input(i).role != graph::Role::parameter) touched += bytes(view.input(i));
    for (int i = 0; i < view.outputs(); ++i)
      if (!(node.phase == graph::Phase::backward && i > 0)) touched += bytes(view.output(i));
    work.largest_kernel_bytes = std::max(work.largest_kernel_bytes, touched);
  }
  work.kernels = kernels.take();
  work.forward_flops = static_cast<double>(graph::total_cost(graph, graph::Phase::forward).flops);
  work.flops = static_cast<double>(graph::total_cost(graph).flops);
  for (const graph::Value& value : graph.values()) {
    if (value.role == graph::Role::input) work.input_bytes += bytes(value);
    if (value.role == graph::Role::parameter) {
      work.variables += 1;
      work.parameters += elements(value.type.shape);
    }
    if (value.role == graph::Role::optimizer_state) work.state_slots += elements(value.type.shape);
  }
  if (work.parameters > 0) work.state_slots /= work.parameters;
  const LiveBytes live = live_bytes(graph);
  work.saved_bytes = static_cast<double>(live.saved);
  work.peak_live_bytes = static_cast<double>(live.peak);
  return work;
}

NetworkWork work_of(const WorkOptions& options) {
  networks::Model model = networks::build_model({.network = options.network,
                                                 .batch = options.batch,
                                                 .classes = options.classes,
                                                 .input = options.input,
                                                 .parameters = options.parameters});
  networks::add_training_step(model, {.rule = options.optimizer});
  return work_of(model.graph, options.batch);
}

}  // namespace trainyard::predict

#include "predict/runs/graph_work.h"

#include "base/text.h"
#include "interchange/graph_def.h"
#include "interchange/read_graph.h"
#include "networks/zoo/network_files.h"

namespace trainyard::predict {
namespace {

using interchange::ExchangeGraph;
using interchange::OpInput;
using interchange::OpNode;
using interchange::TensorSpec;

// Ops that hold, name or view values, and those that prepare a run. They take no time of a step.
constexpr std::string_view kIdle[] = {"Const",
                                      "Placeholder",
                                      "Variable",
                                      "VarHandleOp",
                                      "ReadVariableOp",
                                      "Identity",
                                      "StopGradient",
                                      "PreventGradient",
                                      "NoOp",
                                      "Assert",
                                      "Shape",
                                      "Reshape",
                                      "Squeeze",
                                      "ExpandDims",
                                      "Pack",
                                      "StridedSlice",
                                      "BroadcastGradientArgs",
                                      "ConcatOffset",
                                      "Rank",
                                      "Range",
                                      "Assign",
                                      "TruncatedNormal",
                                      "Random",
                                      "Fill",
                                      "Save",
                                      "Restore",
                                      "MergeV2",
                                      "Merge",
                                      "Switch",
                                      "ControlTrigger",
                                      "IsVariableInitialized"};
constexpr std::string_view kNorms[] = {"BatchNorm", "LRN"};
constexpr std::string_view kCopies[] = {"Concat", "Split", "Slice", "Pad", "Transpose", "Tile", "Gather"};
constexpr std::string_view kProducts[] = {"Conv", "MatMul", "Gemm", "Einsum", "LSTM", "GRU", "RNN"};

template <std::size_t kCount>
bool begins(const std::string& type, const std::string_view (&words)[kCount]) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return type.starts_with(word); });
}

template <std::size_t kCount>
bool holds(const std::string& type, const std::string_view (&words)[kCount]) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return type.find(word) != std::string::npos; });
}

bool updates(const OpNode& op) {
  return op.type.starts_with("Apply") || op.type.starts_with("ResourceApply");
}
bool goes_back(const OpNode& op) {
  return op.type.find("Grad") != std::string::npos || op.type.find("Backprop") != std::string::npos;
}

KernelKind kind_of(const OpNode& op) {
  if (op.flops > 0) return KernelKind::product;
  if (holds(op.type, kNorms)) return KernelKind::norm;
  if (op.type.find("Pool") != std::string::npos) return KernelKind::pool;
  return holds(op.type, kCopies) ? KernelKind::copy : KernelKind::elementwise;
}

std::string attribute(const OpNode& op, std::string_view name) {
  for (const auto& [key, value] : op.attributes)
    if (key == name) return value;
  return "";
}

void refuse_unknown(const NetworkWork& work, bool products, const std::string& who) {
  if (!products && work.unknown_share <= kMostUnknown) return;
  fail(ErrorKind::unsupported,
       "{}: the work of {:.1f} % of its ops is not known ({}){}; a prediction wants at most {:.0f} % and no "
       "product",
       who, 100 * work.unknown_share, joined(work.unknown_ops, ", "),
       products ? ", products of matrices among them" : "", 100 * kMostUnknown);
}

class GraphWork {
 public:
  GraphWork(const ExchangeGraph& graph, std::int64_t batch, const std::string& who)
      : graph_(graph), who_(who), needed_(graph.nodes.size(), false) {
    work_.batch = batch;
  }

  NetworkWork take() && {
    find_needed();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (needed_[i]) add(graph_.nodes[i]);
    judge_unknown();
    follow_memory();
    if (work_.parameters > 0) work_.state_slots /= work_.parameters;
    return std::move(work_);
  }

 private:
  const TensorSpec* source(const OpInput& input) const {
    const std::vector<TensorSpec>& outputs = graph_.nodes[static_cast<std::size_t>(input.node)].outputs;
    const auto output = static_cast<std::size_t>(input.output);
    return !input.control && output < outputs.size() ? &outputs[output] : nullptr;
  }

  // A step runs what its updates wait for. A graph without updates is run as a whole.
  void find_needed() {
    std::vector<int> open;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (updates(graph_.nodes[i])) open.push_back(static_cast<int>(i));
    if (open.empty()) needed_.assign(needed_.size(), true);
    while (!open.empty()) {
      const auto node = static_cast<std::size_t>(open.back());
      open.pop_back();
      if (needed_[node]) continue;
      needed_[node] = true;
      for (const OpInput& input : graph_.nodes[node].inputs) open.push_back(input.node);
    }
    work_.forward_only = std::none_of(graph_.nodes.begin(), graph_.nodes.end(),
                                      [](const OpNode& op) { return updates(op) || goes_back(op); });
  }

  void add(const OpNode& op) {
    if (op.parameters > 0) {
      work_.variables += 1;
      work_.parameters += static_cast<double>(op.parameters);
    }
    if (op.type.starts_with("Placeholder"))
      for (const TensorSpec& output : op.outputs) work_.input_bytes += static_cast<double>(output.bytes());
    if (updates(op)) return add_update(op);
    if (begins(op.type, kIdle)) return;
    ops_ += 1;
    const bool sized =
        !op.outputs.empty() && std::all_of(op.outputs.begin(), op.outputs.end(),
                                           [](const TensorSpec& one) { return one.elements().has_value(); });
    const bool is_product = holds(op.type, kProducts);
    if (is_product && op.flops == 0) ++unknown_products_[op.type];
    if (!interchange::tensorflow::has_formula(op.type) || !sized || (is_product && op.flops == 0))
      ++unknown_[op.type];
    if (op.bytes_moved == 0) return;
    add_kernel(op);
  }

  // Slots of the optimizer are variables that it reads beside the one that it updates.
  void add_update(const OpNode& op) {
    const TensorSpec* variable = op.inputs.empty() ? nullptr : source(op.inputs[0]);
    if (variable == nullptr) return;
    const double slots = op.type.ends_with("Adam") || op.type.ends_with("RMSProp") ? 2
                         : op.type.ends_with("Momentum")                           ? 1
                                                                                   : 0;
    work_.state_slots += slots * static_cast<double>(variable->elements().value_or(0));
  }

  void add_kernel(const OpNode& op) {
    KernelWork kernel{.kind = kind_of(op), .bytes = static_cast<double>(op.bytes_moved)};
    if (kernel.kind == KernelKind::product) describe_product(op, kernel);
    work_.flops += static_cast<double>(op.flops);
    if (!goes_back(op)) work_.forward_flops += static_cast<double>(op.flops);
    work_.largest_kernel_bytes = std::max(work_.largest_kernel_bytes, kernel.bytes);
    work_.kernels.push_back(kernel);
  }

  // The equivalent product of matrices: rows x columns results, each a sum over `inner`.
  void describe_product(const OpNode& op, KernelWork& kernel) const {
    kernel.flops = static_cast<double>(op.flops);
    const TensorSpec& out = op.outputs[0];
    const bool is_image = out.dims.size() == 4;
    const bool is_filter = op.type.find("BackpropFilter") != std::string::npos;
    kernel.of_weight = is_filter;
    kernel.dense = !is_image;
    // Filters are (rows, columns, input channels, output channels).
    const TensorSpec* filter = is_filter || op.inputs.size() < 2 ? nullptr : source(op.inputs[1]);
    const std::vector<std::int64_t>& window = filter != nullptr ? filter->dims : out.dims;
    if (is_image && (is_filter || filter != nullptr) && window.size() == 4) {
      kernel.window = static_cast<double>(window[0] * window[1]);
      kernel.strided =
          window[0] != window[1] || attribute(op, "strides").find_first_not_of("1,") != std::string::npos;
    }
    const bool channels_first = attribute(op, "data_format").starts_with("NC");
    const auto channels = static_cast<double>(out.dims.empty()                           ? 1
                                              : is_image && channels_first && !is_filter ? out.dims[1]
                                                                                         : out.dims.back());
    const double results = static_cast<double>(out.elements().value_or(1));
    kernel.columns = std::max(is_filter ? results / channels : channels, 1.0);
    kernel.rows = std::max(results / kernel.columns, 1.0);
    kernel.inner = std::max(kernel.flops / 2 / results, 1.0);
  }

  void judge_unknown() {
    double count = 0;
    for (const auto& [type, ops] : unknown_) {
      work_.unknown_ops.push_back(fmt::format("{} {}", type, ops));
      count += ops;
    }
    if (ops_ > 0) work_.unknown_share = count / ops_;
    refuse_unknown(work_, !unknown_products_.empty(), who_);
    if (work_.kernels.empty())
      fail(ErrorKind::unsupported, "{}: none of its ops has work that is known", who_);
  }

  // Each value is freed after its last reader.
  void follow_memory() {
    std::vector<int> readers(graph_.nodes.size(), 0);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const OpInput& input : graph_.nodes[i].inputs)
        if (needed_[i] && !input.control) ++readers[static_cast<std::size_t>(input.node)];
    const auto bytes_of = [&](const OpNode& op) {
      double bytes = 0;
      for (const TensorSpec& output : op.outputs) bytes += static_cast<double>(output.bytes());
      return begins(op.type, kIdle) || updates(op) ? 0.0 : bytes;
    };
    double live = 0;
    bool back = false;
    for (const int index : interchange::topological_order(graph_)) {
      const auto i = static_cast<std::size_t>(index);
      const OpNode& op = graph_.nodes[i];
      if (!needed_[i]) continue;
      if (goes_back(op) && !std::exchange(back, true)) work_.saved_bytes = live;
      live += bytes_of(op);
      work_.peak_live_bytes = std::max(work_.peak_live_bytes, live);
      for (const OpInput& input : op.inputs) {
        const auto from = static_cast<std::size_t>(input.node);
        if (!input.control && --readers[from] == 0) live -= bytes_of(graph_.nodes[from]);
      }
    }
  }

  const ExchangeGraph& graph_;
  const std::string& who_;
  NetworkWork work_;
  std::vector<bool> needed_;
  std::map<std::string, int> unknown_, unknown_products_;  // by type
  double ops_ = 0;
};

// Ops that are ours have the work of our graph, into which others enter as inputs that they make.
NetworkWork work_of_onnx(const interchange::OnnxNetwork& network, std::int64_t batch,
                         const std::string& who) {
  NetworkWork work = work_of(network.graph, batch);
  work.forward_only = true;
  double unknown = 0;
  for (const interchange::Obstacle& obstacle : network.obstacles) {
    work.unknown_ops.push_back(fmt::format("{} {}", obstacle.type, obstacle.nodes));
    unknown += static_cast<double>(obstacle.nodes);
  }
  const auto is_foreign = [&](const OpNode& op) {
    return std::any_of(
        network.obstacles.begin(), network.obstacles.end(),
        [&](const interchange::Obstacle& obstacle) { return op.type.ends_with(obstacle.type); });
  };
  bool products = false;
  for (const OpNode& op : network.exchange.nodes) {
    if (!is_foreign(op)) continue;
    for (const TensorSpec& output : op.outputs) work.input_bytes -= static_cast<double>(output.bytes());
    products = products || holds(op.type, kProducts);
    work.kernels.push_back({.bytes = static_cast<double>(op.bytes_moved)});
  }
  const auto all = static_cast<double>(network.exchange.nodes.size());
  work.unknown_share = all > 0 ? unknown / all : 1;
  refuse_unknown(work, products, who);
  return work;
}

}  // namespace

bool names_graph_file(std::string_view name) {
  const auto format = interchange::format_of(name);
  return format == interchange::Format::onnx || format == interchange::Format::graph_def;
}

bool is_foreign_graph(const std::string& network) {
  if (!names_graph_file(network)) return false;
  if (interchange::format_of(network) != interchange::Format::onnx) return true;
  try {
    const auto file = networks::network_file(network);
    return file == nullptr || !file->obstacle.empty();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported) return true;
    throw;
  }
}

NetworkWork work_of_file(const std::string& network, std::int64_t batch) {
  const std::string who = fmt::format("'{}'", network);
  const interchange::GraphFile file =
      interchange::read_graph_file(network, {.batch = batch, .training = false});
  return file.network ? work_of_onnx(*file.network, batch, who) : work_of(file.graph, batch, who);
}

NetworkWork work_of(const ExchangeGraph& graph, std::int64_t batch, const std::string& who) {
  return GraphWork(graph, batch, who).take();
}

}  // namespace trainyard::predict

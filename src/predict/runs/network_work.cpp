#include "predict/runs/network_work.h"

#include <cctype>

#include "base/text.h"
#include "graph/autodiff.h"
#include "networks/zoo/network_files.h"
#include "ops/conv2d.h"
#include "ops/dense.h"
#include "predict/runs/graph_work.h"

namespace trainyard::predict {

// ImageNet is the part of it on which GPUAlloc's published campaign trained.
const std::vector<DataSetSheet>& known_data_sets() {
  static const std::vector<DataSetSheet> known = {{"cifar10", 50000, 11, {3, 32, 32}},
                                                  {"cifar100", 50000, 101, {3, 32, 32}},
                                                  {"imagenet", 64058, 1001, {3, 224, 224}},
                                                  {"mnist", 60000, 11, {1, 28, 28}}};
  return known;
}

const DataSetSheet* find_data_set(std::string_view name) {
  const std::string wanted = squeezed(name);
  for (const DataSetSheet& sheet : known_data_sets())
    if (wanted == sheet.name) return &sheet;
  return nullptr;
}

std::string squeezed(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

namespace {

struct Alias {
  const char *squeezed, *network;
  std::int64_t side;  // of the input; 0: the network's own
};

// tf_cnn_benchmarks feeds AlexNet images of 227. The second version of residual blocks has the same layers in
// another order, so the first stands for it.
constexpr std::array kAliases = {
    Alias{"alexnet", "alexnet_v2", 227},
    Alias{"mobilenet", "mobilenet_v1", 0},
    Alias{"inceptionv1", "googlenet", 0},
    Alias{"inceptionv3", "inception3", 0},
    Alias{"inceptionv4", "inception4", 0},
    Alias{"inceptionresnet", "inception_resnet_v2", 0},
    Alias{"inceptionresnet2", "inception_resnet_v2", 0},
    Alias{"lenet5", "lenet", 0},
    Alias{"densenet40", "densenet40_k12", 0},
    Alias{"densenet100", "densenet100_k12", 0},
};

// tf_cnn_benchmarks has other networks under these names where images are small.
constexpr std::array kSmallAliases = {
    Alias{"alexnet", "cifarnet", 0},
    Alias{"trivial", "trivial", 0},
};

constexpr std::array<std::string_view, 7> kSuffixes = {"cifar100",  "cifar10", "cifar", "imagenet",
                                                       "synthetic", "model",   "v15"};

bool drop_suffix(std::string& name, std::string_view suffix) {
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return false;
  name.resize(name.size() - suffix.size());
  return true;
}

// tf_cnn_benchmarks gives a network images of one size, whatever the data set. Images of other channels,
// which it does not have, come to a network of small images as they are.
Shape input_of(const networks::NetworkInfo& info, const DataSetSheet* data) {
  const bool takes_images = info.generator == nullptr && info.input.rank() == 3;
  if (data == nullptr || !data->has_small_images() || !takes_images ||
      info.input[1] > DataSetSheet::kLargestSmallSide || info.input[0] == data->image[0])
    return {};
  return data->image;
}

std::optional<NamedNetwork> look_up(const std::string& name, const DataSetSheet* data) {
  if (data != nullptr && data->has_small_images())
    for (const Alias& alias : kSmallAliases)
      if (name == alias.squeezed) return NamedNetwork{alias.network, data->image};
  for (const Alias& alias : kAliases)
    if (name == alias.squeezed)
      return NamedNetwork{alias.network, alias.side == 0
                                             ? input_of(networks::find_network(alias.network), data)
                                             : Shape{3, alias.side, alias.side}};
  for (const networks::NetworkInfo& info : networks::all_networks())
    if (squeezed(info.name) == name) return NamedNetwork{info.name, input_of(info, data)};
  return std::nullopt;
}

// Drops a word behind the network's name, and notes the data set that it names.
bool drop_suffix(std::string& name, const DataSetSheet*& data) {
  for (const std::string_view suffix : kSuffixes) {
    if (!drop_suffix(name, suffix)) continue;
    if (const DataSetSheet* named = find_data_set(suffix == "cifar" ? "cifar10" : suffix)) data = named;
    return true;
  }
  return false;
}

}  // namespace

std::optional<NamedNetwork> find_named_network(std::string_view given, std::string_view data_set) {
  if (networks::names_network_file(given) || names_graph_file(given)) return NamedNetwork{std::string(given)};
  const DataSetSheet* data = find_data_set(data_set);
  std::string name = squeezed(given);
  if (auto found = look_up(name, data)) return found;
  while (drop_suffix(name, data))
    if (auto found = look_up(name, data)) return found;
  if (name.starts_with("resnet") && (drop_suffix(name, "v1") || drop_suffix(name, "v2")))
    return look_up(name, data);
  return std::nullopt;
}

NamedNetwork named_network(std::string_view given, std::string_view data_set) {
  if (auto found = find_named_network(given, data_set)) return *found;
  std::vector<std::string> names;
  for (const networks::NetworkInfo& info : networks::all_networks()) names.push_back(info.name);
  fail(ErrorKind::config, "unknown network '{}'{}; `trainyard networks` lists those that are known", given,
       did_you_mean(given, names));
}

namespace {

using graph::Graph;
using graph::Node;
using graph::Role;
using graph::Value;
using graph::ValueId;

constexpr int kNever = -1;

bool is_gradient_of_parameter(const Graph& graph, const Value& value) {
  return value.gradient_of != graph::kNone && graph.value(value.gradient_of).role == Role::parameter;
}

std::vector<int> last_readers(const Graph& graph) {
  std::vector<int> last(graph.values().size(), kNever);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    for (const ValueId id : graph.nodes()[n].inputs) last[static_cast<std::size_t>(id)] = static_cast<int>(n);
  for (const ValueId id : graph.outputs())
    last[static_cast<std::size_t>(id)] = static_cast<int>(graph.nodes().size());
  return last;
}

// The bytes of the output take over those of the input that its node may overwrite.
bool overwrites(const Graph& graph, const Node& node, const std::vector<int>& last, int position) {
  if (node.op->category != graph::Category::elementwise || node.outputs.size() != 1) return false;
  const std::int64_t bytes = graph.value(node.outputs[0]).type.bytes();
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
    const Value& input = graph.value(id);
    return input.role == Role::intermediate && input.type.bytes() == bytes &&
           last[static_cast<std::size_t>(id)] == position;
  });
}

}  // namespace

LiveBytes live_bytes(const Graph& graph) {
  const std::vector<int> last = last_readers(graph);
  LiveBytes result;
  std::int64_t live = 0;
  bool backward = false;
  const auto counts = [&](ValueId id) {
    const Value& value = graph.value(id);
    return value.role == Role::intermediate && !is_gradient_of_parameter(graph, value);
  };
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const int position = static_cast<int>(n);
    if (node.phase == graph::Phase::backward && !backward) {
      backward = true;
      result.saved = live;
    }
    // Outputs exist before the inputs are freed, except the one that is overwritten.
    std::int64_t made = 0, freed = 0;
    for (const ValueId id : node.outputs) {
      const std::int64_t bytes = graph.value(id).type.bytes();
      if (is_gradient_of_parameter(graph, graph.value(id))) result.gradients += bytes;
      if (counts(id)) made += bytes;
      if (counts(id) && last[static_cast<std::size_t>(id)] == kNever) freed += bytes;
    }
    std::vector<ValueId> inputs = node.inputs;
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    for (const ValueId id : inputs)
      if (counts(id) && last[static_cast<std::size_t>(id)] == position) freed += graph.value(id).type.bytes();
    const std::int64_t over = overwrites(graph, node, last, position) ? made : 0;
    result.peak = std::max(result.peak, live + made - over);
    live += made - freed;
  }
  return result;
}

namespace {

using graph::Category;
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

// KernelList adds kernels, and counts equal ones once.
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

// Describes the equivalent product of matrices: rows x columns results, each a sum over `inner`.
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
  // A separate kernel adds a bias, and sums its gradient.
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

networks::Model training_model(const WorkOptions& options) {
  if (is_foreign_graph(options.network))
    fail(ErrorKind::unsupported,
         "'{}': this kind of model predicts networks that train here; one of first principles predicts any "
         "graph",
         options.network);
  const NamedNetwork named = named_network(options.network);
  networks::ModelOptions wanted{.network = named.network,
                                .batch = options.batch,
                                .classes = options.classes,
                                .input = options.input.rank() == 0 ? named.input : options.input,
                                .parameters = options.parameters};
  if (const auto file = networks::imported_file(named.network))
    networks::give_classes(*file, options.classes, wanted);
  networks::Model model = networks::build_model(wanted);
  networks::add_training_step(model, {.rule = options.optimizer});
  return model;
}

NetworkWork work_of(const WorkOptions& options) {
  if (is_foreign_graph(options.network)) return work_of_file(options.network, options.batch);
  return work_of(training_model(options).graph, options.batch);
}

WorkKey key_of(const WorkOptions& options) {
  return {options.network,           options.batch,     options.classes,
          options.input.to_string(), options.optimizer, options.parameters};
}

const NetworkWork& WorkCache::work(const WorkOptions& options) {
  const WorkKey key = key_of(options);
  const auto at = works_.find(key);
  return at != works_.end() ? at->second : works_.emplace(key, work_of(options)).first->second;
}

}  // namespace trainyard::predict

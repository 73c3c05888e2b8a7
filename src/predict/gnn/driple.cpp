#include "predict/gnn/driple.h"

namespace trainyard::predict {
namespace {

struct Row {
  const char *theirs, *ours;
  bool transposed = false;  // (inputs, outputs) there
};
constexpr Row kRows[] = {
    {"conv_layers.0.W", "conv0/weight", true},
    {"conv_layers.0.b", "conv0/bias"},
    {"conv_layers.1.W", "conv1/weight", true},
    {"conv_layers.1.b", "conv1/bias"},
    {"gru.gru.weight_ih_l0", "gru/weight"},
    {"gru.gru.weight_hh_l0", "gru/recurrent_weight"},
    {"gru.gru.bias_ih_l0", "gru/bias"},
    {"gru.gru.bias_hh_l0", "gru/recurrent_bias"},
    {"graph_read_out.set2set.lstm.weight_ih_l0", "set2set/weight"},
    {"graph_read_out.set2set.lstm.weight_hh_l0", "set2set/recurrent_weight"},
    {"graph_read_out.set2set.lstm.bias_ih_l0", "set2set/bias"},
    {"graph_read_out.set2set.lstm.bias_hh_l0", "set2set/recurrent_bias"},
    {"graph_read_out.mlp.fully_connected.0.linear.weight", "mlp0/weight"},
    {"graph_read_out.mlp.fully_connected.0.linear.bias", "mlp0/bias"},
    {"graph_read_out.mlp.fully_connected.1.linear.weight", "mlp1/weight"},
    {"graph_read_out.mlp.fully_connected.1.linear.bias", "mlp1/bias"},
    {"graph_read_out.mlp.fully_connected.2.linear.weight", "mlp2/weight"},
    {"graph_read_out.mlp.fully_connected.2.linear.bias", "mlp2/bias"},
};

NamedTensor named_tensor(const weights::Tensor& from, const std::string& who) {
  if (!weights::is_float(from.element) || from.dims.size() > static_cast<std::size_t>(Shape::kMaxRank))
    fail(ErrorKind::config, "'{}': tensor '{}' is {}, wants floats of at most {} dimensions", who, from.name,
         from.to_string(), Shape::kMaxRank);
  NamedTensor made{from.name, {}, {}};
  for (const std::int64_t dim : from.dims) made.shape.append(dim);
  for (const double number : weights::numbers_of(from)) made.numbers.push_back(static_cast<float>(number));
  return made;
}

NamedTensor transposed(const NamedTensor& tensor) {
  const std::int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  NamedTensor made{tensor.name, {columns, rows}, std::vector<float>(tensor.numbers.size())};
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      made.numbers[static_cast<std::size_t>(c * rows + r)] =
          tensor.numbers[static_cast<std::size_t>(r * columns + c)];
  return made;
}

}  // namespace

GnnModel import_driple(const std::vector<weights::Tensor>& state_dict, const std::string& who) {
  ModelFile file{kGraphModelSchema, {}, {}};
  for (const weights::Tensor& given : state_dict) {
    const NamedTensor tensor = named_tensor(given, who);
    const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                   [&](const Row& one) { return tensor.name == one.theirs; });
    if (row == std::end(kRows))
      fail(ErrorKind::config, "'{}': tensor '{}' is none of Driple's", who, tensor.name);
    file.tensors.push_back(row->transposed && tensor.shape.rank() == 2 ? transposed(tensor) : tensor);
    file.tensors.back().name = row->ours;
  }
  Architecture architecture;
  for (const NamedTensor& tensor : file.tensors) {
    if (tensor.name == "conv0/weight" && tensor.shape.rank() == 2) {
      architecture.hidden = tensor.shape[0];
      architecture.features = tensor.shape[1];
    }
    if (tensor.name == "mlp2/bias" && tensor.shape.rank() == 1) architecture.outputs = tensor.shape[0];
  }
  check_architecture(architecture);
  for (const Settings& settings : {to_settings(architecture), to_settings(no_scaling(architecture))})
    file.settings.insert(file.settings.end(), settings.begin(), settings.end());
  return parse_model(file, who);
}

bool DripleUse::within_learned() const {
  const auto within = [](double share) { return share >= 0 && share <= 1; };
  return within(burst) && within(idle) && within(consumption);
}

namespace {

// In the order of the network's outputs, three a resource.
constexpr const char* kResources[] = {"gpu_util", "gpu_memory_util", "net_tx", "net_rx"};
constexpr std::int64_t kNumbers = 3;

GraphSample sample_of(const LegacyFeatures& features, const std::string& name) {
  GraphSample sample{.name = name, .family = name, .nodes = features.groups};
  for (const double feature : features.features) sample.features.push_back(static_cast<float>(feature));
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  for (int a = 0; a < features.groups; ++a)
    for (int b = a + 1; b < features.groups; ++b)
      if (features.adjacency[static_cast<std::size_t>(a * features.groups + b)] != 0)
        edges.emplace_back(a, b);
  set_undirected_edges(sample, edges);
  return sample;
}

}  // namespace

DriplePrediction predict_by_driple(const GnnModel& model, const interchange::ExchangeGraph& graph,
                                   const OpVocabulary& frequencies, const std::string& who) {
  constexpr auto kOutputs = static_cast<std::int64_t>(std::size(kResources)) * kNumbers;
  const Architecture& architecture = model.architecture;
  if (architecture.features != LegacyFeatures::kWidth || architecture.outputs != kOutputs)
    fail(ErrorKind::config, "'{}': a network of {} features and {} outputs; Driple's has {} and {}", who,
         architecture.features, architecture.outputs, LegacyFeatures::kWidth, kOutputs);
  const LegacyFeatures features = legacy_features(graph, frequencies, {.gpu_only = false});
  const std::vector<float> outputs = predict(model, {{sample_of(features, graph.name)}}).front();
  DriplePrediction made{.use = {}, .groups = features.groups, .unknown_ops = features.unknown_ops};
  for (std::size_t r = 0; r < std::size(kResources); ++r)
    made.use.push_back(
        {kResources[r], outputs[kNumbers * r], outputs[kNumbers * r + 1], outputs[kNumbers * r + 2]});
  return made;
}

}  // namespace trainyard::predict

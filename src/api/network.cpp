#include "trainyard/network.h"

#include "api/session_options.h"
#include "graph/autodiff.h"
#include "interchange/read_graph.h"
#include "networks/layers/described_network.h"

namespace trainyard {

std::vector<NetworkEntry> known_networks() {
  std::vector<NetworkEntry> entries;
  for (const networks::NetworkInfo& info : networks::all_networks()) {
    entries.push_back({info.name, info.family, info.description, {}});
    if (info.generator != nullptr)
      for (const networks::generator::Parameter& parameter : info.generator->parameters)
        entries.back().parameters.push_back(parameter.name);
  }
  return entries;
}

Network::Network(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

Network Network::named(const std::string& name, const std::map<std::string, std::string>& parameters,
                       int classes) {
  if (classes != 0) api::want_number("classes", classes);
  auto parts = std::make_shared<Parts>();
  parts->info = networks::find_network(name, parameters);
  networks::parameters_of(parts->info, parameters);  // refuses what is not allowed
  parts->model = {.network = name, .classes = classes, .parameters = parameters};
  return Network(std::move(parts));
}

Network Network::from_onnx(const std::filesystem::path& file) {
  auto parts = std::make_shared<Parts>();
  parts->file = interchange::read_trainable(file);
  if (!parts->file->obstacle.empty())
    fail(ErrorKind::unsupported, "'{}': cannot be trained: {}", file.string(), parts->file->obstacle);
  parts->info = parts->file->info;
  parts->info.name = file.stem().string();
  parts->model = {.network = parts->info.name, .imported = parts->file->build};
  return Network(std::move(parts));
}

Network Network::from_yaml(const std::filesystem::path& file,
                           const std::map<std::string, std::string>& parameters, int classes) {
  const std::string end = file.extension().string();
  if (std::find(networks::layers::kEnds.begin(), networks::layers::kEnds.end(), end) ==
      networks::layers::kEnds.end())
    fail(ErrorKind::usage, "'{}': the name of a file of layers ends with .yaml or .yml", file.string());
  networks::layers::know_described_networks();
  const networks::NetworkInfo& info = networks::find_network(file.string());
  if (classes == 0 && !info.reads_sequences()) classes = info.classes;
  return named(file.string(), parameters, classes);
}

const std::string& Network::name() const { return parts_->info.name; }

std::vector<std::int64_t> Network::input_shape() const {
  return {parts_->info.input.begin(), parts_->info.input.end()};
}

int Network::classes() const {
  return parts_->model.classes == 0 ? parts_->info.classes : parts_->model.classes;
}

bool Network::reads_sequences() const { return parts_->info.reads_sequences(); }

StepCost Network::step_cost(std::int64_t batch, bool training) const {
  networks::ModelOptions options = parts_->model;
  options.batch = batch;
  options.training = options.loss = training;
  networks::Model model = networks::build_model(options);
  if (training) networks::add_training_step(model, {});
  const graph::Cost cost = graph::total_cost(model.graph);
  return {graph::parameter_count(model.graph), cost.flops, cost.bytes_moved};
}

}  // namespace trainyard

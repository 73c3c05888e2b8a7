#include <nlohmann/json.hpp>

#include "base/error.h"
#include "predict/device_members.h"
#include "predict/gnn/run_model.h"
#include "predict/use_model_file.h"

namespace trainyard::predict {
namespace {

constexpr int kGraphRunVersion = 1;
constexpr double kMostRuns = 1e30, kMostStartSeconds = 1e6, kMostGroups = 100;
constexpr std::size_t kMostOpTypes = 1000, kMostSeen = 1000, kMostNetworkNames = 10000;

// Weights are f32, what belongs to the use of resources f64.
ModelFile network_in(const JsonMembers& members, const ModelContainer& container) {
  ModelFile file{kGraphModelSchema, members.object("network").all_texts(), {}};
  for (const ModelTensor& tensor : container.tensors)
    if (const std::vector<float>* numbers = tensor.as<float>())
      file.tensors.push_back({tensor.name, tensor.shape, *numbers});
  return file;
}

}  // namespace

ModelContainer to_container(const GraphRunModel& model) {
  const ModelContainer network = to_container(to_file(model.network));
  nlohmann::ordered_json devices = nlohmann::ordered_json::array();
  for (const GraphRunModel::SeenDevice& one : model.devices) {
    devices.push_back(nlohmann::ordered_json::parse(device_to_json(one.device)));
    devices.back()["start_seconds"] = one.start_seconds;
    devices.back()["runs"] = one.runs;
  }
  const nlohmann::ordered_json description{
      {"runs", model.runs},
      {"networks", model.networks},
      {"devices", std::move(devices)},
      {"memory", {{"usable_share", model.memory.usable_share}, {"deviation", model.memory.deviation}}},
      {"half_interval", model.half_interval},
      {"groups", model.form.groups},
      {"seed", model.form.seed},
      {"op_types", model.form.op_types},
      {"use", nlohmann::ordered_json::parse(use_to_json(model.use))},
      {"network", nlohmann::ordered_json::parse(network.description)}};
  ModelContainer container{kGraphRunSchema, kGraphRunVersion, description.dump(), network.tensors};
  for (ModelTensor& tensor : use_tensors(model.use)) container.tensors.push_back(std::move(tensor));
  return container;
}

GraphRunModel parse_graph_run_model(const ModelContainer& container, const std::string& who) {
  want_schema(container, kGraphRunSchema, kGraphRunVersion, who);
  const JsonMembers members(container.description, who);
  GraphRunModel model;
  model.runs = members.number("runs", 0, kMostRuns);
  model.networks = members.texts("networks", kMostNetworkNames);
  for (const JsonMembers& device : members.objects("devices", kMostSeen))
    model.devices.push_back({parse_device(device), device.number("start_seconds", 0, kMostStartSeconds),
                             device.number("runs", 0, kMostRuns)});
  const JsonMembers memory = members.object("memory");
  model.memory = {memory.number("usable_share", 0.01, 10), memory.number("deviation", 1e-6, 10)};
  model.half_interval = members.number("half_interval", 0, 10);
  model.form.groups = static_cast<int>(members.number("groups", 1, kMostGroups));
  model.form.seed = static_cast<std::uint64_t>(members.number("seed", 0, 1e15));
  model.form.op_types = members.texts("op_types", kMostOpTypes);
  model.use = parse_use(members.object("use"), container, who);
  model.network = parse_model(network_in(members, container), who);
  const Architecture& architecture = model.network.architecture;
  const auto outputs = static_cast<std::int64_t>(1 + model.use.outputs().size());
  if (architecture.features != model.form.features() || architecture.outputs != outputs)
    fail(ErrorKind::config, "'{}': a network of {} features and {} outputs, wants {} and {}", who,
         architecture.features, architecture.outputs, model.form.features(), outputs);
  if (model.network.scaling.loss != Loss::log)
    fail(ErrorKind::config, "'{}': a network of loss '{}', wants log", who, name(model.network.scaling.loss));
  return model;
}

void write_graph_run_model(const GraphRunModel& model, const std::filesystem::path& path) {
  write_model_container(path, to_container(model));
}

}  // namespace trainyard::predict

#include "predict/gnn/run_model.h"

#include "base/json.h"
#include "predict/analytic/evaluate.h"
#include "predict/analytic/fit_model.h"
#include "predict/gnn/run_labels.h"
#include "stats/least_squares.h"

namespace trainyard::predict {

namespace {

using Rows = std::vector<std::size_t>;

constexpr int kFifth = 5;
constexpr std::size_t kFewestToHoldOut = 10;  // of fewer runs each is worth more to learn from

Architecture architecture_for(const GraphForm& form, std::size_t outputs, GraphConvolution convolution) {
  Architecture architecture{
      .features = form.features(), .outputs = static_cast<std::int64_t>(outputs), .convolution = convolution};
  // The repeats are few and fixed, where Driple has half as many as nodes: a fit takes minutes on two cores.
  architecture.convolutions = {Repeats::Rule::fixed, 6};
  architecture.readout_steps = {Repeats::Rule::fixed, 6};
  architecture.leaky_output = false;
  return architecture;
}

std::vector<UseSample> use_samples(const RunSet& set, const Rows& rows) {
  std::vector<UseSample> samples;
  for (const std::size_t r : rows) {
    if (set.rows[r].run.use.empty()) continue;
    samples.push_back({{}, set.devices[set.rows[r].device].name, set.rows[r].run.use});
    for (ResourceUse& use : samples.back().use) use.resource = resource_key(use.resource);
  }
  return samples;
}

// Devices of the base stay as they are.
void add_devices(const RunSet& set, const Rows& rows, GraphRunModel& model) {
  for (std::size_t d = 0; d < set.devices.size(); ++d) {
    Rows of_device;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(of_device),
                 [&](std::size_t r) { return set.rows[r].device == d; });
    const bool known =
        std::any_of(model.devices.begin(), model.devices.end(), [&](const GraphRunModel::SeenDevice& one) {
          return same_device_name(one.device.name, set.devices[d].name);
        });
    if (of_device.empty() || known) continue;
    model.devices.push_back(
        {set.devices[d], start_seconds_of(set, of_device), static_cast<double>(of_device.size())});
  }
}

void hold_out_a_fifth(std::uint64_t seed, Rows& training, Rows& validation) {
  if (training.size() < kFewestToHoldOut) return;
  const std::vector<int> fold = stats::assign_folds(training.size(), kFifth, seed);
  Rows kept;
  for (std::size_t i = 0; i < training.size(); ++i) (fold[i] == 0 ? validation : kept).push_back(training[i]);
  training = std::move(kept);
}

double interval_by(const GraphRunModel& model, const RunSet& set, const Rows& rows) {
  std::vector<double> errors;
  const auto predictor = make_predictor(model);
  for (const Judged& one : judge(*predictor, set, rows))
    errors.push_back(std::abs(std::log(one.measured / one.predicted)));
  return conformal_quantile(std::move(errors));
}

}  // namespace

std::vector<DeviceSheet> GraphRunModel::seen_devices() const {
  std::vector<DeviceSheet> seen;
  for (const SeenDevice& one : devices) seen.push_back(one.device);
  return seen;
}

GraphRunResult fit_graph_runs(const RunSet& set, Rows training, Rows validation, const GraphRunFit& options) {
  Rows all = training;
  all.insert(all.end(), validation.begin(), validation.end());
  training = ended_well(set, training);
  validation = ended_well(set, validation);
  if (training.empty()) fail(ErrorKind::config, "no run ended well: there is nothing to fit");
  if (validation.empty()) hold_out_a_fifth(options.seed, training, validation);
  GraphRunResult result;
  GraphRunModel& model = result.model;
  if (options.base != nullptr) model = *options.base;
  if (options.base == nullptr) {
    model.form.groups = options.groups;
    model.memory = fit_memory_of(set, all);
  }
  model.runs += static_cast<double>(all.size());
  for (const std::size_t r : training)
    if (std::find(model.networks.begin(), model.networks.end(), set.rows[r].run.network) ==
        model.networks.end())
      model.networks.push_back(set.rows[r].run.network);
  add_devices(set, training, model);
  model.use = UseModel::fit_means(use_samples(set, training), &model.use);

  JobGraphs graphs(model.form);
  if (options.base == nullptr) {
    graphs.learn_types(jobs_of(set, training));
    model.form = graphs.form();
  }
  const std::vector<GraphSample> learned = labelled_graphs(set, training, model, graphs),
                                 judged = labelled_graphs(set, validation, model, graphs);
  GnnFitOptions fitting;
  fitting.architecture = architecture_for(
      model.form, 1 + model.use.outputs().size(),
      options.base != nullptr ? options.base->network.architecture.convolution : options.convolution);
  fitting.loss = Loss::log;
  fitting.epochs = options.epochs;
  fitting.patience = options.patience;
  fitting.seed = options.seed;
  fitting.folder = options.folder;
  fitting.resume = !options.folder.empty();
  fitting.hear = options.hear;
  if (options.base != nullptr) {
    fitting.start = &options.base->network;
    fitting.frozen = {"conv", "gru/", "set2set/"};
  }
  GnnFitResult fitted = fit(learned, judged, fitting);
  model.network = std::move(fitted.model);
  result.epochs = fitted.epochs;
  result.best_epoch = fitted.best_epoch;
  result.interrupted = fitted.interrupted;
  model.half_interval = 0;
  model.half_interval = interval_by(model, set, validation.empty() ? training : validation);
  return result;
}

namespace {

constexpr int kGraphRunVersion = 1;
constexpr double kMostRuns = 1e30, kMostStartSeconds = 1e6, kMostGroups = 100;
constexpr std::size_t kMostOpTypes = 1000, kMostSeen = 1000, kMostNetworkNames = 10000;

// Weights are f32, and the tensors of resource use are f64.
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
  Json devices = Json::array();
  for (const GraphRunModel::SeenDevice& one : model.devices) {
    devices.push_back(parse_json(device_to_json(one.device)));
    devices.back()["start_seconds"] = one.start_seconds;
    devices.back()["runs"] = one.runs;
  }
  const Json description{
      {"runs", model.runs},
      {"networks", model.networks},
      {"devices", std::move(devices)},
      {"memory", {{"usable_share", model.memory.usable_share}, {"deviation", model.memory.deviation}}},
      {"half_interval", model.half_interval},
      {"groups", model.form.groups},
      {"seed", model.form.seed},
      {"op_types", model.form.op_types},
      {"use", parse_json(use_to_json(model.use))},
      {"network", parse_json(network.description)}};
  ModelContainer container{kGraphRunSchema, kGraphRunVersion, json_text(description), network.tensors};
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

#include "predict/gnn/model.h"

#include "backend/backend.h"
#include "base/json.h"
#include "plan/compile.h"
#include "predict/gnn/batch.h"
#include "predict/gnn/run_labels.h"
#include "predict/gnn/run_model.h"
#include "predict/runs/network_work.h"

namespace trainyard::predict {

const NamedTensor* GnnModel::find(const std::string& name) const {
  for (const NamedTensor& tensor : parameters)
    if (tensor.name == name) return &tensor;
  return nullptr;
}

std::int64_t GnnModel::parameter_count() const {
  std::int64_t count = 0;
  for (const NamedTensor& tensor : parameters) count += tensor.shape.elements();
  return count;
}

ModelFile to_file(const GnnModel& model) {
  ModelFile file{kGraphModelSchema, to_settings(model.architecture), model.parameters};
  for (auto& setting : to_settings(model.scaling)) file.settings.push_back(std::move(setting));
  return file;
}

GnnModel parse_model(const ModelFile& file, const std::string& who) {
  if (file.schema != kGraphModelSchema)
    fail(ErrorKind::config, "'{}': a model of kind '{}', wants '{}'", who, file.schema, kGraphModelSchema);
  GnnModel model;
  model.architecture = parse_architecture(file.settings, who);
  model.scaling = parse_scaling(file.settings, model.architecture, who);
  const auto shapes = parameter_shapes(model.architecture);
  for (const auto& [name, shape] : shapes) {
    for (const NamedTensor& tensor : file.tensors)
      if (tensor.name == name) model.parameters.push_back(tensor);
    if (model.parameters.empty() || model.parameters.back().name != name)
      fail(ErrorKind::config, "'{}': tensor '{}' is missing", who, name);
    if (!(model.parameters.back().shape == shape))
      fail(ErrorKind::config, "'{}': tensor '{}' is {}, wants {}", who, name,
           model.parameters.back().shape.to_string(), shape.to_string());
  }
  if (file.tensors.size() != shapes.size())
    fail(ErrorKind::config, "'{}': {} tensors, wants {}", who, file.tensors.size(), shapes.size());
  return model;
}

void save_model(const std::filesystem::path& path, const GnnModel& model) {
  write_model_file(path, to_file(model));
}

GnnModel load_model(const std::filesystem::path& path) {
  return parse_model(read_model_file(path), path.string());
}

ModelContainer to_container(const ModelFile& model) {
  Json settings = Json::object();
  for (const auto& [key, value] : model.settings) settings[key] = value;
  ModelContainer container{.schema = model.schema, .description = json_text(settings), .tensors = {}};
  for (const NamedTensor& tensor : model.tensors)
    container.tensors.push_back({tensor.name, tensor.shape, tensor.numbers});
  return container;
}

ModelFile parse_model_file(const ModelContainer& container, const std::string& who) {
  const JsonMembers settings(container.description, fmt::format("'{}'", who));
  ModelFile model{container.schema, settings.all_texts(), {}};
  for (const ModelTensor& tensor : container.tensors) {
    const std::vector<float>* numbers = tensor.as<float>();
    if (numbers == nullptr)
      fail(ErrorKind::config, "'{}': tensor '{}' is of f64, wants f32", who, tensor.name);
    model.tensors.push_back({tensor.name, tensor.shape, *numbers});
  }
  return model;
}

void write_model_file(const std::filesystem::path& path, const ModelFile& model) {
  write_model_container(path, to_container(model));
}

ModelFile read_model_file(const std::filesystem::path& path) {
  return parse_model_file(read_model_container(path), path.string());
}

std::vector<std::vector<float>> predict(const GnnModel& model, std::span<const GraphSample> graphs) {
  constexpr std::size_t kGraphsAtOnce = 32;
  std::vector<std::vector<float>> results;
  if (graphs.empty()) return results;
  for (const GraphSample& graph : graphs) check_sample(graph, model.architecture.features, 0);
  const std::size_t batch = std::min(kGraphsAtOnce, graphs.size());
  const auto backend = backend::make_backend("auto");
  engine::Executor executor(plan::compile(
      build_network({.architecture = model.architecture,
                     .capacity = capacity_for(graphs, model.architecture, static_cast<std::int64_t>(batch))})
          .graph,
      *backend));
  write_weights(executor, model.parameters);
  const auto outputs = static_cast<std::size_t>(model.architecture.outputs);
  for (std::size_t first = 0; first < graphs.size(); first += batch) {
    std::vector<const GraphSample*> part;
    for (std::size_t i = first; i < std::min(first + batch, graphs.size()); ++i) part.push_back(&graphs[i]);
    write_graphs(executor, part, model.architecture, model.scaling);
    executor.run({});
    const auto numbers = executor.host_view<float>(kPrediction);
    for (std::size_t g = 0; g < part.size(); ++g) {
      std::vector<float>& result = results.emplace_back();
      for (std::size_t output = 0; output < outputs; ++output)
        result.push_back(model.scaling.prediction(output, numbers[g * outputs + output]));
    }
  }
  return results;
}

namespace {

class GraphPredictor : public Predictor {
 public:
  explicit GraphPredictor(GraphRunModel model) : model_(std::move(model)), graphs_(model_.form) {}

  std::vector<Prediction> predict(std::span<const JobDescription> jobs) override {
    std::vector<GraphSample> samples;
    std::vector<std::size_t> sample_of;
    std::map<std::tuple<std::string, std::int64_t, int, ops::Rule, std::string>, std::size_t> alike;
    for (const JobDescription& job : jobs) {
      if (!knows(job.precision))
        fail(ErrorKind::config, "precision '{}': this model was fitted to f32 alone", name(job.precision));
      const auto key = std::tuple(job.network, job.batch, job.classes, job.optimizer, job.device.name);
      const auto [at, fresh] = alike.try_emplace(key, samples.size());
      if (fresh) samples.push_back(graphs_.sample(job));
      sample_of.push_back(at->second);
    }
    const std::vector<std::vector<float>> outputs = predict::predict(model_.network, samples);
    std::vector<Prediction> made;
    for (std::size_t i = 0; i < jobs.size(); ++i) made.push_back(prediction(jobs[i], outputs[sample_of[i]]));
    return made;
  }

  std::vector<DeviceSheet> devices() const override { return model_.seen_devices(); }
  bool knows(backend::Precision precision) const override { return precision == backend::Precision::f32; }

  Basis basis(const JobDescription& job) const override {
    Basis basis{.model = "gnn",
                .runs = model_.runs,
                .device = job.device.name,
                .families = families_of(model_.networks)};
    for (const GraphRunModel::SeenDevice& one : model_.devices)
      if (same_device_name(one.device.name, job.device.name)) {
        basis.device_seen = true;
        basis.device_runs = one.runs;
      }
    return basis;
  }

 private:
  Prediction prediction(const JobDescription& job, const std::vector<float>& outputs) {
    Prediction made;
    made.step_seconds = outputs[0];
    made.start_seconds = start_seconds_on(model_, job.device);
    made.seconds = (job.with_start ? made.start_seconds : 0) + job.steps * made.step_seconds;
    made.low_seconds = made.seconds * std::exp(-model_.half_interval);
    made.high_seconds = made.seconds * std::exp(model_.half_interval);
    made.memory = memory_need(works_.work(work_options(job)));
    made.oom_probability = model_.memory.oom_probability(made.memory.total(), job.device);
    for (const GraphRunModel::SeenDevice& one : model_.devices)
      made.device_seen = made.device_seen || same_device_name(one.device.name, job.device.name);
    std::vector<double> shares;
    for (std::size_t o = 1; o < outputs.size(); ++o) shares.push_back(share_of_label(outputs[o]));
    made.use = model_.use.named(shares);
    made.usual_use = model_.use.usual(job.device.name);
    return made;
  }

  GraphRunModel model_;
  JobGraphs graphs_;
  WorkCache works_;
};

}  // namespace

std::unique_ptr<Predictor> make_predictor(GraphRunModel model) {
  return std::make_unique<GraphPredictor>(std::move(model));
}

}  // namespace trainyard::predict

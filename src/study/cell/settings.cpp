#include "study/cell/settings.h"

#include "networks/zoo/zoo.h"
#include "run/train_options.h"
#include "train/session/evaluate.h"

namespace trainyard::study {

namespace {

std::string setting_or(const record::Settings& settings, const char* name, const std::string& otherwise) {
  const std::string given = setting_text(settings, name);
  return given.empty() ? otherwise : given;
}

// Returns the images of an epoch of `train`.
double epoch_images(const record::Settings& settings, const predict::JobDescription& job) {
  const run::TrainCommand defaults;
  if (const auto images = training_images_in_files(setting_or(settings, "data", defaults.input.data.name)))
    return static_cast<double>(*images);
  const networks::NetworkInfo network = networks::find_network(job.network, job.parameters);
  return static_cast<double>(train::synthetic_for(network, job.classes, defaults.run.seed).train_images);
}

double steps_of_cell(const std::string& run, const record::Settings& settings,
                     const predict::JobDescription& job) {
  if (run == "bench")
    return warmup_steps_of(run, settings) +
           setting_number(settings, "steps", record::default_number("steps", "bench"));
  if (const double steps = setting_number(settings, "steps", 0); steps > 0) return steps;
  const double epochs = setting_number(settings, "epochs", run::TrainCommand().epochs);
  return std::ceil(epochs * epoch_images(settings, job) / static_cast<double>(job.batch));
}

}  // namespace

double setting_number(const record::Settings& settings, const std::string& name, double otherwise) {
  const auto found = settings.find(name);
  return found == settings.end() ? otherwise : record::number_or(found->second, otherwise);
}

networks::generator::Given parameters_in(const record::Settings& settings) {
  networks::generator::Given given;
  for (const networks::NetworkInfo& network : networks::all_networks())
    if (network.generator != nullptr)
      for (const networks::generator::Parameter& parameter : network.generator->parameters)
        if (const auto found = settings.find(parameter.name); found != settings.end())
          given[parameter.name] = record::to_text(found->second);
  return given;
}

std::optional<std::int64_t> training_images_in_files(const std::string& dataset) {
  static const std::map<std::string, std::int64_t> kImages = {{"mnist", 60'000}, {"cifar10", 50'000}};
  const auto found = kImages.find(dataset);
  return found == kImages.end() ? std::nullopt : std::optional(found->second);
}

std::string why_not_predicted(const std::string& run, const record::Settings& settings) {
  if (run != "bench" && run != "train") return "run: " + run;
  if (setting_number(settings, "devices", 1) > 1 || setting_number(settings, "nodes", 1) > 1)
    return "several devices";
  for (const auto& [name, learned] : {std::pair("mode", "train"), std::pair("strategy", "single")})
    if (const std::string given = setting_or(settings, name, learned); given != learned)
      return fmt::format("{} {}", name, given);
  if (const std::string limit = setting_text(settings, "memory_limit"); !limit.empty())
    return "memory_limit " + limit;
  return "";
}

double warmup_steps_of(const std::string& run, const record::Settings& settings) {
  return run == "bench" ? setting_number(settings, "warmup", record::default_number("warmup", "bench")) : 0;
}

predict::JobDescription describe_cell(const std::string& run, const record::Settings& settings,
                                      const predict::DeviceSheet& device) {
  const run::RunOptions defaults;
  predict::JobDescription job{
      .network = setting_or(settings, "network", defaults.network),
      .batch =
          static_cast<std::int64_t>(setting_number(settings, "batch", static_cast<double>(defaults.batch))),
      .classes = static_cast<int>(setting_number(settings, "classes", defaults.classes)),
      .optimizer = predict::optimizer_named(setting_or(settings, "optimizer", defaults.optimizer)),
      .device = device,
      .precision = predict::precision_named(setting_or(settings, "precision", defaults.precision)),
      .parameters = parameters_in(settings)};
  job.steps = steps_of_cell(run, settings, job);
  return job;
}

std::string setting_text(const record::Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "" : record::to_text(found->second);
}

}  // namespace trainyard::study

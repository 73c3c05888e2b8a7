#include "train/run_identity.h"

#include <fmt/core.h>

namespace trainyard::train {

engine::CheckpointHeader run_identity(const SessionOptions& options, const data::Dataset& dataset,
                                      const data::Preprocess& preprocess, int devices) {
  const networks::ModelOptions& model = options.model;
  const ops::UpdateAttrs& update = options.update;
  engine::CheckpointHeader header{.network = model.network, .seed = options.seed};
  const auto add = [&](const char* key, const auto& value) {
    header.asked.emplace_back(key, fmt::format("{}", value));
  };
  if (devices == 1)
    add("batch", model.batch);
  else
    add("batch", fmt::format("{} x {}", devices, model.batch));
  add("classes", model.classes);
  add("input", model.input.to_string());
  const auto parameters = networks::parameters_of(networks::find_network(model.network), model.parameters);
  for (const auto& [parameter, value] : parameters.all()) add(parameter.c_str(), value);
  add("precision", name(model.dtype));
  add("data", fmt::format("{} ({} images)", dataset.name, dataset.size(data::Split::train)));
  add("preprocess", preprocess.name);
  add("label smoothing", model.label_smoothing);
  add("weight decay", model.weight_decay > 0 ? model.weight_decay : update.weight_decay);
  add("optimizer", fmt::format("{}{}{}", ops::name(update.rule), update.nesterov ? " nesterov" : "",
                               update.decoupled_decay ? " decoupled" : ""));
  add("learning rate", update.schedule.to_string());
  add("momentum", update.momentum);
  add("ema", update.ema_decay);
  return header;
}

}  // namespace trainyard::train

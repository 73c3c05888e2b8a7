#pragma once

#include "predict/gnn/graph_sample.h"
#include "predict/gnn/network.h"
#include "predict/gnn/scaling.h"
#include "predict/runs/model_container.h"

namespace trainyard::predict {

// GnnModel is a trained graph network: everything that a prediction needs.
struct GnnModel {
  Architecture architecture;
  GnnScaling scaling;
  std::vector<NamedTensor> parameters;  // as parameter_shapes() has them

  const NamedTensor* find(const std::string& name) const;
  std::int64_t parameter_count() const;
};

inline constexpr const char* kGraphModelSchema = "trainyard-graph-model";

// ModelFile is the stored form of a graph network: settings and weights. docs/formats/model-file.md.
struct ModelFile {
  std::string schema;
  std::vector<std::pair<std::string, std::string>> settings;  // name and value, as text
  std::vector<NamedTensor> tensors;
};

ModelFile to_file(const GnnModel& model);
// Throws Error (config), beginning with '`who`', for another kind of model, and for a setting or tensor that
// is missing or does not fit.
GnnModel parse_model(const ModelFile& file, const std::string& who);

void save_model(const std::filesystem::path& path, const GnnModel& model);
GnnModel load_model(const std::filesystem::path& path);

// Returns the outputs of each graph, in units, in the order of the graphs. Uses all cores. Throws Error
// (config) naming a graph that does not fit the model.
std::vector<std::vector<float>> predict(const GnnModel& model, std::span<const GraphSample> graphs);

ModelContainer to_container(const ModelFile& model);
// Throws Error (config), beginning with '`who`', for a setting that is no text or a tensor that is not f32.
ModelFile parse_model_file(const ModelContainer& container, const std::string& who);

// They work as write_model_container and read_model_container do.
void write_model_file(const std::filesystem::path& path, const ModelFile& model);
ModelFile read_model_file(const std::filesystem::path& path);

}  // namespace trainyard::predict

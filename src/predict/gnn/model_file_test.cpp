#include "predict/gnn/model_file.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "predict/gnn/model.h"
#include "predict/gnn/network.h"

namespace trainyard::predict {
namespace {

GnnModel small_gnn() {
  GnnModel model;
  model.architecture = {.features = 2, .hidden = 4, .outputs = 3, .convolution = Convolution::gin};
  model.architecture.convolutions = {Repeats::Rule::root, 3};
  model.scaling = no_scaling(model.architecture);
  model.scaling.label_spread = {0.1f, 1.0f / 3, 1e-30f};
  float number = 0;
  for (const auto& [name, shape] : parameter_shapes(model.architecture)) {
    model.parameters.push_back({name, shape, {}});
    for (std::int64_t i = 0; i < shape.elements(); ++i)
      model.parameters.back().numbers.push_back(number += 0.1f);
  }
  return model;
}

TEST(GnnModelFile, KeepsEverything) {
  const TestFolder folder;
  const GnnModel model = small_gnn();
  save_model(folder.path() / "m", model);
  const GnnModel read = load_model(folder.path() / "m");
  EXPECT_EQ(read.architecture, model.architecture);
  EXPECT_EQ(read.scaling.label_spread, model.scaling.label_spread);
  ASSERT_EQ(read.parameters.size(), model.parameters.size());
  for (std::size_t i = 0; i < read.parameters.size(); ++i)
    EXPECT_EQ(read.parameters[i].numbers, model.parameters[i].numbers);
}

TEST(GnnModelFile, RefusesWhatDoesNotFit) {
  const auto refused = [](const std::string& part, const std::function<void(ModelFile&)>& change) {
    ModelFile file = to_file(small_gnn());
    change(file);
    expect_error(ErrorKind::config, part, [&] { parse_model(file, "a.model"); });
  };
  refused("kind 'tree'", [](ModelFile& file) { file.schema = "tree"; });
  refused("setting 'features' is missing",
          [](ModelFile& file) { file.settings.erase(file.settings.begin()); });
  refused("wants a whole number", [](ModelFile& file) { file.settings[1].second = "4x"; });
  refused("features 0: wants 1 to", [](ModelFile& file) { file.settings[0].second = "0"; });
  refused("tensor 'conv0/weight' is missing",
          [](ModelFile& file) { file.tensors.erase(file.tensors.begin()); });
  refused("tensor 'conv0/weight' is 3x2, wants 4x2", [](ModelFile& file) { file.tensors[0].shape = {3, 2}; });
  refused("wants 3 numbers", [](ModelFile& file) { file.settings.back().second = "1 2"; });
  refused("spread is not above zero", [](ModelFile& file) { file.settings.back().second = "1 0 1"; });
  refused("wants gcn or gin", [](ModelFile& file) { file.settings[3].second = "gat"; });
  refused("repeats 'often'", [](ModelFile& file) { file.settings[4].second = "often"; });
}

TEST(GnnModelFile, HasTextsAndSinglePrecisionAlone) {
  ModelContainer file = to_container(to_file(small_gnn()));
  file.tensors[0].numbers = std::vector<double>(8, 0);
  expect_error(ErrorKind::config, "'a.model': tensor 'conv0/weight' is of f64, wants f32",
               [&] { parse_model_file(file, "a.model"); });
  file.description = R"({"hidden": 4})";
  expect_error(ErrorKind::config, "'a.model'.hidden: wants a text",
               [&] { parse_model_file(file, "a.model"); });
}

}  // namespace
}  // namespace trainyard::predict

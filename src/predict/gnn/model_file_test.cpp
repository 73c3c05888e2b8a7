#include "predict/gnn/model_file.h"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "predict/gnn/model.h"
#include "predict/gnn/network.h"
#include "predict/gnn/test_damage.h"

namespace trainyard::predict {
namespace {

ModelFile small_model() {
  return {"gnn",
          {{"hidden", "64"}, {"note", "two words"}},
          {{"a", {2, 3}, {1, 2, 3, 4, 5, 6}}, {"b", {1}, {-0.5f}}}};
}

std::string bytes_of(const ModelFile& model) {
  const TestFolder folder;
  const auto path = folder.path() / "model";
  write_model_file(path, model);
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

ModelFile parse_bytes(const std::string& file) {
  return parse_model_file({reinterpret_cast<const std::byte*>(file.data()), file.size()}, "a.model");
}

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

TEST(ModelFile, IsReadAsItWasWritten) {
  const ModelFile read = parse_bytes(bytes_of(small_model()));
  EXPECT_EQ(read.kind, "gnn");
  EXPECT_EQ(read.settings, small_model().settings);
  ASSERT_EQ(read.tensors.size(), 2u);
  EXPECT_EQ(read.tensors[0].name, "a");
  EXPECT_EQ(read.tensors[0].shape, (Shape{2, 3}));
  EXPECT_EQ(read.tensors[0].numbers, small_model().tensors[0].numbers);
  EXPECT_EQ(read.tensors[1].numbers, small_model().tensors[1].numbers);
}

TEST(ModelFile, SaysWhatIsWrong) {
  const auto refused = [](const std::string& part, const std::string& file) {
    expect_error(ErrorKind::config, part, [&] { parse_bytes(file); });
  };
  const std::string valid = bytes_of(small_model());
  refused("'a.model': is no model file", "");
  refused("'a.model': is no model file", "PK" + valid.substr(2));
  std::string version = valid;
  version[16] = 2;
  refused("version 2 of a model file, 1 expected", version);
  refused("cut short: 27 bytes of tensors found, 28 expected", valid.substr(0, valid.size() - 1));
  refused("too long", valid + "x");
  std::string number = valid;
  number.back() ^= 1;
  refused("checksum mismatch in tensor 'b'", number);
  std::string header = valid;
  header[valid.find("two words")] = 'T';
  refused("checksum mismatch", header);
  std::string length = valid;
  length[30] = 1;
  refused("its header would have", length);
}

TEST(ModelFile, DamagedFilesAreRefusedOrRead) {
  expect_damage_is_seen(bytes_of(small_model()), [](const std::string& file) { parse_bytes(file); });
}

TEST(ModelFile, CorpusIsRefusedOrRead) {
  EXPECT_GE(replay_corpus("model_file", [](const std::string& file) { parse_bytes(file); }), 3);
}

TEST(ModelFile, NothingIsLeftWhereItCannotBeWritten) {
  const TestFolder folder;
  EXPECT_THROW(write_model_file(folder.path() / "absent" / "model", small_model()), Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
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
  refused("kind 'tree'", [](ModelFile& file) { file.kind = "tree"; });
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

}  // namespace
}  // namespace trainyard::predict

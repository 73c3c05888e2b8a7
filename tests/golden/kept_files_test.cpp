// Files that an earlier version wrote are read, and written again byte for byte.

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/test_folder.h"
#include "engine/checkpoint.h"
#include "record/run_record.h"
#include "run/training.h"

namespace trainyard {
namespace {

std::string text_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream("tests/golden/kept/" + file).rdbuf();
  return text.str();
}

void expect_listed(const record::RunRecord& run) {
  for (const auto& [name, value] : run.figures)
    EXPECT_NE(record::find_figure(name, record::FigureKind::number), nullptr) << name;
  for (const auto& [name, value] : run.words)
    EXPECT_NE(record::find_figure(name, record::FigureKind::word), nullptr) << name;
  for (const auto& [name, value] : run.details)
    EXPECT_NE(record::find_figure(name, record::FigureKind::detail), nullptr) << name;
}

TEST(KeptFiles, RecordsAreReadAndWrittenAgain) {
  for (const char* file : {"bench.json", "servers.json", "run/record.json"}) {
    SCOPED_TRACE(file);
    const record::RunRecord run = record::run_record_from_json(text_of(file));
    expect_listed(run);
    Json kept = Json::object();  // null is not known, and not read
    const Json read = parse_json(text_of(file));
    for (const auto& [key, value] : read.items())
      if (!value.is_null()) kept[key] = value;
    EXPECT_EQ(record::to_json(run), json_text(kept));
  }
  const record::RunRecord bench = record::run_record_from_json(text_of("bench.json"));
  EXPECT_EQ(bench.figures.at("parameters"), 172);
  EXPECT_TRUE(bench.details.contains("ops"));
}

// References hold envelopes: another version has to make the same of the same run.
TEST(KeptFiles, RunsAreComparableByTheSameSettings) {
  const auto compared = [](const char* file) {
    return record::to_text(record::envelope(record::run_record_from_json(text_of(file))));
  };
  EXPECT_EQ(
      compared("bench.json"),
      "backend onednn, batch 4, build d13b8f86f828-b9ab, classes 4, command bench, device cpu, devices 1, "
      "inputs 16, layers 1, network fc, optimizer sgd, precision f32, scaling weak, strategy single, "
      "threads 2, width 8");
  EXPECT_EQ(compared("servers.json"),
            "backend onednn, batch 8, build d13b8f86f828-b9ab, classes 4, command train, data synthetic, "
            "device cpu, devices 2, network lenet, optimizer sgd, precision f32, read memory, scaling weak, "
            "servers 1, staging in-place, strategy ssp:2, threads 2, transport shm, workers 2");
}

TEST(KeptFiles, ACheckpointIsReadAndWrittenAgain) {
  const std::string text = text_of("run/step-00000003/manifest.json");
  const engine::CheckpointManifest manifest = engine::parse_manifest(text, "manifest.json");
  EXPECT_EQ(manifest.header.step, 3);
  EXPECT_EQ(manifest.header.network, "fc");
  EXPECT_EQ(engine::manifest_to_text(manifest), text);
}

// The loss of each step of one command, and the weights after the last.
struct Trained {
  std::vector<double> losses;
  std::vector<float> weights;
};

Trained train_as_kept(const std::string& backend, const std::filesystem::path& folder, std::int64_t steps,
                      bool resume) {
  run::TrainCommand command;
  command.run.network = "fc";
  command.run.backend = backend;
  command.run.parameters = {{"layers", "1"}, {"width", "4"}};
  command.run.classes = 4;
  command.run.batch = 8;
  command.run.threads = 1;
  command.steps = steps;
  command.no_eval = true;
  command.out = folder;
  if (resume) command.resume.value = "true";
  const record::RunRecord run = run::train_network(command).run.value();
  EXPECT_EQ(run.figures.at("final_step"), steps);
  Trained trained;
  for (const auto& point : parse_json(run.details.at("loss_curve")))
    trained.losses.push_back(point.at(2).get<double>());
  const std::vector<std::byte> bytes = read_file(engine::latest_checkpoint(folder).value() / "tensors.bin");
  trained.weights.resize(bytes.size() / sizeof(float));
  std::memcpy(trained.weights.data(), bytes.data(), bytes.size());
  return trained;
}

// Kernels of other machines and backends add numbers in other orders, so only the first digits are the same.
// Another batch, update or weight changes the first or the second digit.
constexpr double kSameDigits = 1e-4;

TEST(KeptFiles, ATrainingGoesOnFromACheckpoint) {
  constexpr std::size_t kKept = 3, kSteps = 8;
  const TestFolder folder;
  const Trained whole = train_as_kept("auto", folder.path() / "whole", kSteps, false);
  ASSERT_EQ(whole.losses.size(), kSteps);
  const record::RunRecord kept = record::run_record_from_json(text_of("run/record.json"));
  const auto curve = parse_json(kept.details.at("loss_curve"));
  for (std::size_t step = 0; step < kKept; ++step)
    EXPECT_NEAR(whole.losses[step], curve[step][2].get<double>(), kSameDigits) << "step " << step;
  for (const std::string backend : {"auto", "reference"}) {
    SCOPED_TRACE(backend);
    const std::filesystem::path copy = folder.path() / backend;
    std::filesystem::copy("tests/golden/kept/run", copy, std::filesystem::copy_options::recursive);
    const Trained resumed = train_as_kept(backend, copy, kSteps, true);
    ASSERT_EQ(resumed.losses.size(), kSteps - kKept);
    for (std::size_t step = kKept; step < kSteps; ++step)
      EXPECT_NEAR(resumed.losses[step - kKept], whole.losses[step], kSameDigits) << "step " << step;
    EXPECT_GT(std::abs(whole.losses[0] - resumed.losses[0]), 1000 * kSameDigits);
    ASSERT_EQ(resumed.weights.size(), whole.weights.size());
    for (std::size_t i = 0; i < whole.weights.size(); ++i)
      ASSERT_NEAR(resumed.weights[i], whole.weights[i], kSameDigits) << "weight " << i;
  }
}

}  // namespace
}  // namespace trainyard

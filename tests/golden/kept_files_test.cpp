// Files that an earlier version wrote are read, and written again byte for byte.

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "engine/checkpoint.h"
#include "record/run_record.h"

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

}  // namespace
}  // namespace trainyard

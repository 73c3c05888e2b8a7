#include "record/references.h"

#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/test_folder.h"
#include "record/build.h"
#include "record/comparison.h"

namespace trainyard::record {
namespace {

constexpr const char* kSmallMachine = "AMD EPYC 9R14, 2 cores";

// Makes four runs of a cell, on hosts with different names.
std::vector<RunRecord> measured_cell(std::int64_t batch, double seconds,
                                     const std::string& model = "AMD EPYC 9R14") {
  std::vector<RunRecord> runs;
  for (int i = 0; i < 4; ++i) {
    RunRecord run;
    run.command = "bench";
    run.node = fmt::format("host-{}-{}", batch, i);
    run.started_seconds = 1.7949e9 + i;
    run.asked = {{"network", std::string("lenet")}, {"batch", batch}, {"steps", std::int64_t{40}}};
    run.images_per_step = static_cast<double>(batch);
    for (int step = 0; step < 40; ++step)
      run.step_seconds.push_back(seconds * (1 + 0.003 * i) * (1 + 0.002 * (step % 7)));
    summarise_steps(run);
    run.wall_seconds = 40 * seconds;
    run.figures["peak_memory_bytes"] = 1e9;
    run.figures["final_loss"] = 0.5;
    run.details["accuracy_curve"] = fmt::format("[[{},100,0.9],[{},200,0.98]]", 10 * seconds, 20 * seconds);
    run.provenance = {{"cpu", "model", model},
                      {"cpu", "allowed_cores", std::int64_t{2}},
                      {"build", "commit", "0123456789ab"}};
    runs.push_back(run);
  }
  return runs;
}

std::vector<RunRecord> as_seen_by_a_gate(std::vector<RunRecord> runs) {
  for (RunRecord& run : runs) run.node = machine_of(run);
  return runs;
}

std::string refusal_of(const std::string& text) {
  try {
    references_from_json(text);
  } catch (const Error& error) {
    EXPECT_NE(error.kind(), ErrorKind::internal);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return error.what();
  }
  return "";
}

TEST(References, HoldAValueOfEveryRun) {
  References references;
  const auto updates = update_references(references, measured_cell(50, 0.1), Metric());
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0].machine, kSmallMachine);
  EXPECT_EQ(updates[0].added, 1);
  EXPECT_EQ(updates[0].runs, 4);
  const MachineReferences* row = references.find(kSmallMachine);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->build, "0123456789ab");
  EXPECT_EQ(row->measured, "2026-11-17");
  EXPECT_EQ(to_text(row->cells.at(0).settings), "batch 50, command bench, network lenet");
  EXPECT_EQ(row->cells[0].values.at("quiet_images_per_second").size(), 4u);
  EXPECT_EQ(row->cells[0].values.at("peak_memory_bytes"), std::vector<double>(4, 1e9));
  EXPECT_EQ(row->metrics(),
            (std::set<std::string>{"quiet_images_per_second", "images_per_second", "median_step_seconds",
                                   "p95_step_seconds", "wall_seconds", "peak_memory_bytes"}));
  EXPECT_EQ(references.find("another"), nullptr);
}

TEST(References, MeasureLikeTheRunsTheyCameFrom) {
  const std::vector<RunRecord> runs = measured_cell(50, 0.1);
  for (const char* name :
       {"quiet_images_per_second", "images_per_second", "median_step_seconds", "p95_step_seconds",
        "wall_seconds", "peak_memory_bytes", "final_loss", "seconds_to_accuracy"}) {
    SCOPED_TRACE(name);
    const Metric metric = find_metric(name, 0.97, runs);
    References references;
    update_references(references, runs, metric);
    const std::vector<RunRecord> back =
        reference_runs(references_from_json(to_json(references)).machines.at(0), metric);
    ASSERT_EQ(back.size(), runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      ASSERT_TRUE(measure(back[i], metric));
      EXPECT_EQ(measure(back[i], metric)->value, measure(runs[i], metric)->value);
    }
  }
}

TEST(References, VerdictsAreThoseOfRunsOnOneNode) {
  std::vector<RunRecord> runs = measured_cell(50, 0.1);
  const Metric metric = find_metric(kQuietSpeed, {}, runs);
  References references;
  update_references(references, runs, metric);
  const std::vector<RunRecord> before = reference_runs(references.machines[0], metric);
  const Comparison same = compare_cells(before, as_seen_by_a_gate(runs), {}, metric);
  ASSERT_EQ(same.cells.size(), 1u);
  EXPECT_EQ(same.cells[0].verdict.outcome, Outcome::same);
  EXPECT_EQ(same.cells[0].verdict.pairing, Pairing::runs);
  const Comparison slower = compare_cells(before, as_seen_by_a_gate(measured_cell(50, 0.12)), {}, metric);
  EXPECT_EQ(slower.count(Outcome::worse), 1);
}

TEST(References, AnUpdateLeavesOthersAlone) {
  References references;
  const auto with = [&](const std::vector<RunRecord>& runs) {
    return update_references(references, runs, Metric()).at(0);
  };
  with(measured_cell(50, 0.1));
  with(measured_cell(50, 0.1, "Another"));
  EXPECT_EQ(with(measured_cell(8, 0.1)).added, 1);
  const std::string before = to_json(references);
  EXPECT_EQ(with(measured_cell(50, 0.1)).replaced, 1);
  EXPECT_EQ(to_json(references), before) << "the order of updates does not show";
  std::vector<RunRecord> failed = measured_cell(50, 0.2);
  for (RunRecord& run : failed) run.status = Status::crash;
  EXPECT_TRUE(update_references(references, failed, Metric()).empty());
  EXPECT_EQ(to_json(references), before);
  with(measured_cell(50, 0.2));
  const MachineReferences& row = *references.find(kSmallMachine);
  ASSERT_EQ(row.cells.size(), 2u);
  EXPECT_NEAR(row.cells[1].values.at("median_step_seconds").front(), 0.2, 0.01);
  EXPECT_NEAR(row.cells[0].values.at("median_step_seconds").front(), 0.1, 0.01);
  EXPECT_NEAR(references.find("Another, 2 cores")->cells[0].values.at("median_step_seconds").front(), 0.1,
              0.01);
}

TEST(References, AMetricThatWasAskedForOnceIsKeptUpToDate) {
  References references;
  update_references(references, measured_cell(50, 0.1), Metric{.name = "final_loss"});
  update_references(references, measured_cell(50, 0.2), Metric());
  EXPECT_TRUE(references.machines[0].metrics().contains("final_loss"));
}

TEST(References, ARunWithoutTheFigureIsNull) {
  std::vector<RunRecord> runs = measured_cell(50, 0.1);
  runs[1].figures.erase("peak_memory_bytes");
  References references;
  update_references(references, runs, Metric());
  const std::string text = to_json(references);
  EXPECT_NE(text.find("\"peak_memory_bytes\": [1000000000, null, 1000000000, 1000000000]"), std::string::npos)
      << text;
  const References back = references_from_json(text);
  const Metric metric{.name = "peak_memory_bytes", .more_is_better = false};
  const std::vector<RunRecord> referred = reference_runs(back.machines[0], metric);
  EXPECT_FALSE(measure(referred[1], metric));
  EXPECT_TRUE(measure(referred[2], metric));
}

TEST(References, WhatIsWrongIsSaidInOneLine) {
  const auto file = [](const std::string& cells) {
    return R"({"schema":1,"machines":[{"machine":"m","build":"","measured":"","cells":)" + cells + "}]}";
  };
  const std::vector<std::pair<std::string, std::string>> damaged = {
      {"", "not JSON"},
      {"{\"schema\": 1,\n\n", "not JSON"},
      {"[]", "an object expected"},
      {"{}", "'schema' is missing"},
      {R"({"schema":2})", "schema 2, this trainyard reads 1"},
      {R"({"schema":"1"})", "schema"},
      {R"({"schema":1})", "'machines' is missing"},
      {R"({"schema":1,"machines":{}})", "machines: an array"},
      {R"({"schema":1,"machines":[7]})", "machines[0]: an object"},
      {R"({"schema":1,"machines":[{"machine":7}]})", "machines[0].machine: a text"},
      {file("7"), "machines[0].cells: an array"},
      {file("[{}]"), "machines[0].cells[0]: 'settings' is missing"},
      {file(R"([{"settings":{"batch":[]}}])"), "cells[0].settings.batch: a number, a word"},
      {file(R"([{"settings":{},"values":[]}])"), "cells[0].values: an object"},
      {file(R"([{"settings":{},"values":{"x":["1"]}}])"), "values.x: numbers from"},
      {file(R"([{"settings":{},"values":{"x":[-1]}}])"), "values.x: numbers from"},
      {file(R"([{"settings":{},"values":{"x":[1e300]}}])"), "values.x: numbers from"},
      {file(R"([{"settings":{},"values":{"x":[1e999]}}])"), "not JSON"},
      {file(R"([{"settings":{},"values":{"x":[1],"y":[1,2]}}])"), "lists of one length"},
      {std::string(100'000, '['), "at most 8 levels"},
      {file("[]") + file("[]"), "not JSON"}};
  for (const auto& [text, part] : damaged)
    EXPECT_NE(refusal_of(text).find(part), std::string::npos) << text.substr(0, 200) << "\n"
                                                              << refusal_of(text);
  std::string many = "1";
  for (int i = 0; i < 1000; ++i) many += ",1";
  EXPECT_NE(refusal_of(file(R"([{"settings":{},"values":{"x":[)" + many + "]}}]")).find("at most 1000"),
            std::string::npos);
}

TEST(References, NoDamageGetsThrough) {
  References references;
  update_references(references, measured_cell(50, 0.1), Metric());
  const std::string good = to_json(references);
  for (std::size_t length = 0; length + 2 < good.size(); ++length)
    EXPECT_NE(refusal_of(good.substr(0, length)), "") << length;
  // A damaged file that still parses must be comparable.
  for (std::size_t at = 0; at < good.size(); ++at)
    for (const char other : {'9', '"', ']', '\xff'}) {
      std::string changed = good;
      changed[at] = other;
      if (!refusal_of(changed).empty()) continue;
      for (const MachineReferences& row : references_from_json(changed).machines)
        for (const std::string& name : row.metrics()) reference_runs(row, Metric{.name = name});
    }
}

TEST(References, AFileComesBackAsItWas) {
  const TestFolder folder;
  const std::filesystem::path path = folder.path() / "references.json";
  References references;
  update_references(references, measured_cell(50, 0.1), Metric());
  write_references(references, path);
  EXPECT_EQ(to_json(read_references(path)), to_json(references));
  std::ofstream(path) << "{";
  try {
    read_references(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("references.json': references: not JSON"), std::string::npos)
        << error.what();
  }
  references.machines[0].cells[0].values["wall_seconds"].assign(5000, 1);
  EXPECT_THROW(write_references(references, path), Error) << "what could not be read again is not written";
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "{");
}

}  // namespace
}  // namespace trainyard::record

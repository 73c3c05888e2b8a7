// `trainyard compare --gate` on real runs, and the workflow that docs/recipes shows.

#include <fstream>
#include <set>

#include "base/json.h"
#include "cli/cli_fixture.h"
#include "record/run_record.h"
#include "yaml/yaml_reader.h"

namespace trainyard::cli_test {
namespace {

namespace fs = std::filesystem;

class GateTest : public CliTest {
 protected:
  static constexpr const char* kReferences = "references.json";

  Json read_json(const std::string& name) const { return trainyard::read_json(work() / name); }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(work() / name, std::ios::binary) << text;
  }

  // Two cells of five runs, as small as they can be.
  void measure() const {
    write("tiny.yaml",
          "study: tiny\nrun: bench\nsettings: {network: fc, layers: 2, width: 64, inputs: 64, threads: 1, "
          "steps: 300, "
          "warmup: 3, no_peak: true}\naxes: {batch: [8, 16]}\nreplicates: 5\norder: interleaved\n");
    const CommandResult result = run("study run tiny.yaml --quiet");
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }

  CommandResult gate(const std::string& options = "", const std::string& file = kReferences) const {
    return run("compare results/tiny --gate " + file + " " + options);
  }

  // The same references, as if runs had been so much faster.
  static Json scaled(Json references, double factor) {
    for (Json& machine : references["machines"])
      for (Json& cell : machine["cells"])
        for (auto values = cell["values"].begin(); values != cell["values"].end(); ++values)
          if (values.key().find("_per_second") != std::string::npos)
            for (Json& value : *values) value = value.get<double>() * factor;
    return references;
  }
};

TEST_F(GateTest, RunsPassTheirOwnReferencesAndNotFasterOnes) {
  measure();
  expect_failed(gate(), 1, "there is no 'references.json'; --update makes it");
  const CommandResult updated = gate("--update");
  EXPECT_EQ(updated.exit_code, 0) << updated.err;
  EXPECT_NE(updated.out.find("2 cells added, 0 replaced, of 10 runs"), std::string::npos) << updated.out;
  EXPECT_EQ(std::count(updated.out.begin(), updated.out.end(), '\n'), 1) << updated.out;
  const Json references = read_json(kReferences);
  ASSERT_EQ(references["machines"].size(), 1u);
  ASSERT_EQ(references["machines"][0]["cells"].size(), 2u);
  EXPECT_EQ(references["machines"][0]["cells"][0]["values"]["quiet_images_per_second"].size(), 5u);
  EXPECT_FALSE(references["machines"][0]["cells"][0]["settings"].contains("build"));

  const CommandResult passed = gate("--json");
  EXPECT_EQ(passed.exit_code, 0) << passed.err << passed.out;
  const Json json = parse_json(passed.out);
  EXPECT_EQ(json["cells"].size(), 2u);
  EXPECT_EQ(json["cells"][0]["ratio"], 1);
  EXPECT_EQ(json["cells"][0]["paired_by"], "runs");
  EXPECT_EQ(json["not_compared"].size(), 0u);
  EXPECT_EQ(json["facts_that_differ"].size(), 0u);
  EXPECT_EQ(json["machines"][0], references["machines"][0]["machine"]);

  write("faster.json", json_text(scaled(references, 4)));
  const CommandResult slower = gate("", "faster.json");
  EXPECT_EQ(slower.exit_code, 3) << slower.out << slower.err;
  EXPECT_NE(slower.out.find("2 slower"), std::string::npos) << slower.out;
  EXPECT_EQ(gate("--minimum-effect 5", "faster.json").exit_code, 0);
  EXPECT_EQ(gate("--metric peak_memory_bytes", "faster.json").exit_code, 0);
  write("slower.json", json_text(scaled(references, 0.25)));
  EXPECT_EQ(gate("", "slower.json").exit_code, 0);

  EXPECT_EQ(gate("--update", "faster.json").exit_code, 0);
  EXPECT_EQ(read_json("faster.json"), references) << "the new level is accepted";
}

TEST_F(GateTest, WhatIsMissingOrBrokenDoesNotPass) {
  measure();
  ASSERT_EQ(gate("--update").exit_code, 0);
  const Json references = read_json(kReferences);

  Json another_cell = references;
  Json& cells = another_cell["machines"][0]["cells"];
  cells.push_back(cells[0]);
  cells[2]["settings"]["batch"] = 32;
  write("more.json", json_text(another_cell));
  const CommandResult missing = gate("", "more.json");
  EXPECT_EQ(missing.exit_code, 2) << missing.out;
  EXPECT_NE(missing.err.find("a reference and no good run"), std::string::npos) << missing.err;
  EXPECT_NE(missing.err.find("batch 32"), std::string::npos) << missing.err;
  EXPECT_EQ(parse_json(gate("--json", "more.json").out)["without_good_run"][0]["batch"], 32);

  Json one_cell = references;
  one_cell["machines"][0]["cells"].erase(0);
  write("less.json", json_text(one_cell));
  const CommandResult without_reference = gate("", "less.json");
  EXPECT_EQ(without_reference.exit_code, 0) << without_reference.err;
  EXPECT_NE(without_reference.out.find("only in B"), std::string::npos) << without_reference.out;

  Json other_machine = references;
  other_machine["machines"][0]["machine"] = "Abacus, 7 cores";
  write("elsewhere.json", json_text(other_machine));
  const auto machine = references["machines"][0]["machine"].get<std::string>();
  expect_failed(gate("", "elsewhere.json"), 1,
                "no references for '" + machine + "', it has some for 'Abacus, 7 cores'; --update adds it");
  EXPECT_EQ(gate("--update", "elsewhere.json").exit_code, 0);
  EXPECT_EQ(read_json("elsewhere.json")["machines"].size(), 2u);
  EXPECT_EQ(gate("", "elsewhere.json").exit_code, 0);

  write("broken.json", json_text(references).substr(0, 200));
  expect_failed(gate("", "broken.json"), 1, "'broken.json': references: not JSON");
  expect_failed(gate("--update", "broken.json"), 1, "'broken.json': references: not JSON");
  expect_failed(gate("--metric median_images_per_second"), 1, "the references do not have it");
  expect_failed(gate("--accuracy 0.9"), 1, "no test_accuracy");
  expect_failed(gate("--across batch"), 1, "--across excludes --gate");
  expect_failure("compare results/tiny results/tiny --gate references.json", 1,
                 "'results/tiny' given beside --gate");
  expect_failure("compare results/tiny --update", 1, "--update requires --gate");
}

TEST_F(GateTest, ACrashDoesNotPass) {
  record::RunRecord run;
  run.id = "r1";
  run.command = "bench";
  run.status = record::Status::crash;
  run.reason = "signal 11";
  record::write_run_record(run, work() / "crashed.json");
  write(kReferences, R"({"schema": 1, "machines": []})");
  expect_failure("compare crashed.json --gate references.json", 2, "no run of 'crashed.json' ended well");
  expect_failure("compare crashed.json --gate references.json --update", 2, "crash, signal 11");
}

struct WorkflowStep {
  std::string id, run;
};

// Those that run something.
std::vector<WorkflowStep> steps_of_workflow(const fs::path& file) {
  const auto at = [](const yaml::YamlReader& mapping, const std::string& key) {
    for (const yaml::YamlReader::Entry& entry : mapping.entries())
      if (entry.key == key) return entry.value;
    mapping.complain("no " + key);
  };
  std::vector<WorkflowStep> steps;
  for (const yaml::YamlReader& item :
       at(at(at(yaml::YamlReader::read(file), "jobs"), "gate"), "steps").items()) {
    WorkflowStep step;
    for (const yaml::YamlReader::Entry& entry : item.entries()) {
      if (entry.key == "id") step.id = entry.value.text();
      if (entry.key == "run") step.run = entry.value.text();
    }
    if (!step.run.empty()) steps.push_back(step);
  }
  return steps;
}

TEST_F(GateTest, TheWorkflowOfTheDocsRuns) {
  const std::vector<WorkflowStep> steps = steps_of_workflow("docs/recipes/performance-gate.yml");
  fs::copy("studies", work() / "studies");  // tests run in the root of the tree
  fs::create_directories(work() / "build" / "release");
  fs::create_symlink(trainyard("").front(), work() / "build" / "release" / "trainyard");
  std::set<std::string> ran;
  for (const WorkflowStep& step : steps) {
    if (step.id == "install" || step.id == "build") continue;
    SCOPED_TRACE(step.run);
    EXPECT_TRUE(step.run.starts_with("build/release/trainyard ")) << step.id;
    // The page's libraries come from the network: without it, it is enough that the command is understood.
    const bool fetches = step.id == "report" && std::getenv("TRAINYARD_TEST_NETWORK") == nullptr;
    CommandOptions where = options();
    if (fetches) where.environment["PATH"] = "/nowhere";
    const CommandResult result = cli_test::run({"/bin/bash", "-e", "-o", "pipefail", "-c", step.run}, where);
    if (fetches)
      expect_failed(result, 2, "no program 'npm'");
    else
      EXPECT_EQ(result.exit_code, 0) << step.id << ": " << result.out << result.err;
    ran.insert(step.id);
  }
  EXPECT_EQ(ran, (std::set<std::string>{"accept", "gate", "measure", "report"}));
  EXPECT_TRUE(fs::exists(work() / "studies" / "gate-references.json"));
}

}  // namespace
}  // namespace trainyard::cli_test

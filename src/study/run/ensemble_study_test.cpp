// These tests run studies of ensembles.

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "study/spec/job.h"
#include "study/spec/plan.h"
#include "study/spec/spec.h"

namespace trainyard::study {
namespace {

const CellCheck kAnyEnsemble = [](const record::Settings&) { return std::string(); };

TEST(EnsembleStudy, RunsTheFileWithItsSettings) {
  const Spec spec = parse_spec(
      "study: e\nrun: ensemble\nsettings: {ensemble: four.yaml, rate: 300, no_eval: true}\n"
      "axes: {design: [baseline, all-shared], members: [1, 8]}\n",
      "e.yaml");
  const Plan plan = make_plan(spec, kAnyEnsemble);
  ASSERT_EQ(plan.cells.size(), 4u);
  const Job job = make_job(spec, plan.runs.front(), 1, "trainyard");
  ASSERT_GE(job.command.size(), 4u);
  EXPECT_EQ(std::vector<std::string>(job.command.begin(), job.command.begin() + 4),
            (std::vector<std::string>{"trainyard", "ensemble", "run", "--quiet"}));
  for (const char* word : {"--file=four.yaml", "--rate=300", "--no-eval", "--record={record}"})
    EXPECT_NE(std::find(job.command.begin(), job.command.end(), word), job.command.end()) << word;
}

TEST(EnsembleStudy, OursIsSound) {
  EXPECT_EQ(make_plan(read_spec("studies/ensemble-sharing.yaml"), kAnyEnsemble).cells.size(), 24u);
}

TEST(EnsembleStudy, OtherRunsSettingsAreNotItsOwn) {
  for (const auto& [run, setting] :
       {std::pair("ensemble", "network: lenet"), std::pair("ensemble", "workers: 2"),
        std::pair("bench", "design: baseline"), std::pair("train", "members: 2")}) {
    const std::string text = std::string("study: e\nrun: ") + run + "\nsettings: {" + setting + "}\n";
    expect_error(ErrorKind::config, "e.yaml:3", [&] { make_plan(parse_spec(text, "e.yaml"), kAnyEnsemble); });
  }
}

}  // namespace
}  // namespace trainyard::study

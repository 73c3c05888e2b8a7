// The models that the program carries are those that this code makes of the measurements in this tree.
// Whoever changes either runs scripts/bundled-models.

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "data/get/gzip_file.h"
#include "predict/bundled/bundled_models.h"
#include "predict/kernels/kernel_model.h"
#include "predict/runs/device.h"

namespace trainyard::golden {
namespace {

constexpr const char* kAgain = "run scripts/bundled-models";

TEST(BundledModelsTest, AreMadeOfTheMeasurementsThatAreHere) {
  std::ifstream made_from("src/predict/bundled/models/made-from");
  int files = 0;
  for (std::string sum, name; made_from >> sum >> name; ++files)
    EXPECT_EQ(sum, data::sha256_of_file("studies/measured/" + name)) << name << ": " << kAgain;
  EXPECT_EQ(files, 5);
}

predict::KernelModel carried(const std::string& name) {
  for (const predict::BundledModel& one : predict::bundled_models())
    if (one.name == name)
      return predict::parse_kernel_model(predict::parse_model_container(one.file, one.name), one.name);
  return {};
}

// The samples of a model are in the order of its runs, so that the first runs make the first samples.
void expect_made_by_this_code(const std::string& model, const char* file, const char* device) {
  constexpr std::size_t kRuns = 12;
  const std::filesystem::path folder = "studies/measured";
  std::vector<predict::DeviceSheet> devices = predict::known_devices();
  for (const predict::DeviceSheet& measured : predict::read_devices(folder / "devices.yaml"))
    devices.push_back(measured);
  predict::RunTable table = predict::read_runs(folder / file, device);
  std::erase_if(table.runs, [](const predict::TableRun& run) { return run.kernels.empty(); });
  ASSERT_GT(table.runs.size(), kRuns);
  table.runs.resize(kRuns);
  for (predict::TableRun& run : table.runs) run.memory = {};  // the model of memory takes longer
  const predict::RunSet set = predict::prepare_runs(table, devices);
  std::vector<std::size_t> rows(kRuns);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const predict::KernelModel made = predict::fit_kernel_model(set, rows, false), kept = carried(model);
  ASSERT_GT(made.kernels().size(), 12 * kRuns);
  ASSERT_GT(kept.kernels().size(), made.kernels().size()) << kAgain;
  for (std::size_t k = 0; k < made.kernels().size(); ++k) {
    const predict::KernelObservation &now = made.kernels()[k], &then = kept.kernels()[k];
    ASSERT_EQ(now.shape.kind, then.shape.kind) << kAgain;
    ASSERT_EQ(now.share, then.share) << kAgain;
    ASSERT_NEAR(now.seconds, then.seconds, 1e-3 * then.seconds) << kAgain;
    ASSERT_NEAR(now.shape.bytes, then.shape.bytes, 1e-9 * then.shape.bytes) << kAgain;
    for (std::size_t d = 0; d < now.shape.place.size(); ++d)
      ASSERT_NEAR(now.shape.place[d], then.shape.place[d], 1e-9) << now.shape.kind << ": " << kAgain;
  }
}

TEST(BundledModelsTest, HoldKernelsAsThisCodeSeesThem) {
  expect_made_by_this_code("h200", "h200.jsonl.gz", "H200");
  expect_made_by_this_code("cpu", "cpu.jsonl.gz", "epyc2");
}

}  // namespace
}  // namespace trainyard::golden

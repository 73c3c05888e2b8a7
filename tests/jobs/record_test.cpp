// The record of a run with servers has what docs/formats/run-record.md promises, and figures that fit
// together.

#include <algorithm>
#include <fstream>

#include <fmt/core.h>

#include "base/cores.h"
#include "base/json.h"
#include "jobs/job_fixture.h"

namespace trainyard::jobs_test {
namespace {

TEST_F(JobTest, RecordsSayWhatTheExchangeCameTo) {
  const int steps = 40, workers = 2, batch = 8;
  const Json run = record_of(fmt::format(
      "--network lenet --batch {} --steps {} --workers {} --servers 2 --mode asp --out run --eval-every 20",
      batch, steps, workers));
  EXPECT_EQ(run, read_json(work() / "run" / "record.json"));
  EXPECT_EQ(run["strategy"], "asp");
  EXPECT_EQ(run["servers"], 2);
  EXPECT_EQ(run["transport"], "shm");
  EXPECT_TRUE(run["test_accuracy"].is_number());

  // The record counts the workers' cores and CPU time, wherever the workers ran.
  const auto cores = std::min<std::size_t>(process_cores().size(), workers);
  EXPECT_EQ(run["cores_allowed"], cores);
  EXPECT_GT(run["cpu_seconds"].get<double>(), 0);
  EXPECT_GT(run["cores_used"].get<double>(), 0.05);
  EXPECT_LT(run["cores_used"].get<double>(), static_cast<double>(cores) + 0.5);
  for (const Json& warning : run["warnings"])
    EXPECT_TRUE(warning["kind"] != "cores" || cores < workers) << warning;

  const Json& exchange = run["exchange"];
  for (const char* phase : {"input", "forward", "backward", "push_wait", "apply", "pull"})
    EXPECT_GE(exchange["phase_seconds"][phase].get<double>(), 0) << phase;
  EXPECT_GT(exchange["phase_seconds"]["backward"].get<double>(), 0);
  EXPECT_EQ(exchange["batches_used"], steps);
  EXPECT_EQ(gradients(run), steps);
  double bytes = 0;
  for (const Json& server : exchange["servers"]) {
    std::int64_t in_histogram = 0;
    for (const auto& [staleness, count] : server["staleness"].items())
      in_histogram += count.get<std::int64_t>();
    EXPECT_EQ(in_histogram, steps);
    EXPECT_EQ(server["gradients"], steps);
    EXPECT_EQ(server["updates"], steps);
    EXPECT_GE(server["most_waiting_gradients"], 1);
    EXPECT_GT(server["apply_seconds"].get<double>(), 0);
    // Every gradient comes, and is answered with weights.
    EXPECT_GE(server["bytes_received"], server["elements"].get<std::int64_t>() * 4 * steps);
    bytes += server["bytes_received"].get<double>() + server["bytes_sent"].get<double>();
  }
  EXPECT_EQ(run["exchanged_bytes"].get<double>(), bytes);
}

// Before, they trained by all-reduce, without a server.
TEST_F(JobTest, ServersWithoutAModeReallyServe) {
  const Json run = record_of("--network lenet --batch 8 --steps 4 --workers 2 --servers 2 --no-eval");
  EXPECT_EQ(run["strategy"], "bsp");
  EXPECT_EQ(run["servers"], 2);
  EXPECT_EQ(run["exchange"]["mode"], "bsp");
  ASSERT_EQ(run["exchange"]["servers"].size(), 2u);
  for (const Json& server : run["exchange"]["servers"]) EXPECT_EQ(server["updates"], 4);
}

}  // namespace
}  // namespace trainyard::jobs_test

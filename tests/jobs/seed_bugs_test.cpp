// Tests for the bugs of the servers that ours descend from, one by name for each bug. Half checkpoints are in
// resume_test.cpp; src/ps has tests of the parts.

#include <cmath>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/json.h"
#include "jobs/job_fixture.h"

namespace trainyard::jobs_test {
namespace {

class SeedBug : public JobTest {
 protected:
  static std::string job(int workers, int servers, const std::string& mode, int steps) {
    return fmt::format(
        "--network lenet --batch 4 --workers {} --servers {} --mode {} --steps {} --lease 30 --no-eval",
        workers, servers, mode, steps);
  }
};

// A flag said that all gradients are here, and was cleared by who read it: with luck a worker took part in
// one round twice, and another not at all.
TEST_F(SeedBug, SyncFlagRace) {
  const Json record = record_of(job(3, 2, "bsp", 40));
  for (const auto& [worker, count] : record["exchange"]["gradients_by_worker"].items())
    EXPECT_EQ(count, 40) << "worker " << worker;
  for (const Json& server : record["exchange"]["servers"]) {
    EXPECT_EQ(server["updates"], 40);
    EXPECT_EQ(server["gradients"], 120);
    EXPECT_EQ(server["staleness"], (Json{{"0", 120}}));
  }
}

// Workers went on at once, and what they sent was kept for as long as the server needed.
TEST_F(SeedBug, UnboundedQueue) {
  const Json record = record_of(job(3, 1, "lazy", 150));
  const Json& server = record["exchange"]["servers"][0];
  EXPECT_EQ(server["gradients"], 150);
  EXPECT_GE(server["most_waiting_gradients"], 1);
  EXPECT_LE(server["most_waiting_gradients"], 4 * 3) << "a few of each worker";
  for (const auto& [staleness, count] : server["staleness"].items())
    EXPECT_LE(std::stoi(staleness), 8 * 3) << count << " gradients";
}

// Whole tensors were given to servers, and one of them had nearly all.
TEST_F(SeedBug, NinetyThreeToSevenSplit) {
  const Json record = record_of(job(1, 3, "asp", 4));
  double least = 1e18, most = 0;
  for (const Json& server : record["exchange"]["servers"]) {
    least = std::min(least, server["elements"].get<double>());
    most = std::max(most, server["elements"].get<double>());
  }
  EXPECT_LT(most / least, 1.02);
}

// The number of workers was two, in the source.
TEST_F(SeedBug, TwoWorkersHardCoded) {
  for (const int workers : {1, 3, 5}) {
    const Json record = record_of(job(workers, 2, "asp", 10 * workers));
    EXPECT_EQ(record["exchange"]["gradients_by_worker"].size(), static_cast<std::size_t>(workers));
    EXPECT_EQ(gradients(record), 10 * workers);
  }
}

// The old servers counted calls, about twelve to a gradient.
TEST_F(SeedBug, RatesTwelveTimesTooHigh) {
  for (const char* mode : {"bsp", "asp"}) {
    const int updates = 60, batches = std::string(mode) == "bsp" ? 2 * updates : updates;
    const double began = now_seconds();
    const Json record = record_of(job(2, 1, mode, updates));
    const double wall = now_seconds() - began;
    const auto seconds = record["exchange"]["seconds"].get<double>(),
               rate = record["gradients_per_second"].get<double>();
    EXPECT_EQ(gradients(record), batches);
    EXPECT_EQ(record["images_consumed"], batches * 4);
    EXPECT_NEAR(rate, batches / seconds, 1e-6 * rate);
    EXPECT_GT(rate, batches / wall);
    EXPECT_LT(seconds, wall);
    // The median of steps against all of them: between them is what disturbed the machine.
    EXPECT_NEAR(std::log(record["images_per_second"].get<double>() / (4 * rate)), 0, std::log(2.0)) << mode;
  }
}

}  // namespace
}  // namespace trainyard::jobs_test

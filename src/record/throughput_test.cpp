#include "record/throughput.h"

#include <gtest/gtest.h>

namespace trainyard::record {
namespace {

// 22 June 2018: towers on n GPUs fed batch x n images a step, and printed batch / time
// (specs/benchmarking.md 4.2).
TEST(Throughput, CountedImagesCorrectThePublishedSpeeds) {
  struct Row {
    std::int64_t batch;
    int devices;
    double printed, corrected;
  };
  const Row rows[] = {{1024, 1, 13142.6, 13143}, {1024, 2, 11545.5, 23091}, {1024, 4, 8221.2, 32885},
                      {512, 2, 7801.1, 15602},   {512, 4, 7454.3, 29817},   {1024, 2, 38752.8, 77506}};
  for (const Row& row : rows) {
    const std::int64_t steps = 5000;
    const double step_seconds = static_cast<double>(row.batch) / row.printed;
    std::int64_t consumed = 0;
    for (std::int64_t step = 0; step < steps; ++step)
      for (int device = 0; device < row.devices; ++device) consumed += row.batch;
    const Throughput counted{consumed, steps, row.devices};
    EXPECT_NEAR(counted.images_per_second(step_seconds), row.corrected, 1);
    EXPECT_NEAR(counted.images_per_second_per_device(step_seconds), row.printed, 1);
  }
}

TEST(Throughput, NoStepsNoImages) { EXPECT_EQ(Throughput{}.images_per_step(), 0); }

}  // namespace
}  // namespace trainyard::record

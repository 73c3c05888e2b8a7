#include "analyze/step_model.h"

#include <gtest/gtest.h>

#include "analyze/bottleneck.h"
#include "analyze/test_points.h"
#include "base/philox.h"

namespace trainyard::analyze {
namespace {

StepModel device(double speed) {
  return {1e-3, 2e-4, 1, 1e-13 / speed, 1e-12 / speed, 2e-11 / speed, 1e-9 / speed, 1e-5, 4};
}

std::vector<Point> sweep(const StepModel& model, double noise) {
  std::vector<Point> points;
  const Philox draws(11, 3);
  for (const std::int64_t layers : {4, 8, 16, 32})
    for (const std::int64_t width : {32, 128, 512, 2048})
      for (const std::int64_t batch : {64, 512, 4096}) {
        const auto l = static_cast<double>(layers), n = static_cast<double>(width),
                   b = static_cast<double>(batch);
        Point point = make_point(
            {{"layers", layers}, {"width", width}, {"batch", batch}, {"inputs", 2000}, {"classes", 10}},
            {{"flops_per_step", 6 * b * l * n * n},
             {"bytes_per_step", 4 * (8 * b * n * l + 10 * l * n * n)},
             {"parameters", l * (n * n + n) + n * 2001 + 10 * (n + 1)}});
        point.keys["network"] = std::string("fc");
        const double off = noise * (2 * to_unit_float(draws.word(points.size())) - 1);
        point.metrics["step_seconds"] = model.predict(*work_of(point)) * std::exp(off);
        points.push_back(std::move(point));
      }
  return points;
}

std::vector<StepSample> samples_of(const std::vector<Point>& points) {
  std::vector<StepSample> samples;
  for (const Point& point : points) samples.push_back({*work_of(point), point.metric("step_seconds")});
  return samples;
}

TEST(StepModel, AStepIsTheSlowerOfHostAndDevice) {
  const StepModel model = device(1);
  const StepWork small{8, 1e6, 1e6, 1e4, 1e3}, large{8, 1e14, 1e11, 1e9, 1e5};
  EXPECT_NEAR(model.predict(small), model.parts(small).launch, 1e-6);
  EXPECT_NEAR(model.predict(large) / model.parts(large).device(), 1, 1e-3);
}

TEST(StepModel, IsFoundAgainFromWhatItPredicts) {
  const std::vector<StepSample> samples = samples_of(sweep(device(1), 0.05));
  const StepModel found = fit_step_model(samples);
  EXPECT_NEAR(found.seconds_per_flop / 1e-13, 1, 0.1);
  for (const StepSample& sample : samples_of(sweep(device(1), 0)))
    EXPECT_NEAR(found.predict(sample.work) / sample.seconds, 1, 0.15);
}

TEST(StepModel, FewWildPointsDoNotLeadIt) {
  std::vector<StepSample> samples = samples_of(sweep(device(1), 0.02));
  for (std::size_t i = 0; i < samples.size(); i += 9) samples[i].seconds *= 20;
  const StepModel found = fit_step_model(samples);
  EXPECT_NEAR(found.seconds_per_flop / 1e-13, 1, 0.2);
  for (const StepSample& sample : samples_of(sweep(device(1), 0)))
    EXPECT_NEAR(found.predict(sample.work) / sample.seconds, 1, 0.2);
}

TEST(StepModel, FindsAHostThatCannotMakeBatchesFastEnough) {
  StepModel fed = device(1);
  fed.seconds_per_image = 3e-5;
  const StepModel found = fit_step_model(samples_of(sweep(fed, 0.05)));
  EXPECT_NEAR(found.seconds_per_image / 3e-5, 1, 0.1);
  EXPECT_EQ(fit_step_model(samples_of(sweep(device(1), 0.05))).seconds_per_image, 0);
  std::map<Limit, std::size_t> counts = count_limits(find_limits(sweep(fed, 0)));
  EXPECT_GT(counts[Limit::host], 10u);
  EXPECT_GT(counts[Limit::launch], 0u);
  std::vector<Point> known = sweep(fed, 0);  // that nothing waited
  for (Point& point : known) point.metrics["input_wait_fraction"] = 0;
  EXPECT_EQ(count_limits(find_limits(known))[Limit::host], 0u);
}

TEST(Bottleneck, NamesWhatAStepWaitsFor) {
  std::vector<Point> points = sweep(device(1), 0);
  const auto limit_at = [&](std::int64_t layers, std::int64_t width, std::int64_t batch) -> std::string {
    for (const LimitedGroup& group : find_limits(points))
      for (const LimitedPoint& point : group.points)
        if (point.point->keys.at("layers") == record::Value(layers) &&
            point.point->keys.at("width") == record::Value(width) &&
            point.point->keys.at("batch") == record::Value(batch))
          return name(point.limit);
    return "none";
  };
  EXPECT_EQ(limit_at(32, 32, 64), "launch");
  EXPECT_EQ(limit_at(32, 2048, 4096), "compute");
  EXPECT_EQ(limit_at(32, 2048, 64), "bandwidth");
  points[0].metrics["input_wait_fraction"] = 0.8;
  EXPECT_EQ(limit_at(4, 32, 64), "host");
  points[1].status = record::Status::oom;
  std::size_t all = 0;
  for (const auto& [limit, count] : count_limits(find_limits(points))) all += count;
  EXPECT_EQ(all, points.size() - 1);
}

TEST(Bottleneck, TracesAreToldByTheRidge) {
  std::vector<Point> points{make_point({}, {{"flops_per_byte", 10}}),
                            make_point({}, {{"flops_per_byte", 100}}),
                            make_point({}, {{"images_per_second", 100}})};
  EXPECT_TRUE(find_limits(points).empty());
  const std::map<Limit, std::size_t> counts = count_limits(find_limits(points, {75, 1}));
  EXPECT_EQ(counts.at(Limit::bandwidth), 1u);
  EXPECT_EQ(counts.at(Limit::compute), 1u);
  EXPECT_EQ(counts.size(), 2u);
}

}  // namespace
}  // namespace trainyard::analyze

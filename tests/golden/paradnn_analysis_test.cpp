// Figures recomputed from the files that ParaDnn and its re-make published, independently of this program
// (specs/paradnn.md, 5.1). Those of half precision are not here: only the f32 rows of the re-make are at
// hand.

#include <cmath>

#include "analyze/analysis.h"
#include "analyze/bottleneck.h"
#include "analyze/op_breakdown.h"
#include "analyze/regression.h"
#include "analyze/roofline.h"
#include "analyze/speedup.h"
#include "golden/published.h"
#include "stats/statistics.h"

namespace trainyard::golden {
namespace {

using analyze::JoinedPoint;
using analyze::Point;
using analyze::Regression;

constexpr const char* kGpu = "paradnn/gpu_fc.json";
constexpr const char* kTpu = "paradnn/tpu_fc.json";
constexpr const char* kTrace = "paradnn/fc_trace_10sec.json";
constexpr const char* kOps = "paradnn/fc_trace_10sec_opbreakdown.json";
constexpr const char* kA100 = "pytorch-paradnn/fc_A100.f32.csv";
constexpr const char* kT4 = "pytorch-paradnn/fc_T4.f32.csv";

const std::vector<std::string> kAll{"layers", "width", "inputs", "classes", "batch"};
const analyze::Roofs kTpuV2{180e12, 2400e9};

void expect_weights(const std::vector<Point>& points, const std::string& metric,
                    const std::vector<std::string>& dimensions, const std::vector<double>& weights, double r2,
                    double tolerance_r2) {
  const Regression found = analyze::standardised_weights(points, dimensions, metric, 1);
  ASSERT_EQ(found.weights.size(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(found.weights[i], weights[i], 0.5001e-4) << metric << " " << dimensions[i];
  if (r2 > 0) {
    EXPECT_NEAR(found.r2, r2, tolerance_r2) << metric;
  }
}

// The published recomputation takes the upper of the two middle values of an even number.
double upper_median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

std::size_t count_ok(const std::vector<Point>& points) {
  return static_cast<std::size_t>(
      std::count_if(points.begin(), points.end(), [](const Point& point) { return point.ok(); }));
}

TEST_F(PublishedTest, EveryRowIsARecord) {
  const std::vector<Point> gpu = points(kGpu), tpu = points(kTpu), a100 = points(kA100), t4 = points(kT4);
  EXPECT_EQ(gpu.size(), 270u);
  EXPECT_EQ(count_ok(gpu), 176u);
  EXPECT_EQ(tpu.size(), 1944u);
  EXPECT_EQ(count_ok(tpu), 1724u);
  EXPECT_EQ(
      std::count_if(tpu.begin(), tpu.end(), [](const Point& p) { return p.status == record::Status::oom; }),
      220);
  EXPECT_EQ(points(kTrace).size(), 230u);
  EXPECT_EQ(points(kOps).size(), 230u);
  EXPECT_EQ(a100.size(), 8539u);
  EXPECT_EQ(t4.size(), 7470u);
  EXPECT_EQ(runs(kT4).size(), 7650u);
}

TEST_F(PublishedTest, RegressionWeights) {
  const std::vector<Point> gpu = points(kGpu), tpu = points(kTpu);
  expect_weights(gpu, "published_flops_per_second", kAll, {0.1895, 0.7202, 0, 0, 0.1820}, 0.523, 0.5e-3);
  expect_weights(tpu, "published_flops_per_second", kAll, {0.1228, 0.4655, -0.0414, -0.0125, 0.4725}, 0.4289,
                 0.5e-4);
  const auto mae = [](const std::vector<Point>& points) {
    return analyze::standardised_weights(points, kAll, "published_flops_per_second", 1).mean_absolute_error;
  };
  EXPECT_NEAR(mae(gpu), 0.4073, 0.5e-4);
  EXPECT_NEAR(mae(tpu), 0.4821, 0.5e-4);
  const std::vector<Point> trace = points(kTrace);
  expect_weights(trace, "peak_fraction", {"layers", "width", "batch"}, {0.2091, 0.5383, 0.5332}, 0.5079,
                 0.5e-4);
  expect_weights(trace, "input_wait_fraction", {"layers", "width", "batch"}, {-0.4020, -0.6031, 0.2988}, 0,
                 0);
}

TEST_F(PublishedTest, RegressionWeightsOfTheRemake) {
  const std::vector<std::string> order{"layers", "width", "batch", "inputs", "classes"};
  expect_weights(points(kA100), "published_flops_per_second", order,
                 {-0.0256, 0.4742, 0.4847, 0.0714, 0.0054}, 0.459, 0.5e-3);
  // A duplicated point is one here, and two rows there: 180 rows of 7650 move the weights in the fourth
  // digit.
  std::vector<Point> rows;
  for (const record::RunRecord& run : runs(kT4)) rows.push_back(analyze::make_points({&run, 1}).front());
  expect_weights(rows, "published_flops_per_second", order, {-0.0943, 0.2954, 0.5570, 0.0942, 0.0037}, 0.412,
                 0.5e-3);
}

TEST_F(PublishedTest, OrderTwoAndLogarithmsExplainMore) {
  const std::vector<Point> tpu = points(kTpu);
  const double first = analyze::standardised_weights(tpu, kAll, "published_flops_per_second", 1).r2,
               second = analyze::standardised_weights(tpu, kAll, "published_flops_per_second", 2).r2;
  const analyze::LogRegression power = analyze::fit_power_law(tpu, kAll, "published_flops_per_second", 2);
  EXPECT_GT(second, first + 0.2);
  EXPECT_GT(power.cross_validated_r2, 0.9);
  EXPECT_LE(power.cross_validated_r2, power.r2);
}

TEST_F(PublishedTest, TpuOverGpu) {
  const std::vector<Point> gpu = points(kGpu), tpu = points(kTpu);
  EXPECT_EQ(analyze::keys_apart(gpu, tpu), std::set<std::string>{"device"});
  const std::vector<JoinedPoint> joined = analyze::join_points(gpu, tpu, "images_per_second", {"device"});
  ASSERT_EQ(joined.size(), 176u);
  const analyze::RatioSummary all = analyze::summarise_ratios(joined);
  EXPECT_NEAR(all.mean, 4.791, 0.5e-3);
  std::vector<double> all_ratios;
  for (const JoinedPoint& point : joined) all_ratios.push_back(point.ratio);
  EXPECT_NEAR(upper_median(all_ratios), 3.829, 0.5e-3);
  EXPECT_NEAR(all.median, 3.795, 0.5e-3);  // the mean of both
  EXPECT_NEAR(all.min, 0.212, 0.5e-3);
  EXPECT_NEAR(all.max, 11.695, 0.5e-3);
  EXPECT_NEAR(all.below_one, 0.227, 0.5e-3);
  const auto expect_means = [&](const std::string& dimension, const std::vector<double>& means) {
    const auto by = analyze::ratios_by(joined, dimension);
    ASSERT_EQ(by.size(), means.size()) << dimension;
    std::size_t i = 0;
    for (const auto& [value, summary] : by)
      EXPECT_NEAR(summary.mean, means[i++], 0.005) << dimension << " " << value;
  };
  expect_means("batch", {1.17, 1.94, 2.33, 3.21, 4.52, 5.74, 7.80, 8.14, 9.17});
  expect_means("width", {6.07, 6.55, 5.64, 2.00, 0.70});
  for (const auto& [layers, summary] : analyze::ratios_by(joined, "layers")) {
    EXPECT_GT(summary.mean, 4.05) << layers;
    EXPECT_LT(summary.mean, 4.95) << layers;
  }
  const std::vector<Point> ratios = analyze::ratio_points(joined);
  expect_weights(ratios, "speedup", {"layers", "width", "batch"}, {-0.1299, -0.4985, 0.6020}, 0.5802, 0.5e-4);
  const analyze::Classification faster =
      analyze::classify_above(ratios, {"layers", "width", "batch"}, "speedup", 1, true);
  EXPECT_NEAR(faster.base_rate, 0.773, 0.5e-3);
  EXPECT_GT(faster.cross_validated_accuracy, 0.85);
}

TEST_F(PublishedTest, A100OverT4) {
  const std::vector<Point> a100 = points(kA100);
  // A point that was measured twice on the T4 counts by the median of both.
  const std::vector<Point> t4 = points(kT4);
  const std::vector<JoinedPoint> joined = analyze::join_points(t4, a100, "images_per_second", {"device"});
  ASSERT_EQ(joined.size(), 7470u);
  const analyze::RatioSummary all = analyze::summarise_ratios(joined);
  EXPECT_NEAR(all.geometric_mean, 1.77, 0.005);
  EXPECT_NEAR(all.median, 1.51, 0.005);
  EXPECT_NEAR(all.max, 5.86, 0.005);
  EXPECT_NEAR(all.below_one, 0.187, 0.5e-3);
  const auto by_width = analyze::ratios_by(joined, "width");
  EXPECT_GT(by_width.at(32).mean, 0.95);
  EXPECT_LT(by_width.at(32).mean, 1.15);
  EXPECT_NEAR(by_width.at(8192).mean, 4.75, 0.05);
}

TEST_F(PublishedTest, Utilisation) {
  const auto best = [&](const std::vector<Point>& points, double peak, const char* rate) {
    return *analyze::best_utilisation(points, {peak, 0}, rate);
  };
  const std::vector<Point> gpu = points(kGpu), tpu = points(kTpu), a100 = points(kA100), t4 = points(kT4);
  const analyze::BestUse v100 = best(gpu, 125e12, "published_flops_per_second");
  EXPECT_NEAR(v100.flops_per_second, 86.3e12, 0.05e12);
  EXPECT_NEAR(v100.utilisation, 0.690, 0.5e-3);
  EXPECT_EQ(v100.point->key("layers"), 8);
  EXPECT_EQ(v100.point->key("width"), 8192);
  EXPECT_EQ(v100.point->key("batch"), 16384);
  const analyze::BestUse v2 = best(tpu, 180e12, "published_flops_per_second");
  EXPECT_NEAR(v2.flops_per_second, 115.7e12, 0.05e12);
  EXPECT_NEAR(v2.utilisation, 0.643, 0.5e-3);
  EXPECT_EQ(v2.point->key("inputs"), 8000);
  // As executed, no row of an A100 is above its peak; as published, some are.
  EXPECT_NEAR(best(a100, 19.5e12, "published_flops_per_second").utilisation, 1.04, 0.005);
  const analyze::BestUse executed = best(a100, 19.5e12, "flops_per_second");
  EXPECT_NEAR(executed.flops_per_second, 18.52e12, 0.005e12);
  EXPECT_NEAR(executed.utilisation, 0.950, 0.5e-3);
  EXPECT_EQ(executed.point->key("layers"), 32);
  EXPECT_EQ(executed.point->key("width"), 4096);
  EXPECT_NEAR(best(t4, 8.1e12, "flops_per_second").flops_per_second, 5.39e12, 0.005e12);
  EXPECT_NEAR(best(t4, 8.1e12, "published_flops_per_second").flops_per_second, 5.75e12, 0.005e12);
}

TEST_F(PublishedTest, HeatMapHasAllOutOfMemory) {
  const std::vector<Point> tpu = points(kTpu);
  const analyze::HeatMap map = analyze::make_heat_map(tpu, kAll, [](const Point& point) {
    return analyze::utilisation(point, kTpuV2, "published_flops_per_second");
  });
  EXPECT_EQ(map.columns.size() * map.rows.size() * map.panels.size(), map.cells.size());
  int failed = 0, cells_without = 0;
  for (const analyze::HeatCell& cell : map.cells) {
    failed += cell.failed;
    cells_without += cell.points == 0 ? 1 : 0;
    if (cell.points == 0) {
      EXPECT_EQ(cell.status, record::Status::oom);
    }
  }
  EXPECT_EQ(failed, 220);
  EXPECT_GT(cells_without, 40);
}

TEST_F(PublishedTest, MemoryRuleOfTheTpu) {
  // A core has an eighth of the batch and 8 GB: 12 bytes a parameter, two copies of activations of 2 bytes,
  // input.
  double largest_finished = 0, smallest_failed = 1e300;
  for (const Point& point : points(kTpu)) {
    const double batch = point.key("batch") / 8, layers = point.key("layers"), width = point.key("width");
    const double weights =
        (layers - 1) * width * width + width * (point.key("inputs") + point.key("classes"));
    const double bytes = 12 * weights + 4 * batch * layers * width + 2 * batch * point.key("inputs");
    if (point.ok())
      largest_finished = std::max(largest_finished, bytes);
    else
      smallest_failed = std::min(smallest_failed, bytes);
  }
  EXPECT_NEAR(largest_finished, 7.79e9, 0.01e9);
  EXPECT_NEAR(smallest_failed, 8.61e9, 0.01e9);
}

TEST_F(PublishedTest, TraceIdentities) {
  const std::vector<Point> steps = points(kTrace), ops = points(kOps);
  for (const Point& point : steps)
    EXPECT_NEAR(point.metric("peak_fraction") /
                    (51.0 / 3800 * point.metric("flops_per_byte") * point.metric("bandwidth_fraction")),
                1, 1e-9);
  const std::vector<JoinedPoint> joined = analyze::join_points(steps, ops, "flops_per_step", {});
  ASSERT_EQ(joined.size(), 230u);
  for (const JoinedPoint& point : joined) {
    double sum = 0;
    for (const analyze::OpCategory& category : point.b->ops)
      sum += category.peak_fraction * category.time_fraction;
    EXPECT_NEAR(sum / point.a->metric("peak_fraction"), 1, 1e-14);
  }
}

TEST_F(PublishedTest, RooflineOfTheTpu) {
  const std::vector<Point> traced = analyze::make_points([&] {
    std::vector<record::RunRecord> both = runs(kTrace);
    for (record::RunRecord& run : runs(kOps)) both.push_back(run);
    return both;
  }());
  ASSERT_EQ(traced.size(), 230u);  // joined by their keys
  EXPECT_DOUBLE_EQ(kTpuV2.ridge(), 75);
  const auto steps = analyze::model_roofline(traced, kTpuV2);
  EXPECT_EQ(steps.size(), 230u);
  EXPECT_EQ(analyze::count_below_ridge(steps), 191u);
  std::vector<analyze::RooflinePoint> products;
  for (const analyze::RooflinePoint& op : analyze::op_roofline(traced, kTpuV2, 0))
    if (op.category == "output fusion") products.push_back(op);
  EXPECT_EQ(products.size(), 230u);
  EXPECT_EQ(analyze::count_below_ridge(products), 118u);
}

TEST_F(PublishedTest, OpBreakdownOfTheTpu) {
  const std::vector<Point> ops = points(kOps);
  const std::vector<analyze::CategoryShare> all = analyze::break_down(ops);
  const auto share = [](const std::vector<analyze::CategoryShare>& shares, const std::string& name) {
    for (const analyze::CategoryShare& one : shares)
      if (one.category == name) return one;
    return analyze::CategoryShare{};
  };
  ASSERT_EQ(all.size(), 8u);  // nine with the loop that holds others
  EXPECT_EQ(all[0].category, "infeed");
  EXPECT_NEAR(share(all, "infeed").time_fraction, 0.273, 0.5e-3);
  EXPECT_NEAR(share(all, "output fusion").time_fraction, 0.182, 0.5e-3);
  EXPECT_NEAR(share(all, "cross-replica-sum").time_fraction, 0.160, 0.5e-3);
  EXPECT_NEAR(share(all, "loop fusion").time_fraction, 0.156, 0.5e-3);
  EXPECT_NEAR(share(all, "non-fusion elementwise").time_fraction, 0.071, 0.5e-3);
  const std::vector<double> communication{0.245, 0.228, 0.195, 0.174, 0.137, 0.101, 0.078},
      products{0.300, 0.449, 0.565, 0.608, 0.677, 0.703, 0.732};
  std::size_t i = 0;
  for (const auto& [batch, shares] : analyze::break_down_by(ops, "batch"))
    EXPECT_NEAR(share(shares, "cross-replica-sum").time_fraction, communication.at(i++), 0.5e-3) << batch;
  EXPECT_EQ(i, 7u);
  i = 0;
  for (const auto& [width, shares] : analyze::break_down_by(ops, "width"))
    EXPECT_NEAR(share(shares, "output fusion").peak_fraction, products.at(i++), 0.5e-3) << width;
  EXPECT_EQ(i, 7u);
}

TEST_F(PublishedTest, LaunchFloor) {
  const auto milliseconds = [](const std::vector<record::RunRecord>& runs, std::int64_t layers) {
    std::vector<double> found;
    for (const record::RunRecord& run : runs)
      if (run.asked.at("width") == record::Value(std::int64_t{32}) &&
          run.asked.at("batch") == record::Value(std::int64_t{64}) &&
          run.asked.at("layers") == record::Value(layers))
        found.push_back(1e3 * run.figures.at("mean_step_seconds"));
    return upper_median(found);
  };
  const std::vector<record::RunRecord> a100 = runs(kA100), t4 = runs(kT4);
  EXPECT_NEAR(milliseconds(a100, 4), 2.70, 0.01);
  EXPECT_NEAR(milliseconds(a100, 128), 30.3, 0.05);
  EXPECT_NEAR(milliseconds(t4, 4), 2.46, 0.005);
  EXPECT_NEAR(milliseconds(t4, 128), 35.9, 0.05);
}

// The host made its batches, 30 us an image: small networks with large batches wait for that, whatever they
// are.
TEST_F(PublishedTest, TheGpuWaitedForItsHost) {
  const std::vector<Point> gpu = points(kGpu);
  const std::vector<analyze::LimitedGroup> groups = analyze::find_limits(gpu);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].fitted, 176u);
  EXPECT_LT(groups[0].mean_relative_error, 0.06);
  EXPECT_NEAR(groups[0].model.seconds_per_image, 30e-6, 2e-6);
  for (const analyze::LimitedPoint& one : groups[0].points) {
    const Point& point = *one.point;
    if (point.key("width") > 512 || point.key("layers") > 16 || point.key("batch") < 1024) continue;
    EXPECT_EQ(one.limit, analyze::Limit::host) << record::to_text(point.keys);
  }
}

TEST_F(PublishedTest, RepeatedPointsOfTheT4) {
  std::map<record::Settings, std::vector<double>> seconds;
  for (const record::RunRecord& run : runs(kT4))
    seconds[run.asked].push_back(run.figures.at("mean_step_seconds"));
  std::vector<double> gaps;
  for (const auto& [settings, both] : seconds)
    if (both.size() == 2) gaps.push_back(std::abs(both[0] - both[1]) / std::min(both[0], both[1]));
  ASSERT_EQ(gaps.size(), 180u);
  EXPECT_NEAR(upper_median(gaps), 0.066, 0.5e-3);
  EXPECT_NEAR(stats::quantile(gaps, 0.9), 0.68, 0.005);
  EXPECT_NEAR(*std::max_element(gaps.begin(), gaps.end()), 1.05, 0.005);
}

}  // namespace
}  // namespace trainyard::golden

#include "analyze/bursts.h"

#include <gtest/gtest.h>

#include "analyze/op_breakdown.h"
#include "base/philox.h"
#include "stats/statistics.h"

namespace trainyard::analyze {
namespace {

double uniform(std::uint64_t stream, std::uint64_t index) {
  return static_cast<double>(mix_streams(stream, index) >> 11) * 0x1p-53;
}

double squares_within(const std::vector<double>& values, const std::vector<double>& weights,
                      double boundary) {
  double squares = 0;
  for (const bool high : {false, true}) {
    double weight = 0, sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      if ((values[i] > boundary) == high) {
        weight += weights[i];
        sum += weights[i] * values[i];
      }
    for (std::size_t i = 0; i < values.size(); ++i)
      if ((values[i] > boundary) == high) squares += weights[i] * std::pow(values[i] - sum / weight, 2);
  }
  return squares;
}

TEST(TwoMeansOfASignal, IsTheBestOfAllSplits) {
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    std::vector<double> values, weights;
    const std::size_t count = 2 + trial % 30;
    for (std::size_t i = 0; i < count; ++i) {
      values.push_back(std::round(20 * uniform(trial, 2 * i)) + (trial % 3 == 0 ? 1e9 : 0));
      weights.push_back(0.1 + uniform(trial, 2 * i + 1));
    }
    const auto levels = stats::two_means(values, weights);
    if (std::equal(values.begin() + 1, values.end(), values.begin())) {
      EXPECT_FALSE(levels);
      continue;
    }
    ASSERT_TRUE(levels);
    EXPECT_LT(levels->low, levels->high);
    const double found = squares_within(values, weights, levels->boundary());
    for (const double boundary : values)
      if (boundary < *std::max_element(values.begin(), values.end())) {
        EXPECT_LE(found, squares_within(values, weights, boundary) * (1 + 1e-6) + 1e-6) << trial;
      }
  }
}

TEST(TwoMeansOfASignal, NeitherOrderNorRepetitionTurnsLevelsAround) {
  for (std::uint64_t trial = 0; trial < 100; ++trial) {
    // The series has a few values of one level and many of the other, either way round.
    std::vector<double> values;
    for (std::size_t i = 0; i < 40; ++i) values.push_back((i < 1 + trial % 38 ? 80 : 10) + uniform(trial, i));
    const std::vector<double> equal(values.size(), 1.0);
    const auto levels = stats::two_means(values, equal);
    std::vector<double> shuffled = values;
    for (std::size_t i = shuffled.size(); i-- > 1;)
      std::swap(shuffled[i], shuffled[mix_streams(trial, 1000 + i) % (i + 1)]);
    const auto again = stats::two_means(shuffled, equal);
    ASSERT_TRUE(levels && again);
    EXPECT_EQ(levels->low, again->low);
    EXPECT_EQ(levels->high, again->high);
    EXPECT_EQ(levels->high_share, again->high_share);
    // The same job runs twice as long.
    values.insert(values.end(), shuffled.begin(), shuffled.end());
    const auto longer = stats::two_means(values, std::vector<double>(values.size(), 1.0));
    ASSERT_TRUE(longer);
    EXPECT_NEAR(longer->low, levels->low, 1e-9);
    EXPECT_NEAR(longer->high, levels->high, 1e-9);
    EXPECT_DOUBLE_EQ(longer->high_share, levels->high_share);
    EXPECT_NEAR(levels->high_share, static_cast<double>(1 + trial % 38) / 40, 1e-12);
  }
}

struct Wave {
  double duty = 0.5, period = 1, low = 0.02, high = 0.95, phase = 0;
  double at(double seconds) const {
    const double turn = (seconds + phase) / period;
    return turn - std::floor(turn) < duty ? high : low;
  }
};

// A sampler reads the wave at 50 Hz with noise, and is late now and then.
Signal sampled(const Wave& wave, double seconds, std::uint64_t seed, double noise = 0) {
  Signal signal{"gpu0_busy_fraction", {0}, {}, 1.0};
  for (std::uint64_t i = 1; signal.edges.back() < seconds; ++i) {
    const double late = uniform(seed, 3 * i) < 0.05 ? 0.03 * uniform(seed, 3 * i + 1) : 0;
    const double now = std::max(0.02 * static_cast<double>(i) + late, signal.edges.back() + 0.005);
    signal.edges.push_back(now);
    signal.values.push_back(wave.at(now) + noise * (uniform(seed, 3 * i + 2) - 0.5));
  }
  return signal;
}

TEST(Bursts, DutyCyclesAreRecovered) {
  std::uint64_t seed = 0;
  for (const double duty : {0.1, 0.25, 0.5, 0.75, 0.9})
    for (const double period : {0.53, 1.07, 2.03}) {  // no multiples of the time between samples
      const BurstProfile profile = find_bursts(sampled({duty, period, 0.02, 0.95, 0.3}, 20, ++seed, 0.2));
      EXPECT_NEAR(profile.burst_share(), duty, 0.02) << duty << " " << period;
      EXPECT_NEAR(profile.burst.seconds + profile.idle.seconds, profile.seconds, 1e-9);
      EXPECT_NEAR(profile.burst.median_seconds, duty * period, 0.03);
      EXPECT_NEAR(profile.idle.median_seconds, (1 - duty) * period, 0.03);
      EXPECT_NEAR(profile.burst.mean, 0.95, 0.02);
      EXPECT_NEAR(profile.idle.mean, 0.02, 0.02);
      EXPECT_NEAR(static_cast<double>(profile.burst.count), 20 / period, 1.5);
      ASSERT_TRUE(profile.period) << duty << " " << period;
      EXPECT_NEAR(profile.period->seconds, period, 0.02 * period);
      EXPECT_GT(profile.explained, 0.9);
    }
}

TEST(Bursts, OneNoisySampleSplitsNothing) {
  Signal signal = sampled({0.5, 2, 0.1, 0.9, 0}, 6, 7);
  const BurstProfile clean = find_bursts(signal);
  signal.values[20] = 0.1;   // in a burst
  signal.values[75] = 0.95;  // in an idle time
  const BurstProfile noisy = find_bursts(signal);
  EXPECT_EQ(noisy.lone_samples, clean.lone_samples + 2);
  EXPECT_EQ(noisy.burst.count, clean.burst.count);
  EXPECT_EQ(noisy.burst.seconds, clean.burst.seconds);
  signal.values[21] = 0.1;
  EXPECT_EQ(find_bursts(signal).burst.count, clean.burst.count + 1);
}

TEST(Bursts, SamplesFarFromAllOthersHideNoLevels) {
  const Signal wave = sampled({0.5, 2, 0.1, 0.9, 0}, 6, 7);
  const BurstProfile clean = find_bursts(wave);
  ASSERT_TRUE(clean.has_bursts());
  for (const double far : {5.0, 20.0, 500.0}) {
    Signal signal = wave;
    signal.values[75] = far;
    signal.values[200] = 3 * far;
    const BurstProfile disturbed = find_bursts(signal);
    EXPECT_EQ(disturbed.burst.count, clean.burst.count) << far;
    EXPECT_EQ(disturbed.burst.seconds, clean.burst.seconds) << far;
  }
}

TEST(Bursts, TimesAreOfTheClockNotOfSamples) {
  // A busy second has ten samples, and a second of rest has two.
  Signal signal{"cpu_cores", {0}, {}, 2.0};
  for (int i = 1; i <= 10; ++i) signal.edges.push_back(0.1 * i);
  signal.edges.insert(signal.edges.end(), {1.5, 2.0});
  signal.values.assign(10, 1.9);
  signal.values.insert(signal.values.end(), {0, 0});
  const BurstProfile profile = find_bursts(signal);
  EXPECT_DOUBLE_EQ(profile.burst_share(), 0.5);
  EXPECT_DOUBLE_EQ(profile.mean, 0.95);
  ASSERT_EQ(profile.bursts.size(), 1u);
  EXPECT_DOUBLE_EQ(profile.bursts[0].to, 1.0);
  EXPECT_DOUBLE_EQ(*profile.peak_share, 0.5);  // 1.9 of 2 cores
}

TEST(Bursts, OneLevelHasNone) {
  Signal signal = sampled({1, 1, 0, 0.97, 0}, 4, 1);
  for (const double noise : {0.0, 0.01}) {
    for (std::size_t i = 0; i < signal.values.size(); ++i) signal.values[i] += noise * uniform(3, i);
    const BurstProfile profile = find_bursts(signal);
    EXPECT_FALSE(profile.has_bursts());
    EXPECT_EQ(profile.burst_share(), 0);
    EXPECT_EQ(profile.low, profile.high);
    EXPECT_DOUBLE_EQ(profile.idle.seconds, profile.seconds);
    EXPECT_DOUBLE_EQ(*profile.peak_share, 1);
    EXPECT_FALSE(profile.period);
  }
}

TEST(Bursts, LoneSamplesAreNoLevel) {
  for (const double level : {0.0, 1.0}) {
    Signal signal = sampled({1, 1, 0, 0.5, 0}, 4, 1);
    signal.values[50] = signal.values[90] = level;
    const BurstProfile profile = find_bursts(signal);
    EXPECT_FALSE(profile.has_bursts());
    EXPECT_EQ(profile.burst.seconds, 0);
    EXPECT_EQ(profile.lone_samples, 2u);
    EXPECT_EQ(profile.low, profile.high);
  }
}

TEST(Bursts, NoiseHasNeitherBurstsNorPeriod) {
  Signal signal = sampled({}, 20, 1);
  for (std::size_t i = 0; i < signal.values.size(); ++i) signal.values[i] = uniform(9, i);
  EXPECT_FALSE(find_period(signal));
  EXPECT_FALSE(find_bursts(signal).has_bursts());
  // The same noise makes two levels where it lasts.
  for (std::size_t i = 0; i < signal.values.size(); ++i) signal.values[i] += i / 100 % 2 == 0 ? 0.8 : 0;
  const BurstProfile lasting = find_bursts(signal);
  EXPECT_LT(lasting.explained, 0.8);
  EXPECT_TRUE(lasting.has_bursts());
  EXPECT_NEAR(lasting.burst_share(), 0.5, 0.05);
}

TEST(Signals, CountersBecomeRatesAndGapsAreFilled) {
  record::ResourceTrace trace;
  using Kind = record::TraceColumn::Kind;
  trace.seconds = {0, 0.5, 1.5, 2};
  trace.columns = {{"cpu_seconds", Kind::counter, 2.0, {0, 0.5, 2.5, 2.5}},
                   {"disk_read_bytes", Kind::counter, {}, {0, 100, 100, 200}},
                   {"gpu0_busy_fraction", Kind::gauge, 1.0, {NAN, 0.5, NAN, 0.25}},
                   {"gpu1_busy_fraction", Kind::gauge, 1.0, {NAN, NAN, NAN, NAN}}};
  const std::vector<Signal> signals = signals_of(trace);
  ASSERT_EQ(signals.size(), 3u);
  EXPECT_EQ(signals[0].name, "cpu_cores");
  EXPECT_EQ(signals[0].values, (std::vector<double>{1, 2, 0}));
  EXPECT_EQ(signals[1].name, "disk_read_bytes_per_second");
  EXPECT_EQ(signals[1].values, (std::vector<double>{200, 0, 200}));
  EXPECT_EQ(signals[2].values, (std::vector<double>{0.5, 0.5, 0.25}));
  const Signal halves = resampled(signals[0], 2);
  EXPECT_EQ(halves.edges, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(halves.values, (std::vector<double>{1.5, 1}));
}

// Returns the trace of the seed's sampler on a square wave: the first `high` of `count` samples are busy.
record::ResourceTrace seed_trace(int high, int count) {
  record::ResourceTrace trace;
  for (const char* name : {"gpu0_busy_fraction", "gpu0_memory_busy_fraction", "machine_cpu_fraction"})
    trace.columns.push_back({name, record::TraceColumn::Kind::gauge, 1.0, {}});
  trace.columns.push_back({"gpu0_memory_used_bytes", record::TraceColumn::Kind::gauge, {}, {}});
  for (int i = 0; i < count; ++i) {
    const bool busy = i < high;
    trace.seconds.push_back((i + 1) / 2.88);
    trace.columns[0].values.push_back(busy ? 0.97 : 0.03);
    trace.columns[1].values.push_back(busy ? 0.5 : 0);
    trace.columns[2].values.push_back(0.25);
    trace.columns[3].values.push_back((busy ? 7400.0 : 100.0) * 1048576);
  }
  return trace;
}

TEST(LegacyShares, AreOfTheLargerClusterAndItsComplement) {
  for (const int high : {10, 30, 50, 70, 90}) {
    const std::vector<LegacyShares> shares = legacy_shares(seed_trace(high, 100), 8192.0 * 1048576);
    ASSERT_EQ(shares.size(), 4u);
    const double larger = std::max(high, 100 - high) / 100.0;
    for (const int column : {0, 1, 2}) {  // not the one that is constant
      EXPECT_DOUBLE_EQ(shares[column].burst, larger) << shares[column].column;
      EXPECT_DOUBLE_EQ(shares[column].idle, 1 - larger);
    }
    EXPECT_EQ(shares[0].column, "gpu_util");
    EXPECT_DOUBLE_EQ(shares[0].peak, high / 100.0);  // above 90 %
    EXPECT_DOUBLE_EQ(shares[1].peak, 0);
    EXPECT_DOUBLE_EQ(shares[2].peak, high / 100.0);  // above 7372.8 MiB
    EXPECT_EQ(shares[3].column, "cpu_util");
    EXPECT_DOUBLE_EQ(shares[3].burst, 1);
    EXPECT_DOUBLE_EQ(shares[3].idle, 0);
    // On the card with 12 GiB the same trace has no peak.
    EXPECT_DOUBLE_EQ(legacy_shares(seed_trace(high, 100), 12288.0 * 1048576)[2].peak, 0);
  }
}

// This case made the seed's labels noisy: with a little more idle time the "burst" of the same job becomes
// its idle time.
TEST(LegacyShares, FlipWhereOrderedLevelsDoNot) {
  const auto share_of = [](int high) {
    const record::ResourceTrace trace = seed_trace(high, 100);
    return std::pair(legacy_shares(trace, 1e9)[0].burst, find_bursts(signals_of(trace)[0]).high);
  };
  EXPECT_NEAR(share_of(55).first, 0.55, 1e-12);
  EXPECT_NEAR(share_of(45).first, 0.55, 1e-12);  // of the idle samples
  EXPECT_NEAR(share_of(55).second, 0.97, 1e-12);
  EXPECT_NEAR(share_of(45).second, 0.97, 1e-12);
}

}  // namespace
}  // namespace trainyard::analyze

#pragma once

#include "record/cell_summary.h"
#include "record/run_record.h"

namespace trainyard::record {

// Throughput is a speed from images that were counted as they were consumed, on all devices together. The
// number that the steps were meant to consume plays no part.
struct Throughput {
  std::int64_t images_consumed = 0, steps = 0;
  int devices = 1;

  double images_per_step() const {
    return steps > 0 ? static_cast<double>(images_consumed) / static_cast<double>(steps) : 0;
  }
  double images_per_second(double step_seconds) const { return images_per_step() / step_seconds; }
  double images_per_second_per_device(double step_seconds) const {
    return images_per_second(step_seconds) / devices;
  }
};

// Metric is a figure of runs that summaries and verdicts are about.
struct Metric {
  std::string name = "images_per_second";
  bool more_is_better = true;
  // Test accuracy that a run must reach, 0 to 1. seconds_to_accuracy is the time to it.
  std::optional<double> accuracy;

  bool is_pace() const;  // a speed or a time: what disturbs a run only ever slows it
  // Returns "FASTER" for a pace, "BETTER" for every other metric; worse() returns the opposites.
  const char* better() const;
  const char* worse() const;
};

// Verdicts use this speed: images over the 5th percentile of the steady steps. Other load on the machine
// slows steps and never speeds them up, so the faster steps show the program's speed.
inline constexpr const char* kQuietSpeed = "quiet_images_per_second";

// These figures tell how far apart the run's cores were right before and right after its steps
// (meter::CoreDistance).
inline constexpr const char* kHandoffBefore = "handoff_before_seconds";
inline constexpr const char* kHandoffAfter = "handoff_after_seconds";

// Finds a metric by name: images_per_second, median_images_per_second, quiet_images_per_second, mean_,
// median_, p95_ and p99_step_seconds, wall_seconds, seconds_to_accuracy, or any figure of a record, such as
// peak_memory_bytes or energy_joules. Its row, or else its unit, decides whether more or less is better.
// Throws Error (usage) with the known names when no run has it, or when accuracy is missing or no share.
Metric find_metric(const std::string& name, std::optional<double> accuracy, std::span<const RunRecord> runs);

// Returns the run's value; nothing where the run failed, does not have it, or has one that is not positive.
std::optional<MeasuredRun> measure(const RunRecord& run, const Metric& metric);

// TableFigure is a figure that tables of cells show beside the speed, where some run has it.
struct TableFigure {
  NumberName name;
  const char *head, *note;  // for people: "token", "p99"

  bool is_speed() const;
  std::string text(double value) const;  // "41.2 ms", "1.00 MiB", "87 %", "12346"
};

inline constexpr TableFigure kTableFigures[] = {{"tokens_per_second", "tokens/s", "all"},
                                                {"prefill_tokens_per_second", "tokens/s", "of prompts"},
                                                {"decode_tokens_per_second", "tokens/s", "new"},
                                                {"median_first_token_seconds", "first token", "median"},
                                                {"median_token_seconds", "token", "median"},
                                                {"p99_token_seconds", "token", "p99"},
                                                {"decode_bandwidth_fraction", "token", "of bandwidth"},
                                                {"cache_bytes", "caches", "full"},
                                                {"requests_per_second", "requests/s", "answered"},
                                                {"median_request_seconds", "latency", "median"},
                                                {"p99_request_seconds", "latency", "p99"},
                                                {"p99_queue_seconds", "queue", "p99"},
                                                {"batch_fill_fraction", "batch", "fill"}};

// Returns the figure of a cell: the median over those of its runs that have it; nothing where none has.
std::optional<double> table_value(std::span<const RunRecord* const> runs, const TableFigure& figure);

// Returns seconds from the first step to the first evaluation with this accuracy; nothing where none reached
// it.
std::optional<double> seconds_to_accuracy(const RunRecord& run, double accuracy);

}  // namespace trainyard::record

#include "base/clock.h"
#include "base/cores.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/ensemble.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "ensemble/sample_maker.h"
#include "meter/cpu.h"
#include "process/stop_request.h"
#include "train/loop/timed_steps.h"

namespace trainyard::cli {
namespace {

using ensemble::BlockPool;
using ensemble::OwnedBlock;
using ensemble::SampleMaker;
using ensemble::StreamOptions;

struct DemandOptions {
  ensemble::EnsembleOptions ensemble;
  std::vector<int> cores;  // for which preprocessing is timed
};

struct Demand {
  std::string network, device;
  std::int64_t batch = 0;
  double images_per_second = 0;
};

// Measures a network that never waits for its batches. Returns nothing when a stop was requested: a time that
// was cut short makes no row.
std::optional<Demand> measure_demand(const ensemble::MemberSpec& member, const ensemble::EnsembleSpec& spec,
                                     double seconds) {
  train::SessionOptions session = to_session(member.run);
  session.model.input = spec.preprocess.output;
  train::Replicas replicas(session, {});
  const double began = now_seconds();
  train::TimingOptions timing{.warmup_steps = 3, .steps = 1000};
  timing.after_step = [&](std::int64_t done, double) {
    return !process::StopRequest::asked() && (done < 5 || now_seconds() - began < seconds);
  };
  const train::TimedSteps timed = train::time_steps(replicas, timing);
  if (process::StopRequest::asked()) return std::nullopt;
  std::vector<double> sorted = timed.seconds;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2),
                   sorted.end());
  return Demand{member.run.network, member.run.device.to_string(), member.run.batch,
                static_cast<double>(member.run.batch) / sorted[sorted.size() / 2]};
}

struct Supply {
  int cores = 0;
  double images_per_second = 0, cpu_seconds_per_image = 0;
};

// Measures one preprocessor with a thread on each of `cores` cores. Returns nothing when a stop was
// requested.
std::optional<Supply> measure_supply(const StreamOptions& stream, int cores, double seconds) {
  pin_thread(std::span(process_cores()).first(static_cast<std::size_t>(cores)));
  SampleMaker maker(stream.source, cores);
  OwnedBlock block = BlockPool(stream.sizes()).take();
  maker.make(*block);  // pages and tables
  const std::int64_t before = maker.made();
  const meter::CpuSnapshot cpu = meter::read_cpu();
  const double began = now_seconds();
  while (now_seconds() - began < seconds) {
    if (process::StopRequest::asked()) return std::nullopt;
    block->clear();
    maker.make(*block);
  }
  const auto images = static_cast<double>(maker.made() - before);
  return Supply{cores, images / (now_seconds() - began), meter::read_cpu().since(cpu).cpu_seconds() / images};
}

// Returns rows in the order in which they were measured; a requested stop leaves the rest out.
std::vector<Supply> measure_supplies(const StreamOptions& stream, std::vector<int> cores, double seconds) {
  const int most = static_cast<int>(process_cores().size());
  const bool doubling = cores.empty();
  for (int count = 1; doubling && count <= most; count *= 2) cores.push_back(count);
  for (const int count : cores)
    if (count > most) fail(ErrorKind::usage, "--supply-cores {}: this process may use {}", count, most);
  std::vector<Supply> supplies;
  for (const int count : cores) {
    if (process::StopRequest::asked()) break;
    if (const std::optional<Supply> supply = measure_supply(stream, count, seconds))
      supplies.push_back(*supply);
  }
  pin_thread(process_cores());
  return supplies;
}

std::vector<Demand> measure_demands(const ensemble::EnsembleSpec& spec, double seconds) {
  std::vector<Demand> demands;
  for (const ensemble::MemberSpec& member : spec.members) {
    const bool known = std::any_of(demands.begin(), demands.end(), [&](const Demand& demand) {
      return demand.network == member.run.network && demand.device == member.run.device.to_string() &&
             demand.batch == member.run.batch;
    });
    if (known || member.is_timed() || process::StopRequest::asked()) continue;
    if (const std::optional<Demand> demand = measure_demand(member, spec, seconds))
      demands.push_back(*demand);
  }
  return demands;
}

void print_demand_json(const std::vector<Demand>& demands, const std::vector<Supply>& supplies,
                       double supply) {
  Json json{{"demand", Json::array()}, {"supply", Json::array()}};
  for (const Demand& demand : demands)
    json["demand"].push_back({{"network", demand.network},
                              {"device", demand.device},
                              {"batch", demand.batch},
                              {"images_per_second", demand.images_per_second},
                              {"preprocessors", std::ceil(demand.images_per_second / supply)}});
  for (const Supply& one : supplies)
    json["supply"].push_back({{"cores", one.cores},
                              {"images_per_second", one.images_per_second},
                              {"cpu_seconds_per_image", one.cpu_seconds_per_image}});
  if (process::StopRequest::asked()) json["interrupted"] = true;
  fmt::print("{}\n", json_text(json, 2));
}

int end_of_demand(std::size_t rows) {
  if (!process::StopRequest::asked()) return 0;
  return report_interrupted(fmt::format("ensemble demand: interrupted after {} rows", rows));
}

int run_demand(const DemandOptions& options) {
  const ensemble::EnsembleSpec spec = to_ensemble(options.ensemble);
  const StreamOptions stream = to_stream(spec);
  const double seconds = options.ensemble.seconds > 0 ? options.ensemble.seconds : 3;
  const process::StopRequest guard;
  const std::vector<Supply> supplies = measure_supplies(stream, options.cores, seconds);
  const std::vector<Demand> demands = measure_demands(spec, seconds);
  const double supply = supplies.empty() ? 0 : supplies.back().images_per_second;
  const std::size_t rows = supplies.size() + demands.size();
  if (options.ensemble.json) {
    print_demand_json(demands, supplies, supply);
    return end_of_demand(rows);
  }
  fmt::print("{:<24} {:>8} {:>6} {:>10} {:>14}\n", "network", "device", "batch", "images/s", "preprocessors");
  for (const Demand& demand : demands)
    fmt::print("{:<24} {:>8} {:>6} {:>10.1f} {:>14.0f}\n", demand.network, demand.device, demand.batch,
               demand.images_per_second, std::ceil(demand.images_per_second / supply));
  fmt::print("\n{:<24} {:>6} {:>10} {:>13}\n", "one preprocessor", "cores", "images/s", "CPU an image");
  for (const Supply& one : supplies)
    fmt::print("{:<24} {:>6} {:>10.1f} {:>13}\n", spec.preprocess.name, one.cores, one.images_per_second,
               format_seconds(one.cpu_seconds_per_image));
  return end_of_demand(rows);
}

}  // namespace

std::function<int()> declare_ensemble_demand(Command& command) {
  const auto options = std::make_shared<DemandOptions>();
  add_ensemble_options(command, options->ensemble);
  command
      .add_option("--supply-cores", options->cores,
                  "Cores for which preprocessing is timed (default: 1, 2, 4 ...)")
      ->transform(within("cores"))
      ->delimiter(',');
  command.footer(
      "Times each network of the file on batches that are there, and one preprocessor by cores: how many of "
      "them\n"
      "the network needs. Ctrl-C shows the rows that are complete, with exit code 130.\n\n"
      "Examples:\n"
      "  trainyard ensemble demand studies/ensemble-photos.yaml --seconds 0.2\n"
      "  trainyard ensemble demand studies/ensemble-photos.yaml --seconds 0.2 --supply-cores 1 --json");
  return [options, &command] {
    warn_of_idle_options(command, {{true,
                                    {"--preprocessors", "--threads", "--steps", "--epochs", "--idle-seconds",
                                     "--patience", "--lost", "--out", "--overwrite", "--no-eval", "--record"},
                                    "networks and preprocessing are timed each by itself, for --seconds"}});
    if (options->ensemble.cores > 0) limit_process_cores(options->ensemble.cores);
    return run_demand(*options);
  };
}

}  // namespace trainyard::cli

#include "cli/bench.h"

#include <limits>
#include <memory>
#include <optional>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/units.h"
#include "cli/deployment_options.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/probe.h"
#include "cli/progress_bar.h"
#include "cli/run_options.h"
#include "cli/run_report.h"
#include "cli/train_options.h"
#include "data/source/synthetic.h"
#include "data/view/batch_maker.h"
#include "engine/canonical.h"
#include "process/stop_request.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/replicas.h"
#include "train/timed_steps.h"

namespace trainyard::cli {

namespace {

struct BenchOptions {
  RunOptions run;
  DeploymentOptions deployment;
  std::int64_t steps = record::default_whole("steps", "bench"),
               warmup_steps = record::default_whole("warmup", "bench");
  StoppingOptions stopping;
  TraceOptions trace;
  std::string feed = record::default_text("feed", "bench");
  bool no_peak = false, ops = false;
};

// The input of a bench with --feed: it holds generated images for the network, or for a network that reads
// sequences their size.
struct Fed {
  data::Dataset images;
  train::MatchedInput input;
  std::optional<data::TokenOptions> tokens;

  std::shared_ptr<const data::BatchMaker> make(const data::BatchStreamOptions& options) const {
    if (tokens) return std::make_shared<data::TokenBatches>(*tokens, options);
    return std::make_shared<data::ImageBatches>(images, options);
  }
};

std::optional<Fed> feed_for(const BenchOptions& options) {
  want_choice("bench", "feed", options.feed);
  if (options.feed == "auto") return std::nullopt;
  if (options.feed == "device" && options.run.device == "cpu")
    fail(ErrorKind::usage, "--feed device: wants a GPU, --device cuda");
  const networks::NetworkInfo network = networks::find_network(options.run.network, options.run.parameters);
  Fed fed;
  if (network.reads_sequences()) {
    if (options.feed == "device")
      fail(ErrorKind::usage,
           "--feed device: network '{}' reads sequences, which the host makes (--feed host)", network.name);
    const auto [length, vocabulary] =
        network.generator->sequence(networks::parameters_of(network, options.run.parameters));
    fed.tokens = {length, vocabulary};
    return fed;
  }
  fed.images = data::make_synthetic(train::synthetic_for(network, options.run.classes, options.run.seed));
  fed.input = train::match_input(network, fed.images, "");
  return fed;
}

// Whence the steps get their batches; null where a GPU makes them for itself.
struct Feeds {
  std::unique_ptr<train::HostFeed> of_gpu;
  std::unique_ptr<train::HostBatches> of_host;
};

Feeds start_feeds(train::Replicas& replicas, const Fed& fed, const std::string& wanted) {
  const auto stream_of = [&](int device) -> data::BatchStreamOptions {
    const train::SessionOptions& session = replicas.session(device).options();
    return {.preprocess = fed.input.preprocess,
            .batch = session.model.batch,
            .seed = session.seed,
            .worker = device,
            .workers = replicas.size()};
  };
  train::Session& first = replicas.session(0);
  if (first.executor().on_host())
    return {nullptr, std::make_unique<train::HostBatches>(
                         replicas, [&](int device) { return fed.make(stream_of(device)); })};
  if (fed.tokens)
    return {train::feed_from_host(first, fed.make(train::host_options(first, stream_of(0)))), nullptr};
  return {train::feed_device(first, fed.images, stream_of(0), *train::find_feed(wanted)), nullptr};
}

// Nothing is exchanged where nothing is learnt.
void check_mode(const BenchOptions& options, const train::Deployment& deployment) {
  const bool alone =
      deployment.strategy == train::Strategy::single || deployment.strategy == train::Strategy::independent;
  if (options.run.mode == "infer" && !alone)
    fail(ErrorKind::usage, "--mode infer: --strategy {} exchanges gradients; single or independent do not",
         deployment.strategy_name());
}

// Returns the step of device 0 that follows the timed steps.
backend::StepContext next_step(const BenchOptions& options, const train::TimedSteps& timed) {
  return {train::device_seed(options.run.seed, 0),
          static_cast<std::int64_t>(timed.warmup_seconds.size() + timed.seconds.size())};
}

Measurement measurement_of_steps(const train::TimedSteps& timed) {
  return {.warmup_seconds = timed.warmup_seconds,
          .step_seconds = timed.seconds,
          .images_consumed = timed.images_consumed,
          .counted_steps = static_cast<std::int64_t>(timed.seconds.size()),
          .cpu = timed.cpu,
          .noise = timed.noise,
          .cores_in_reach = timed.cores_in_reach,
          .core_distance = timed.core_distance,
          .event_seconds = timed.event_seconds,
          .wall_seconds = timed.wall_seconds,
          .input_wait_seconds = timed.input_wait_seconds,
          .gpu = timed.gpu};
}

// Runs the timed steps until there are enough of them or somebody asks to stop.
train::TimedSteps time_until_enough(const BenchOptions& options, train::Replicas& replicas,
                                    const Feeds& feeds, train::StepTracer* tracer,
                                    record::StoppingRule& rule) {
  ProgressBar bar("bench " + options.run.network, options.steps + options.warmup_steps, options.run.quiet);
  return train::time_steps(replicas, {options.warmup_steps, options.steps,
                                      [&](std::int64_t done, double seconds) {
                                        bar.update(done,
                                                   bar.due() ? format_seconds(seconds) + " a step" : "");
                                        const bool enough = done > options.warmup_steps && rule.add(seconds);
                                        return !enough && !process::StopRequest::asked();
                                      },
                                      feeds.of_gpu.get(), feeds.of_host.get(), tracer});
}

void mark_interrupted(const BenchOptions& options, record::RunRecord& run) {
  run.status = record::Status::interrupted;
  run.reason = fmt::format("interrupted after {} of {} timed steps", run.step_seconds.size(), options.steps);
  run.words["stopped_by"] = "signal";
}

int bench(const BenchOptions& options) {
  const RunStart start;
  const process::StopRequest guard;
  check(options.trace, options.deployment);
  record::StoppingRule rule(to_limits(options.stopping, options.steps));
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  train::SessionOptions wanted = to_session(options.run);
  check_mode(options, deployment);
  wanted.model.batch = deployment.batch_per_device(options.run.batch);
  const std::optional<Fed> fed = feed_for(options);
  if (fed && !fed->tokens) wanted.model.input = fed->input.network;
  // Shared machines drift: the roof is the mean of what it was on either side of the run.
  const int threads = deployment.devices *
                      static_cast<int>(train::share_cores(wanted.threads, deployment.devices).front().size());
  const double peak_before = options.no_peak ? 0 : measure_peak(wanted, threads);
  train::Replicas replicas(wanted, deployment);
  replicas.run([&](int device) {
    engine::initialise_inputs(replicas.session(device).executor(),
                              train::device_seed(options.run.seed, device));
  });
  const Feeds feeds = fed ? start_feeds(replicas, *fed, options.feed) : Feeds{};

  process::StopRequest::check();

  const auto tracer = make_tracer(options.trace);
  const train::TimedSteps timed = time_until_enough(options, replicas, feeds, tracer.get(), rule);
  // A bench that was asked to stop skips the measurements that remain.
  const bool interrupted = process::StopRequest::asked();
  const bool peaks = !options.no_peak && !interrupted;
  std::optional<engine::OpBreakdown> ops;
  if (options.ops && !interrupted)
    ops = engine::measure_ops(replicas.session(0).executor(), next_step(options, timed));
  Measurement measured = measurement_of_steps(timed);
  measured.peak_flops_per_second = peaks ? 0.5 * (peak_before + measure_peak(wanted, threads)) : peak_before;
  measured.feed = fed ? options.feed.c_str() : "none";
  record::RunRecord run = make_record("bench", start, options.run, deployment, replicas.facts(), measured);
  if (peaks) add_bandwidth_roofs(run, wanted, threads);
  run.asked["steps"] = options.steps;
  if (fed) run.asked["feed"] = options.feed;
  if (ops) add_ops(run, *ops);
  if (tracer != nullptr && !interrupted) keep_trace(*tracer, options.trace.file, options.run, run);
  run.words["stopped_by"] = record::name(rule.state());
  if (interrupted) mark_interrupted(options, run);
  keep_record(run, options.run);
  if (options.run.json)
    fmt::print("{}\n", to_json(run));
  else
    print_report(run);
  if (ops && !options.run.json) print_ops(*ops);
  return interrupted ? report_interrupted(run.reason) : 0;
}

}  // namespace

std::function<int()> declare_bench(CLI::App& command) {
  const auto options = std::make_shared<BenchOptions>();
  add_run_options(command, options->run);
  add_output_options(command, options->run);
  add_mode_option(command, options->run);
  add_deployment_options(command, "bench", options->deployment);
  add_setting(command, "bench", "steps", options->steps);
  add_setting(command, "bench", "warmup", options->warmup_steps);
  add_setting(command, "bench", "feed", options->feed);
  add_stopping_options(command, options->stopping);
  add_trace_options(command, options->trace);
  add_setting(command, "bench", "no_peak", options->no_peak);
  add_setting(command, "bench", "ops", options->ops);
  command.footer(
      "Ctrl-C and SIGTERM end after the current step: what was measured is printed and recorded with status\n"
      "interrupted, and the exit code is 130.\n\n"
      "Examples:\n"
      "  trainyard bench --network deepmnist --batch 8 --optimizer adam --steps 10\n"
      "  trainyard bench --network rnn --cell gru --layers 1 --hidden 32 --length 10 --batch 16 --steps 10 "
      "--json");
  return [options, &command] {
    std::vector<Idle> idle = idle_options(options->run);
    idle.push_back({options->deployment.devices == 1, {"--scaling"}, "there is one device"});
    warn_of_idle_options(command, idle);
    return recording_failure("bench", options->run, options->deployment, [&] { return bench(*options); });
  };
}

namespace {

using Json = nlohmann::ordered_json;

double share_of_time(const engine::OpShare& share, const engine::OpBreakdown& ops) {
  return ops.seconds > 0 ? share.seconds / ops.seconds : 0;
}

Json json_of(const std::vector<engine::OpShare>& shares, const engine::OpBreakdown& ops, bool with_op) {
  Json rows = Json::array();
  for (const engine::OpShare& share : shares) {
    Json row{{"category", graph::name(share.category)}};
    if (with_op) row["op"] = share.name;
    row.update({{"seconds", share.seconds},
                {"share", share_of_time(share, ops)},
                {"flops", share.cost.flops},
                {"elementwise_flops", share.cost.elementwise_flops},
                {"bytes", share.cost.bytes_moved},
                {"count", share.count}});
    rows.push_back(std::move(row));
  }
  return rows;
}

Json json_of(const std::vector<engine::KernelSeconds>& kernels) {
  Json rows = Json::array();
  for (const engine::KernelSeconds& one : kernels)
    rows.push_back({{"name", one.name},
                    {"op", one.op},
                    {"kernel", one.kernel},
                    {"seconds", one.seconds},
                    {"workspace_bytes", one.workspace_bytes}});
  return rows;
}

}  // namespace

void add_ops(record::RunRecord& run, const engine::OpBreakdown& ops) {
  run.figures["op_seconds"] = ops.seconds;
  run.figures["op_coverage"] = run.statistics.steps > 0 ? ops.seconds / run.statistics.median
                                                        : std::numeric_limits<double>::quiet_NaN();
  run.details["ops"] = Json{{"rounds", ops.rounds},
                            {"by_category", json_of(ops.by_category, ops, false)},
                            {"by_op", json_of(ops.by_op, ops, true)},
                            {"kernels", json_of(ops.kernels)}}
                           .dump();
}

void print_ops(const engine::OpBreakdown& ops) {
  fmt::print("\n{:<28} {:<12} {:>8} {:>10} {:>7} {:>14}\n", "op", "category", "kernels", "seconds", "share",
             "rate");
  for (const engine::OpShare& share : ops.by_op) {
    const auto rate = [&](std::int64_t amount) { return static_cast<double>(amount) / share.seconds; };
    fmt::print("{:<28} {:<12} {:>8} {:>10} {:>5.1f} % {:>14}\n", share.name, graph::name(share.category),
               share.count, format_seconds(share.seconds), 100 * share_of_time(share, ops),
               share.seconds <= 0 ? ""
               : share.cost.flops > 0
                   ? format_rate(rate(share.cost.flops))
                   : format_bytes(static_cast<std::int64_t>(rate(share.cost.bytes_moved))) + "/s");
  }
}

predict::OpVocabulary count_ops(const std::vector<std::string>& sources, const GraphOptions& options) {
  predict::OpVocabulary corpus;
  for (const std::string& source : sources) corpus.add(graph_of(source, options));
  if (sources.empty())
    for (const networks::NetworkInfo& info : networks::all_networks())
      corpus.add(graph_of(info.name, options));
  // In the order of its file, so that numbers of ops do not depend on how the corpus was made.
  return corpus.total() == 0 ? corpus : predict::OpVocabulary::from_csv(corpus.to_csv(), "corpus");
}

predict::OpVocabulary read_vocabulary(const std::filesystem::path& file) {
  if (file.empty()) return count_ops({}, {.step = "training"});
  const std::vector<std::byte> text = read_file(file);
  return predict::OpVocabulary::from_csv({reinterpret_cast<const char*>(text.data()), text.size()},
                                         "'" + file.string() + "'");
}

}  // namespace trainyard::cli

#include "cli/train.h"

#include "base/file.h"
#include "base/text.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/progress_bar.h"
#include "networks/zoo/zoo.h"
#include "run/bench.h"
#include "run/run_record.h"

namespace trainyard::cli {

namespace {

void print_row(const char* label, const std::string& value) { fmt::print("{:<20} {}\n", label, value); }

std::string tail_text(const record::RunRecord& run, record::NumberName median, record::NumberName p95,
                      record::NumberName p99) {
  return fmt::format("median {}, p95 {}, p99 {}", format_seconds(run.figure_or(median, 0)),
                     format_seconds(run.figure_or(p95, 0)), format_seconds(run.figure_or(p99, 0)));
}

void print_decoding(const record::RunRecord& run) {
  const auto figure = [&](record::NumberName name) { return run.figure_or(name, 0); };
  print_row("sequences", fmt::format("prompts of {:.0f} tokens, {:.0f} new ones; caches of {}",
                                     figure("prompt_tokens"), figure("new_tokens"),
                                     format_bytes(static_cast<std::int64_t>(figure("cache_bytes")))));
  if (!run.figures.contains("median_token_seconds")) return;
  print_row("time to first token", tail_text(run, "median_first_token_seconds", "p95_first_token_seconds",
                                             "p99_first_token_seconds"));
  print_row("time per token",
            tail_text(run, "median_token_seconds", "p95_token_seconds", "p99_token_seconds"));
  print_row("prefill, decode",
            fmt::format("{:.0f} and {:.0f} tokens per second", figure("prefill_tokens_per_second"),
                        figure("decode_tokens_per_second")));
  std::string step = fmt::format("{} and {}", format_flops(figure("decode_step_flops")),
                                 format_bytes(static_cast<std::int64_t>(figure("decode_step_bytes"))));
  if (run.figures.contains("decode_bandwidth_fraction"))
    step += fmt::format(", {}/s = {:.0f} % of the measured {}/s",
                        format_bytes(static_cast<std::int64_t>(figure("decode_bytes_per_second"))),
                        100 * figure("decode_bandwidth_fraction"),
                        format_bytes(static_cast<std::int64_t>(figure("peak_bytes_per_second"))));
  print_row("decode step", step);
}

void print_requests(const record::RunRecord& run) {
  const auto figure = [&](record::NumberName name) { return run.figure_or(name, 0); };
  print_row("requests", fmt::format("{:.0f}, {}", figure("requests"), run.words.at("arrivals")));
  print_row("request latency",
            tail_text(run, "median_request_seconds", "p95_request_seconds", "p99_request_seconds") +
                ", max " + format_seconds(figure("max_request_seconds")));
  print_row("of it in the queue",
            fmt::format("median {}, p99 {}; at most {:.0f} requests waited",
                        format_seconds(figure("median_queue_seconds")),
                        format_seconds(figure("p99_queue_seconds")), figure("peak_queue_requests")));
  print_row("requests per second",
            fmt::format("{:.4g}{}; full batches answer {:.4g}", figure("requests_per_second"),
                        run.figures.contains("offered_requests_per_second")
                            ? fmt::format(" of {:.4g} that came", figure("offered_requests_per_second"))
                            : "",
                        figure("capacity_requests_per_second")));
  print_row("batches", fmt::format("{:.0f} % full, {:.0f} % padding, running {:.0f} % of the time",
                                   100 * figure("batch_fill_fraction"), 100 * figure("padding_fraction"),
                                   100 * figure("busy_fraction")));
}

std::vector<Idle> idle_settings(const run::BenchOptions& options) {
  std::vector<Idle> idle = idle_options(options.run);
  const bool requests = !options.requests.arrivals.empty(), decodes = options.run.mode == "decode";
  idle.push_back({options.deployment.devices == 1, {"--scaling"}, "there is one device"});
  idle.push_back({!decodes, {"--prompt-tokens", "--new-tokens"}, "--mode decode makes tokens"});
  idle.push_back(
      {!requests, {"--requests", "--batch-wait", "--batch-sizes"}, "no requests come without --arrivals"});
  idle.push_back({requests, {"--steps", "--until-width"}, "--arrivals ends by --requests and --max-seconds"});
  return idle;
}

int bench_and_report(const run::BenchOptions& options) {
  const run::BenchResult result = run::bench(options, terminal_progress(options.run.quiet));
  if (options.run.json)
    fmt::print("{}\n", to_json(result.run));
  else
    print_report(result.run);
  if (!options.run.json && options.run.mode == "decode") print_decoding(result.run);
  if (!options.run.json && !options.requests.arrivals.empty()) print_requests(result.run);
  if (result.ops && !options.run.json) print_ops(*result.ops);
  return result.interrupted ? report_interrupted(result.run.reason) : 0;
}

}  // namespace

std::function<int()> declare_bench(Command& command) {
  const auto options = std::make_shared<run::BenchOptions>();
  add_run_options(command, options->run);
  add_output_options(command, options->run);
  add_settings(command, "bench", *options);
  command.get_option("--trace-steps")->needs(command.get_option("--trace"));
  command.footer(
      "Ctrl-C and SIGTERM end after the current step: what was measured is printed and recorded with status\n"
      "interrupted, and the exit code is 130.\n\n"
      "With --arrivals, requests wait in a queue and are answered in batches of at most --batch. Latency is\n"
      "counted from the moment at which a request was due, whenever a busy server took it "
      "(docs/inference.md).\n\n"
      "Examples:\n"
      "  trainyard bench --network deepmnist --batch 8 --optimizer adam --steps 10\n"
      "  trainyard bench --network rnn --cell gru --layers 1 --hidden 32 --length 10 --batch 16 --steps 10 "
      "--json\n"
      "  trainyard bench --network transformer --mode decode --batch 4 --prompt-tokens 16 --new-tokens 8 "
      "--steps 5\n"
      "  trainyard bench --network lenet --mode infer --batch 8 --arrivals poisson:200 --requests 100 "
      "--batch-wait 0.002");
  return [options, &command] {
    warn_of_idle_options(command, idle_settings(*options));
    return recording_failure(
        "bench", options->run, options->deployment, [&] { return asked_of(*options); },
        [&] { return bench_and_report(*options); });
  };
}

void print_ops(const engine::OpBreakdown& ops) {
  fmt::print("\n{:<28} {:<12} {:>8} {:>10} {:>7} {:>14}\n", "op", "category", "kernels", "seconds", "share",
             "rate");
  for (const engine::OpShare& share : ops.by_op) {
    const auto rate = [&](std::int64_t amount) { return static_cast<double>(amount) / share.seconds; };
    fmt::print("{:<28} {:<12} {:>8} {:>10} {:>5.1f} % {:>14}\n", share.name, graph::name(share.category),
               share.count, format_seconds(share.seconds), 100 * run::share_of_time(share, ops),
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

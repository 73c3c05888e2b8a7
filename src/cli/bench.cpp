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

int bench_and_report(const run::BenchOptions& options) {
  const run::BenchResult result = run::bench(options, terminal_progress(options.run.quiet));
  if (options.run.json)
    fmt::print("{}\n", to_json(result.run));
  else
    print_report(result.run);
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
      "Examples:\n"
      "  trainyard bench --network deepmnist --batch 8 --optimizer adam --steps 10\n"
      "  trainyard bench --network rnn --cell gru --layers 1 --hidden 32 --length 10 --batch 16 --steps 10 "
      "--json");
  return [options, &command] {
    std::vector<Idle> idle = idle_options(options->run);
    idle.push_back({options->deployment.devices == 1, {"--scaling"}, "there is one device"});
    warn_of_idle_options(command, idle);
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

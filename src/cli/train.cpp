#include "cli/train.h"

#include "base/text.h"
#include "cli/outputs.h"
#include "cli/progress_bar.h"
#include "comm/collective/mpi_job.h"
#include "launch/train_job.h"
#include "record/metric.h"

namespace trainyard::cli {

namespace {

std::string word_of(const record::RunRecord& run, record::WordName name) {
  const auto found = run.words.find(name);
  return found == run.words.end() ? "" : found->second;
}

std::string loss_text(double nats) {
  return fmt::format("{:.4f} nats a token: perplexity {:.4g}, {:.4f} bits", nats, std::exp(nats),
                     nats / std::log(2.0));
}

void print_results(const record::RunRecord& run) {
  print_report(run);
  const auto row = [](const char* label, const std::string& value) {
    fmt::print("{:<20} {}\n", label, value);
  };
  const auto figure = [&](record::NumberName name) { return run.figure_or(name, 0); };
  row("trained on", fmt::format("{}, to step {:.0f}, in {} ({} waiting for input)", run.words.at("data"),
                                figure("final_step"), format_seconds(figure("seconds")),
                                format_seconds(figure("input_wait_seconds"))));
  print_input(run);
  row("loss", fmt::format("{:.4f} at first, {:.4f} at last", figure("first_loss"), figure("final_loss")));
  // Read back from a worker's record it is missing where there was none.
  const double accuracy = run.figure_or("test_accuracy", std::numeric_limits<double>::quiet_NaN());
  if (std::isfinite(accuracy)) row("test accuracy", fmt::format("{:.4f}", accuracy));
  // Only that of tokens is in nats.
  if (run.figures.contains("test_loss"))
    row("test loss", run.figures.contains("tokens_per_second") ? loss_text(figure("test_loss"))
                                                               : fmt::format("{:.4f}", figure("test_loss")));
  if (run.figures.contains("least_loss"))
    row("least loss", loss_text(figure("least_loss")) +
                          (run.figures.contains("least_test_loss")
                               ? fmt::format("; {:.4f} on the test sequences", figure("least_test_loss"))
                               : ""));
  if (const std::string checkpoint = word_of(run, "checkpoint"); !checkpoint.empty())
    row("checkpoint", checkpoint);
}

}  // namespace

int report_training(const record::RunRecord& run, std::string_view json, const run::TrainCommand& options) {
  if (options.run.json)
    fmt::print("{}\n", json);
  else
    print_results(run);
  if (run.status == record::Status::diverged) {
    std::fflush(stdout);  // in a log of both, this is the last line
    fmt::print(stderr, "trainyard: {}\n", run.reason);
    return kRunFailed;
  }
  if (run.status != record::Status::interrupted) return 0;
  fmt::print(stderr, "trainyard: interrupted at step {:.0f}; {}\n", run.figure_or("final_step", 0),
             options.out.empty() ? std::string("nothing was saved: no --out was given")
                                 : fmt::format("saved in '{}', the same command with --resume goes on",
                                               word_of(run, "checkpoint")));
  return kInterrupted;
}

int finish_training(const run::TrainingOutcome& outcome, const run::TrainCommand& options,
                    const std::filesystem::path& result_file) {
  if (outcome.run && result_file.empty())
    return report_training(*outcome.run, to_json(*outcome.run), options);
  if (outcome.run) record::write_run_record(*outcome.run, result_file);
  return outcome.interrupted ? kInterrupted : 0;
}

namespace {

int train_in_processes(const run::TrainCommand& options) {
  const auto json = launch::train_in_processes(options, terminal_progress(options.run.quiet));
  if (json) return report_training(record::run_record_from_json(*json), *json, options);
  fmt::print(stderr, "trainyard: interrupted before the first step; nothing was saved\n");
  return kInterrupted;
}

int train_with_servers(const run::TrainCommand& options) {
  const record::RunRecord run = launch::train_with_servers(options, terminal_progress(false));
  return report_training(run, to_json(run), options);
}

}  // namespace

std::function<int()> declare_train(Command& command) {
  const auto options = std::make_shared<run::TrainCommand>();
  add_train_options(command, *options);
  command.footer(
      "step_seconds leave out the first step; first_loss is that of step 0, before any update; final_loss "
      "is\n"
      "the mean of the last 10 steps. Ctrl-C ends after the current step with a checkpoint and exit code "
      "130.\n\n"
      "Modes with parameter servers:\n" +
      ps::mode_help() +
      "\n"
      "Examples:\n"
      "  trainyard train --network lenet --data synthetic --batch 8 --steps 10\n"
      "  trainyard train --network lenet --data folder:flowers --batch 4 --steps 10\n"
      "  trainyard train --network examples/networks/resnet.yaml --parameter width=8 --data synthetic "
      "--batch 4 "
      "--steps 5\n"
      "  trainyard train --network rnn --layers 1 --hidden 32 --data language:1 --vocabulary 64 --batch 8 "
      "--steps 10\n"
      "  trainyard train --network rnn --length 10 --batch 4 --accumulate 2 --optimizer adamw --clip-norm 1 "
      "--steps 10\n"
      "  trainyard train --network lenet --data synthetic --freeze conv1,conv2 --batch 8 --steps 10\n"
      "  trainyard train --network lenet --batch 8 --steps 10 --workers 2 --out runs/lenet --overwrite "
      "--json");
  return [options, &command] {
    options->train.progress = terminal_progress(options->run.quiet);
    settle_vocabulary(*options);
    apply(options->workers, options->deployment, options->ps, options->run.device);
    const bool is_rank = comm::collective::mpi_job_ranks() > 0;  // of several, who all would say it
    if (!is_rank) warn_of_idle_options(command, idle_options(*options));
    const auto asked = [&] { return asked_of(*options); };
    if (with_servers(options->workers))
      return recording_failure("train", options->run, options->deployment, asked,
                               [&] { return train_with_servers(*options); });
    const bool processes = in_processes(options->workers);
    if (processes && is_rank) return train_as_rank(*options);
    return recording_failure("train", options->run, options->deployment, asked, [&] {
      return processes ? train_in_processes(*options) : finish_training(train_network(*options), *options);
    });
  };
}

void print_report(const record::RunRecord& run) {
  const auto row = [](const char* label, const std::string& value) {
    fmt::print("{:<20} {}\n", label, value);
  };
  const auto figure = [&](record::NumberName name) { return run.figure_or(name, 0); };
  const record::StepStatistics& steps = run.statistics;
  row("network", fmt::format("{}, batch {:.0f}, {}", run.words.at("network"), figure("batch"),
                             run.words.at("mode") == "infer"    ? "inference"
                             : run.words.at("mode") == "decode" ? "decoding"
                                                                : run.words.at("optimizer")));
  row("runs on", fmt::format("{} {}, {:.0f} threads", run.words.at("backend"), run.words.at("precision"),
                             figure("threads")));
  if (const auto batches = run.asked.find("accumulate"); batches != run.asked.end())
    row("update", fmt::format("of {} batches one after the other, {:.0f} images",
                              record::to_text(batches->second), figure("global_batch")));
  if (const std::string start = word_of(run, "start"); !start.empty()) row("weights", start);
  if (run.figures.contains("frozen_parameters"))
    row("frozen",
        fmt::format("{:.0f} of {:.0f} parameters", figure("frozen_parameters"), figure("parameters")));
  if (figure("devices") > 1)
    row("devices", fmt::format("{:.0f}, {}, {} scaling: {:.0f} images each, {:.0f} together",
                               figure("devices"), run.words.at("strategy"), run.words.at("scaling"),
                               figure("batch_per_device"), figure("global_batch")));
  row("parameters", format_count(figure("parameters")));
  row("flops per step", format_flops(figure("flops_per_step")));
  if (run.figures.contains("plan_limit_bytes")) {
    const auto bytes = [&](record::NumberName name) {
      return format_bytes(static_cast<std::int64_t>(figure(name)));
    };
    row("plan",
        fmt::format("{} of at most {}, {} without a limit; {} and {} moved again in each step",
                    bytes("plan_bytes"), bytes("plan_limit_bytes"), bytes("unlimited_plan_bytes"),
                    format_flops(figure("recomputed_flops_per_step")), bytes("recomputed_bytes_per_step")));
  }
  if (steps.steps > 0) {
    row("step",
        fmt::format("mean {} ({} .. {}), median {}, min {}, p95 {} over {} steps", format_seconds(steps.mean),
                    format_seconds(std::max(steps.mean_interval.low, 0.0)),
                    format_seconds(steps.mean_interval.high), format_seconds(steps.median),
                    format_seconds(steps.min), format_seconds(steps.p95),
                    steps.steps - steps.unsteady_steps));
    if (steps.unsteady_steps > 0)
      row("warm-up found", fmt::format("{} steps left out", steps.unsteady_steps));
    row("images per second",
        fmt::format("{:.0f}; {:.0f} by the median step", run.images_per_second.value_or(0),
                    figure("median_images_per_second")));
    if (run.figures.contains("tokens_per_second"))
      row("tokens per second", fmt::format("{:.0f}", figure("tokens_per_second")));
    std::string rate = format_rate(figure("flops_per_second"));
    if (std::isfinite(figure("peak_fraction")))
      rate += fmt::format(" = {:.0f} % of the measured {}", 100 * figure("peak_fraction"),
                          format_rate(figure("peak_flops_per_second")));
    row("rate", rate);
    if (run.words.at("feed") != "none")
      row("batches", fmt::format("made by the {}, {:.1f} % of the time spent waiting for them",
                                 run.words.at("feed"), 100 * figure("input_wait_fraction")));
  }
  row("cores used", fmt::format("{:.2f} of {:.0f}", figure("cores_used"), figure("cores_allowed")));
  row("peak memory", record::peak_memory_text(run));
  for (const record::Warning& warning : run.warnings) row("warning", warning.text);
}

}  // namespace trainyard::cli

#include "cli/train.h"

#include <chrono>
#include <new>

#include <fmt/chrono.h>

#include "base/error.h"
#include "cli/outputs.h"
#include "cli/progress_bar.h"
#include "comm/collective/mpi_job.h"
#include "launch/ps_part.h"
#include "run/run_record.h"

namespace trainyard::cli {

namespace {

// A line of a process's log, with the time. Whoever started the process keeps its standard error.
void log_line(const std::string& line) {
  const auto now = std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  fmt::print(stderr, "{:%H:%M:%S} {}\n", now, line);
  std::fflush(stderr);
}

int train_with(comm::collective::Collective& ranks, run::TrainCommand& options,
               const std::filesystem::path& result) {
  if (options.workers.workers != ranks.size())
    fail(ErrorKind::usage, "--workers {}: this job has {}", options.workers.workers, ranks.size());
  if (ranks.rank() > 0) options.run.record.clear();  // rank 0 keeps what is kept
  return recording_failure(
      "train", options.run, options.deployment, [&] { return asked_of(options); },
      [&] { return finish_training(train_network(options, &ranks), options, result); });
}

}  // namespace

int train_as_rank(run::TrainCommand options, const std::filesystem::path& result) {
  check(options);
  const auto ranks = comm::collective::join_mpi();
  const auto give_up = [&](const std::string& message, int code) {
    fmt::print(stderr, "trainyard: {}\n", message);
    std::fflush(stderr);
    ranks->abort(code);
    return code;
  };
  try {
    return train_with(*ranks, options, result);
  } catch (const Error& error) {
    return give_up(error.with_options(), exit_code(error.kind()));
  } catch (const std::bad_alloc&) {
    return give_up("out of memory", kRunFailed);
  } catch (const std::exception& error) {
    return give_up(error.what(), kRunFailed);
  }
}

std::function<int()> declare_worker(Command& command) {
  const auto options = std::make_shared<run::TrainCommand>();
  const auto result = std::make_shared<std::filesystem::path>();
  const auto part = std::make_shared<launch::PsPart>();
  add_train_options(command, *options);
  leave_outputs_to_starter(command);
  command.add_option("--result", *result, "File for the record, for who started the workers")
      ->type_name("FILE");
  add_part_options(command, *part, false);
  command.footer(
      "`trainyard train --workers N` starts N of these: with mpirun for --mode allreduce, where under mpirun "
      "or\n"
      "srun `train` itself is a worker; by itself, with servers, for the other modes. Started by neither it\n"
      "trains alone.\n\n"
      "Examples:\n"
      "  trainyard worker --network lenet --batch 8 --steps 10\n"
      "  trainyard worker --network lenet --batch 8 --steps 10 --json");
  return [options, result, part] {
    options->train.progress = terminal_progress(options->run.quiet);
    settle_vocabulary(*options);
    if (!part->coordinator.empty()) {
      apply(options->workers, options->deployment, options->ps, options->run.device);
      launch::work_for_servers(*options, *part, log_line);
      return 0;
    }
    const int ranks = comm::collective::mpi_job_ranks();
    if (ranks > 0 && options->workers.workers == 0) options->workers.workers = ranks;
    if (ranks > 0 && options->workers.collective.empty() && options->run.device.is_cpu())
      options->workers.collective = "mpi";
    apply(options->workers, options->deployment, options->ps, options->run.device);
    if (ranks > 0 && in_processes(options->workers)) return train_as_rank(*options, *result);
    return recording_failure(
        "train", options->run, options->deployment, [&] { return asked_of(*options); },
        [&] { return finish_training(train_network(*options), *options, *result); });
  };
}

std::function<int()> declare_serve_params(Command& command) {
  const auto options = std::make_shared<run::TrainCommand>();
  const auto part = std::make_shared<launch::PsPart>();
  add_train_options(command, *options);
  leave_outputs_to_starter(command);
  add_part_options(command, *part, true);
  command.footer(
      "One parameter server of a job. `trainyard train --workers N --servers S` starts S of these with the "
      "words\n"
      "it was given and what else they must know; it is not meant to be started by hand.\n\n"
      "Examples:\n"
      "  trainyard train --network lenet --batch 16 --steps 10 --workers 2 --mode bsp\n"
      "  trainyard train --network lenet --batch 16 --steps 20 --workers 2 --servers 2 --mode asp --json");
  return [options, part] {
    options->train.progress = terminal_progress(options->run.quiet);
    apply(options->workers, options->deployment, options->ps, options->run.device);
    launch::serve_parameters(*options, *part, log_line);
    return 0;
  };
}

}  // namespace trainyard::cli

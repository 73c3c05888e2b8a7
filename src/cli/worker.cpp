#include "cli/worker.h"

#include <unistd.h>

#include <csignal>
#include <memory>

#include <fmt/core.h>

#include "base/error.h"
#include "cli/outputs.h"
#include "cli/ps_job.h"
#include "cli/run_report.h"
#include "cli/train.h"
#include "cli/train_options.h"
#include "cli/train_with_servers.h"
#include "comm/collective/mpi_job.h"
#include "ps/server/serve.h"
#include "train/ps_worker.h"

namespace trainyard::cli {

namespace {

int train_with(comm::collective::Collective& ranks, TrainCommand& options,
               const std::filesystem::path& result) {
  if (options.workers.workers != ranks.size())
    fail(ErrorKind::usage, "--workers {}: this job has {}", options.workers.workers, ranks.size());
  if (ranks.rank() > 0) options.run.record.clear();  // rank 0 keeps what is kept
  return recording_failure("train", options.run, options.deployment,
                           [&] { return train_network(options, &ranks, result); });
}

}  // namespace

int train_as_rank(TrainCommand options, const std::filesystem::path& result) {
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

std::function<int()> declare_worker(CLI::App& command) {
  const auto options = std::make_shared<TrainCommand>();
  const auto result = std::make_shared<std::filesystem::path>();
  const auto part = std::make_shared<PsPart>();
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
    settle_vocabulary(*options);
    if (!part->coordinator.empty()) {
      apply(options->workers, options->deployment, options->ps, options->run.device);
      return work_for_servers(*options, *part);
    }
    const int ranks = comm::collective::mpi_job_ranks();
    if (ranks > 0 && options->workers.workers == 0) options->workers.workers = ranks;
    if (ranks > 0 && options->workers.collective.empty() && options->run.device == "cpu")
      options->workers.collective = "mpi";
    apply(options->workers, options->deployment, options->ps, options->run.device);
    if (ranks > 0 && in_processes(options->workers)) return train_as_rank(*options, *result);
    return recording_failure("train", options->run, options->deployment,
                             [&] { return train_network(*options, nullptr, *result); });
  };
}

namespace {

std::filesystem::path kept_state;

// A server's state stays in memory until it is removed, also when the server is told to end early.
void remove_when_told_to_end(const std::filesystem::path& state) {
  kept_state = state;
  std::signal(SIGTERM, [](int) {
    ::unlink(kept_state.c_str());
    ::_exit(128 + SIGTERM);
  });
}

int serve_params(const TrainCommand& options, const PsPart& part) {
  check(part, "serve-params");
  log_beginning("server", part.number);
  const ps::ModeName mode = ps::ModeName::parse(options.workers.mode);
  check(options.ps, mode, options.workers.workers, options.run);
  if (part.elements < 1) fail(ErrorKind::usage, "--elements {}: must be at least 1", part.elements);
  const comm::transport::JobKey key = read_key(part);
  const std::vector<ps::Key> keys = ps::make_keys(part.elements, options.ps.servers);
  train::ServerUpdate update(to_session(options.run).update, keys, part.number, part.parameters);
  const std::filesystem::path state = server_state_file(part.run, part.number);
  remove_when_told_to_end(state);
  const int least = options.ps.least_workers > 0 ? options.ps.least_workers : options.workers.workers;
  const ps::ServeOptions serving{.server = {.server = part.number,
                                            .servers = options.ps.servers,
                                            .workers = options.workers.workers,
                                            .least_workers = least,
                                            .patience_seconds = options.ps.patience_seconds,
                                            .batches = part.batches,
                                            .mode = mode,
                                            .bf16 = options.ps.wire == "bf16",
                                            .lease_seconds = options.ps.lease_seconds,
                                            .state = state,
                                            .run = part.run},
                                 .listen = comm::transport::Address::parse(part.listen),
                                 .advertise = part.advertise,
                                 .coordinator = comm::transport::Address::parse(part.coordinator)};
  try {
    ps::serve(serving, keys, update, key, log_line);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::peer) ::unlink(state.c_str());  // without a coordinator there is no run
    throw;
  }
  ::unlink(state.c_str());
  return 0;
}

}  // namespace

std::function<int()> declare_serve_params(CLI::App& command) {
  const auto options = std::make_shared<TrainCommand>();
  const auto part = std::make_shared<PsPart>();
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
    apply(options->workers, options->deployment, options->ps, options->run.device);
    return serve_params(*options, *part);
  };
}

}  // namespace trainyard::cli

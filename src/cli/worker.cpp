#include "cli/worker.h"

#include <memory>

#include <fmt/core.h>

#include "cli/exit_code.h"
#include "cli/failure_record.h"
#include "cli/outputs.h"
#include "cli/train.h"
#include "cli/train_with_servers.h"
#include "comm/collective/mpi_job.h"

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
  const auto give_up = [&](const char* message, int code) {
    fmt::print(stderr, "trainyard: {}\n", message);
    std::fflush(stderr);
    ranks->abort(code);
    return code;
  };
  try {
    return train_with(*ranks, options, result);
  } catch (const Error& error) {
    return give_up(error.what(), exit_code(error.kind()));
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

}  // namespace trainyard::cli

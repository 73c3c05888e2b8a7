#include <limits>

#include "cli/ps_part.h"
#include "cli/train_with_servers.h"
#include "cli/training_setup.h"
#include "train/ps_worker.h"

namespace trainyard::cli {

int work_for_servers(const TrainCommand& options, const PsPart& part) {
  check(part, "worker");
  log_beginning("worker", part.number);
  const comm::transport::JobKey key = read_key(part);
  TrainCommand own = options;
  if (!part.device.empty()) own.run.device = part.device;
  if (!part.backend.empty()) own.run.backend = part.backend;
  TrainingSetup setup = set_up_training(own);
  setup.session.cores = cores_of_share(options.run.threads, part.share);
  setup.session.optimizer_state = false;
  setup.session.keep_gradients = true;
  train::Session session(setup.session);
  const auto tracer = make_tracer(options.trace);
  // Which steps this worker will do nobody knows before.
  if (tracer != nullptr) tracer->choose(2 * tracer->count(), 0, std::numeric_limits<std::int32_t>::max());
  const ps::ClientCounts counts = train::run_ps_worker(
      session, setup.input.dataset,
      {.preprocess = setup.loop.preprocess, .batch = setup.session.model.batch, .seed = setup.session.seed},
      {.worker = part.number,
       .servers = options.ps.servers,
       .coordinator = comm::transport::Address::parse(part.coordinator),
       .layout = part.layout == "native" ? train::WireLayout::native : train::WireLayout::canonical,
       .fingerprint = part.fingerprint,
       .bf16 = options.ps.wire == "bf16",
       .give_up_seconds = options.ps.patience_seconds,
       .tracer = tracer.get()},
      key, log_line);
  if (tracer != nullptr && tracer->has_steps())
    write_trace(*tracer, of_part(options.trace.file, "worker", part.number), options.run);
  log_line(fmt::format("done: {} gradients counted, {} did not, joined {} times", counts.gradients,
                       counts.dropped_gradients, counts.joins));
  return 0;
}

}  // namespace trainyard::cli

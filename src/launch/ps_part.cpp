#include "launch/ps_part.h"

#include <unistd.h>

#include <charconv>
#include <iostream>

#include "base/cores.h"
#include "ps/server/serve.h"
#include "run/training.h"
#include "train/loop/ps_worker.h"

namespace trainyard::launch {

namespace {

void check(const PsPart& part, const char* command) {
  const auto wanted = [&](Setting setting, bool given) {
    if (!given)
      fail(ErrorKind::usage, "{} wants {}: `trainyard train {} N {} S` starts it so", command, setting,
           Setting{"workers"}, Setting{"servers"});
  };
  wanted(Setting{"join"}, !part.coordinator.empty());
  wanted(Setting{"job_key"}, !part.key.empty());
}

comm::transport::JobKey read_key(const PsPart& part) {
  if (part.key != "-") return comm::transport::JobKey::read(part.key);
  std::string line;
  std::getline(std::cin, line);
  return comm::transport::JobKey::parse(line, "standard input");
}

std::string log_beginning(const char* what, int number) {
  return fmt::format("{} {} on {}, process {}", what, number, node_name(), ::getpid());
}

}  // namespace

std::vector<int> cores_of_share(int threads, int share, int workers) {
  const std::vector<int>& cores = process_cores();
  if (workers <= static_cast<int>(cores.size()))
    return train::share_cores(threads, workers)[static_cast<std::size_t>(share)];
  return {cores[static_cast<std::size_t>(share) % cores.size()]};
}

std::vector<int> cores_of_share(int threads, const std::string& share) {
  int number = 0, of = 0;
  const char *begin = share.data(), *end = begin + share.size();
  auto [slash, error] = std::from_chars(begin, end, number);
  if (error == std::errc{} && slash != end && *slash == '/') {
    const auto [stopped, second] = std::from_chars(slash + 1, end, of);
    if (second == std::errc{} && stopped == end && of > 0 && number >= 0 && number < of)
      return cores_of_share(threads, number, of);
  }
  fail(ErrorKind::usage, "{} '{}': wants two numbers, as 0/2", Setting{"share"}, share);
}

std::string node_in(const std::string& line, const char* what, int number) {
  const std::string begin = fmt::format(" {} {} on ", what, number), end = ", process ";
  const std::size_t from = line.find(begin), to = line.find(end, from);
  if (from == std::string::npos || to == std::string::npos) return "";
  return line.substr(from + begin.size(), to - from - begin.size());
}

std::filesystem::path server_state_file(std::uint64_t run, int server) {
  const std::filesystem::path memory = "/dev/shm";
  const std::filesystem::path folder =
      ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
  return folder / fmt::format("trainyard-{:016x}-{}", run, server);
}

void work_for_servers(const run::TrainCommand& options, const PsPart& part, const Log& log) {
  check(part, "worker");
  log(log_beginning("worker", part.number));
  const comm::transport::JobKey key = read_key(part);
  run::TrainCommand own = options;
  own.run.device = part.device.value_or(options.run.device);
  if (!part.backend.empty()) own.run.backend = part.backend;
  run::TrainingSetup setup = set_up_training(own);
  setup.session.cores = cores_of_share(options.run.threads, part.share);
  train::Replicas replicas(setup.session, {.strategy = train::Strategy::servers});
  const auto tracer = make_tracer(options.trace);
  // The steps that this worker will get are not known in advance.
  if (tracer != nullptr) tracer->choose(2 * tracer->count(), 0, std::numeric_limits<std::int32_t>::max());
  const ps::ClientCounts counts = train::run_ps_worker(
      replicas, setup.input.dataset,
      {.preprocess = setup.loop.preprocess, .batch = setup.session.model.batch, .seed = setup.session.seed},
      {.worker = part.number,
       .servers = options.ps.servers,
       .coordinator = comm::transport::Address::parse(part.coordinator),
       .layout = part.layout == "native" ? train::WireLayout::native : train::WireLayout::canonical,
       .fingerprint = part.fingerprint,
       .bf16 = options.ps.wire == "bf16",
       .give_up_seconds = options.ps.patience_seconds},
      tracer.get(), key, log);
  if (tracer != nullptr && tracer->has_steps())
    write_trace(*tracer, run::of_part(options.trace.file, "worker", part.number), options.run);
  log(fmt::format("done: {} gradients counted, {} did not, joined {} times", counts.gradients,
                  counts.dropped_gradients, counts.joins));
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

}  // namespace

void serve_parameters(const run::TrainCommand& options, const PsPart& part, const Log& log) {
  check(part, "serve-params");
  log(log_beginning("server", part.number));
  const ps::ModeName mode = ps::ModeName::parse(options.workers.mode);
  check(options.ps, mode, options.workers.workers, options.run);
  if (part.elements < 1)
    fail(ErrorKind::usage, "{} {}: must be at least 1", Setting{"elements"}, part.elements);
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
    ps::serve(serving, keys, update, key, log);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::peer) ::unlink(state.c_str());  // without a coordinator there is no run
    throw;
  }
  ::unlink(state.c_str());
}

}  // namespace trainyard::launch

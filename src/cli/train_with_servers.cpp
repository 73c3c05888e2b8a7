#include "cli/train_with_servers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/cores.h"
#include "base/error.h"
#include "cli/mpirun.h"
#include "cli/progress_bar.h"
#include "cli/ps_job.h"
#include "cli/train.h"
#include "networks/zoo/zoo.h"
#include "process/stop_request.h"
#include "train/evaluate.h"
#include "train/job_check.h"
#include "train/ps_training.h"
#include "train/ps_worker.h"

namespace trainyard::cli {

namespace {

Input load(const TrainCommand& options, const networks::NetworkInfo& network) {
  InputOptions wanted = options.input;
  if (wanted.data.name == "synthetic")
    wanted.data.synthetic = train::synthetic_for(network, options.run.classes, options.run.seed);
  if (network.reads_sequences()) wanted.data.tokens = train::sequences_for(network, options.run.parameters);
  Input input = load_input(wanted, options.run.quiet);
  if (options.run.classes != 0 && !network.reads_sequences() && options.run.classes < input.dataset.classes)
    fail(ErrorKind::usage, "--classes {}: data set '{}' has {}", options.run.classes, input.dataset.name,
         input.dataset.classes);
  return input;
}

// Independent devices go through the images each for itself.
std::int64_t steps_of(const TrainCommand& options, const data::Dataset& dataset,
                      const train::Deployment& deployment) {
  if (options.steps > 0) return options.steps;
  const double images = options.epochs * static_cast<double>(dataset.size(data::Split::train));
  // A step is an update: of the batches of all devices, or of one.
  const bool of_one = deployment.strategy == train::Strategy::independent ||
                      (deployment.strategy == train::Strategy::servers &&
                       !train::one_update_of_all(ps::ModeName::parse(deployment.mode)));
  const std::int64_t batch =
      of_one ? deployment.batch_per_device(options.run.batch) : deployment.global_batch(options.run.batch);
  return static_cast<std::int64_t>(std::ceil(images / static_cast<double>(batch)));
}

}  // namespace

TrainingSetup set_up_training(const TrainCommand& options) {
  TrainingSetup setup;
  setup.deployment = to_deployment(options.deployment, options.run.batch);
  setup.session = to_session(options.run);
  setup.session.model.batch = setup.deployment.batch_per_device(options.run.batch);
  if (!backend::make_backend(setup.session.backend)->executes())
    fail(ErrorKind::usage, "--backend {}: computes nothing, so cannot train", setup.session.backend);
  const networks::NetworkInfo network = networks::find_network(options.run.network, options.run.parameters);
  train::want_readable(network, options.input.data.name);
  setup.input = load(options, network);
  const data::Dataset& dataset = setup.input.dataset;
  const train::MatchedInput input = train::match_input(network, dataset, options.preprocess);
  setup.session.model.input = input.network;
  if (setup.session.model.classes == 0) setup.session.model.classes = input.classes;
  setup.loop = options.train;
  setup.loop.steps = steps_of(options, dataset, setup.deployment);
  setup.loop.preprocess = input.preprocess;
  setup.loop.feed = *train::find_feed(options.feed);
  setup.loop.evaluate = !options.no_eval;
  setup.loop.resume = options.resume.is_given();
  setup.loop.progress = terminal_progress(options.run.quiet);
  return setup;
}

void tell_note(const TrainingSetup& setup) {
  const data::Dataset& dataset = setup.input.dataset;
  if (setup.loop.progress != nullptr && !dataset.note.empty())
    setup.loop.progress->note(fmt::format("{}: {}", dataset.name, dataset.note));
}

namespace {

using Json = nlohmann::ordered_json;

// Returns the machines on which the job's processes run. A server on a machine of its own serves more than it
// costs; a job on one machine has no such server.
std::vector<Host> hosts_of(const TrainCommand& options, PsOptions& ps) {
  const int workers = options.workers.workers;
  if (ps.hosts.empty())
    return {{.name = "", .address = "127.0.0.1", .workers = workers, .servers = ps.servers}};
  if (ps.hosts == "slurm" && ps.remote_shell.empty())
    ps.remote_shell = "srun --overlap --nodes=1 --ntasks=1 --nodelist={}";
  return find_hosts(ps.hosts, workers, ps.servers);
}

std::filesystem::path log_folder(const TrainCommand& options) {
  if (options.out.empty()) return {};
  const std::filesystem::path folder = options.out / "logs";
  std::error_code ignored;
  if (options.overwrite) std::filesystem::remove_all(folder, ignored);
  return folder;
}

// The coordinator takes the cores of the first worker: with others it would choose other kernels, and thus
// other layouts.
std::vector<int> cores_of_a_worker(const TrainCommand& options, const std::vector<Host>& hosts) {
  for (const Host& host : hosts)
    if (host.workers > 0) return cores_of_share(options.run.threads, 0, workers_beside(host, hosts));
  return {};
}

// The peak is measured with as many threads as the workers have, as far as this machine has cores.
double measure_peak_here(const TrainCommand& options, int threads) {
  return measure_peak(to_session(options.run), std::min(threads, static_cast<int>(process_cores().size())));
}

Json to_json(const ps::ServerCounts& counts) {
  Json staleness = Json::object();
  for (const auto& [updates, gradients] : counts.staleness) staleness[std::to_string(updates)] = gradients;
  return {{"elements", counts.elements},
          {"updates", counts.updates},
          {"gradients", counts.gradients},
          {"refused_gradients", counts.refused_gradients},
          {"workers_joined", counts.joined},
          {"workers_left", counts.left},
          {"interruptions", counts.interruptions},
          {"most_waiting_gradients", counts.most_waiting},
          {"apply_seconds", 1e-9 * static_cast<double>(counts.apply_nanoseconds)},
          {"bytes_received", counts.bytes_received},
          {"bytes_sent", counts.bytes_sent},
          {"staleness", staleness}};
}

Json exchange_json(const TrainCommand& options, const train::PsResult& exchange, const PsJob& job) {
  Json servers = Json::array(), workers = Json::object();
  for (const ps::ServerCounts& counts : exchange.servers) servers.push_back(to_json(counts));
  for (const auto& [worker, gradients] : exchange.gradients) workers[std::to_string(worker)] = gradients;
  const train::StepNote& mean = exchange.mean;
  return {{"mode", options.workers.mode},
          {"transport", job.transport()},
          {"wire", options.ps.wire},
          {"layout", train::name(exchange.layout)},
          {"seconds", exchange.seconds},
          {"phase_seconds",
           {{"input", mean.input},
            {"forward", mean.forward},
            {"backward", mean.backward},
            {"push_wait", mean.push},
            {"apply", mean.apply},
            {"pull", mean.pull}}},
          {"batches_used", exchange.batches_used},
          {"gradients_by_worker", workers},
          {"restarted_processes", job.restarted()},
          {"lost_servers", exchange.lost_servers},
          {"servers", servers}};
}

double mean_staleness(const train::PsResult& exchange) {
  if (exchange.servers.empty()) return 0;
  double sum = 0, count = 0;
  for (const auto& [staleness, gradients] : exchange.servers.front().staleness) {
    sum += static_cast<double>(staleness * gradients);
    count += static_cast<double>(gradients);
  }
  return count > 0 ? sum / count : 0;
}

void add_exchange(record::RunRecord& run, const TrainCommand& options, const train::PsResult& exchange,
                  const PsJob& job) {
  run.asked["servers"] = std::int64_t{options.ps.servers};
  if (options.ps.wire != "f32") run.asked["wire"] = options.ps.wire;
  run.words["transport"] = job.transport();
  run.figures["servers"] = options.ps.servers;
  run.figures["gradients_per_second"] = exchange.gradients_per_second;
  run.figures["mean_staleness"] = mean_staleness(exchange);
  std::uint64_t bytes = 0;
  for (const ps::ServerCounts& counts : exchange.servers) bytes += counts.bytes_received + counts.bytes_sent;
  run.figures["exchanged_bytes"] = static_cast<double>(bytes);
  run.details["exchange"] = exchange_json(options, exchange, job).dump();
  std::vector<std::string> nodes;
  for (const auto& [worker, gradients] : exchange.gradients)
    if (gradients > 0) nodes.push_back(job.node_of_worker(worker));
  add_hosts(run, nodes);
}

// This checks only the resources of this machine. Each process on a remote machine has a remote shell here.
void check_room_for_servers(const TrainCommand& options, const std::vector<Host>& hosts) {
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  train::SessionOptions session = to_session(options.run);
  session.model.batch = deployment.batch_per_device(options.run.batch);
  std::int64_t workers = 0, servers = 0, shells = 0;
  for (const Host& host : hosts) {
    workers += host.is_here() ? host.workers : 0;
    servers += host.is_here() ? host.servers : 0;
    shells += host.is_here() ? 0 : host.workers + host.servers;
  }
  const std::string who =
      fmt::format("--workers {} --servers {}", options.workers.workers, options.ps.servers);
  train::check_job(who, {{workers + servers + shells, 0}});  // at once, whatever the network
  constexpr double kShellBytes = 8 << 20;
  train::check_job(who, {{workers, workers > 0 ? train::worker_bytes(session) : 0},
                         {servers, servers > 0 ? train::server_bytes(session, options.ps.servers) : 0},
                         {shells, kShellBytes}});
}

}  // namespace

int train_with_servers(const TrainCommand& asked) {
  const RunStart start;
  TrainCommand options = asked;
  check(options);
  const ps::ModeName mode = ps::ModeName::parse(options.workers.mode);
  check(options.ps, mode, options.workers.workers, options.run);
  const std::vector<Host> hosts = hosts_of(options, options.ps);
  check_room_for_servers(options, hosts);
  TrainingSetup setup = set_up_training(options);
  tell_note(setup);
  const auto folders = open_folders(options, setup.deployment);
  const process::StopRequest guard;
  process::StopRequest::check();  // of what was staged before

  const bool canonical =
      options.ps.wire_layout == "canonical" || (options.ps.wire_layout == "auto" && !all_alike(hosts));
  const auto key = comm::transport::JobKey::random();
  std::vector<std::string> words = own_words();
  words.erase(words.begin());
  PsJob job(options.ps, hosts, words, key, log_folder(options));
  setup.session.cores = cores_of_a_worker(options, hosts);
  train::PsResult exchange;
  train::TrainResult result =
      train::run_ps_training(setup.session, setup.input.dataset, setup.loop,
                             {.workers = options.workers.workers,
                              .servers = options.ps.servers,
                              .mode = mode,
                              .canonical = canonical,
                              .listen = job.coordinator_address()},
                             folders.empty() ? nullptr : folders.front().get(), key, job, exchange);
  result.cores_in_reach =
      job.cores_in_reach(options.run.threads, result.facts.threads / options.workers.workers);
  const double peak = result.interrupted ? 0 : measure_peak_here(options, result.facts.threads);
  record::RunRecord run = training_record(start, options, setup.input, setup.deployment, result, peak);
  add_exchange(run, options, exchange, job);
  if (!options.out.empty()) record::write_run_record(run, options.out / train::RunFolder::kRecord);
  keep_record(run, options.run);
  return report_training(run, to_json(run), options);
}

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
  // The steps that this worker will get are not known in advance.
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

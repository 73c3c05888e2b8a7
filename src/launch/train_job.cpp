#include "launch/train_job.h"

#include "base/cores.h"
#include "base/json.h"
#include "launch/mpi_job.h"
#include "launch/ps_job.h"
#include "launch/ps_part.h"
#include "run/bench.h"
#include "run/training.h"
#include "train/loop/ps_training.h"
#include "train/session/job_check.h"

namespace trainyard::launch {

namespace {

std::string read_json(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file);
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.erase(text.find_last_not_of('\n') + 1);
  return text;
}

// The launcher checks what every worker would check, so that the user sees a mistake once instead of N times.
void check_first(const run::TrainCommand& options) {
  check(options);
  to_deployment(options.deployment, options.run.batch);
  to_session(options.run);
  networks::find_network(options.run.network);
}

void check_room_for_workers(const run::TrainCommand& options, int workers) {
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  train::SessionOptions session = to_session(options.run);
  session.model.batch = deployment.batch_per_device(options.run.batch);
  session.micro_batches = deployment.micro_batches;
  const std::string who = fmt::format("{} {}", Setting{"workers"}, options.workers.workers);
  train::check_job(who, {{workers, train::process_bytes()}});  // at once, whatever the network
  train::check_job(who, {{workers, train::worker_bytes(session)}});
}

// Processes on other machines begin in folders of their own, so a network's file has its whole path there.
std::vector<std::string> words_of_workers(const run::TrainCommand& options) {
  std::vector<std::string> words = process::own_words();
  const std::string& network = options.run.network;
  if (options.ps.hosts.empty() || !networks::names_network_file(network)) return words;
  const std::string whole = std::filesystem::absolute(network).lexically_normal().string();
  for (std::string& word : words)
    if (word == network || word.ends_with("=" + network))
      word.replace(word.size() - network.size(), network.size(), whole);
  return words;
}

}  // namespace

std::optional<std::string> train_in_processes(const run::TrainCommand& options, ProgressListener* notes) {
  check_first(options);
  MpiJob job{options.workers.workers, words_of_workers(options), {}, notes, {}};
  place_ranks(job, options.ps.hosts, options.ps.remote_shell);
  check_room_for_workers(options, ranks_here(job));
  const bool first_is_here = job.hosts.empty() || is_this_machine(job.hosts.front());
  if (!first_is_here && options.out.empty())
    fail(ErrorKind::usage, "{} '{}': this machine is none of them; give {}, a folder that all see",
         Setting{"hosts"}, options.ps.hosts.string(), Setting{"out"});
  if (!first_is_here) make_folders(options.out);
  const data::ScratchFolder folder(first_is_here ? std::filesystem::temp_directory_path() : options.out,
                                   "trainyard-result-");
  const std::filesystem::path result = folder.path() / "record.json";  // where rank 0 leaves it
  job.words.front() = "worker";
  job.words.insert(job.words.end(), {"--result", result.string()});
  if (!options.out.empty()) job.logs = options.out / "logs";
  const process::StopRequest guard;
  const MpiJobEnd end = run_mpi_job(job);
  if (std::filesystem::exists(result)) return read_json(result);
  if (process::StopRequest::asked()) return std::nullopt;
  const std::string reason =
      end.reason.empty() ? fmt::format("mpirun ended with exit code {}", end.exit_code) : end.reason;
  fail(end.exit_code == process::kCallerCanMendIt ? ErrorKind::config : ErrorKind::peer, "{}", reason);
}

namespace {

// Returns the machines on which the job's processes run. A server on a machine of its own serves more than it
// costs; a job on one machine has no such server.
std::vector<Host> hosts_of(const run::TrainCommand& options, run::PsOptions& ps) {
  const int workers = options.workers.workers;
  if (ps.hosts.empty())
    return {{.name = "", .address = "127.0.0.1", .workers = workers, .servers = ps.servers}};
  if (ps.hosts == "slurm" && ps.remote_shell.empty())
    ps.remote_shell = "srun --overlap --nodes=1 --ntasks=1 --nodelist={}";
  return find_hosts(ps.hosts, workers, ps.servers);
}

std::filesystem::path log_folder(const run::TrainCommand& options) {
  if (options.out.empty()) return {};
  const std::filesystem::path folder = options.out / "logs";
  std::error_code ignored;
  if (options.overwrite) std::filesystem::remove_all(folder, ignored);
  return folder;
}

// The coordinator takes the cores of the first worker: with others it would choose other kernels, and thus
// other layouts.
std::vector<int> cores_of_a_worker(const run::TrainCommand& options, const std::vector<Host>& hosts) {
  for (const Host& host : hosts)
    if (host.workers > 0) return cores_of_share(options.run.threads, 0, workers_beside(host, hosts));
  return {};
}

// The peak is measured with as many threads as the workers have, as far as this machine has cores.
double measure_peak_here(const run::TrainCommand& options, int threads) {
  return run::measure_peak(to_session(options.run),
                           std::min(threads, static_cast<int>(process_cores().size())));
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

Json exchange_json(const run::TrainCommand& options, const train::PsResult& exchange, const PsJob& job) {
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

void add_exchange(record::RunRecord& run, const run::TrainCommand& options, const train::PsResult& exchange,
                  const PsJob& job) {
  run.words["transport"] = job.transport();
  run.figures["servers"] = options.ps.servers;
  run.figures["gradients_per_second"] = exchange.gradients_per_second;
  run.figures["mean_staleness"] = mean_staleness(exchange);
  std::uint64_t bytes = 0;
  for (const ps::ServerCounts& counts : exchange.servers) bytes += counts.bytes_received + counts.bytes_sent;
  run.figures["exchanged_bytes"] = static_cast<double>(bytes);
  run.details["exchange"] = json_text(exchange_json(options, exchange, job));
  std::vector<std::string> nodes;
  for (const auto& [worker, gradients] : exchange.gradients)
    if (gradients > 0) nodes.push_back(job.node_of_worker(worker));
  run::add_hosts(run, nodes);
}

// This checks only the resources of this machine. Each process on a remote machine has a remote shell here.
void check_room_for_servers(const run::TrainCommand& options, const std::vector<Host>& hosts) {
  const train::Deployment deployment = to_deployment(options.deployment, options.run.batch);
  train::SessionOptions session = to_session(options.run);
  session.model.batch = deployment.batch_per_device(options.run.batch);
  std::int64_t workers = 0, servers = 0, shells = 0;
  for (const Host& host : hosts) {
    workers += host.is_here() ? host.workers : 0;
    servers += host.is_here() ? host.servers : 0;
    shells += host.is_here() ? 0 : host.workers + host.servers;
  }
  const std::string who = fmt::format("{} {} {} {}", Setting{"workers"}, options.workers.workers,
                                      Setting{"servers"}, options.ps.servers);
  train::check_job(who, {{workers + servers + shells, 0}});  // at once, whatever the network
  constexpr double kShellBytes = 8 << 20;
  train::check_job(who, {{workers, workers > 0 ? train::worker_bytes(session) : 0},
                         {servers, servers > 0 ? train::server_bytes(session, options.ps.servers) : 0},
                         {shells, kShellBytes}});
}

}  // namespace

record::RunRecord train_with_servers(const run::TrainCommand& options, ProgressListener* notes) {
  const run::RunStart start;
  check(options);
  const ps::ModeName mode = ps::ModeName::parse(options.workers.mode);
  check(options.ps, mode, options.workers.workers, options.run);
  run::PsOptions settled = options.ps;
  const std::vector<Host> hosts = hosts_of(options, settled);
  check_room_for_servers(options, hosts);
  run::TrainingSetup setup = set_up_training(options);
  tell_note(setup);
  const auto folders = open_folders(options, setup.deployment);
  const process::StopRequest guard;
  process::StopRequest::check();  // of what was staged before

  const bool canonical =
      options.ps.wire_layout == "canonical" || (options.ps.wire_layout == "auto" && !all_alike(hosts));
  const auto key = comm::transport::JobKey::random();
  std::vector<std::string> words = words_of_workers(options);
  words.erase(words.begin());
  PsJob job(settled, hosts, words, key, log_folder(options), notes);
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
  if (!setup.start.empty()) run.words["start"] = setup.start;
  add_exchange(run, options, exchange, job);
  if (!options.out.empty()) record::write_run_record(run, options.out / train::RunFolder::kRecord);
  keep_record(run, options.run);
  return run;
}

}  // namespace trainyard::launch

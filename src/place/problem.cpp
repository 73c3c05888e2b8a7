#include "place/problem.h"

#include "networks/zoo/network_files.h"
#include "predict/runs/graph_work.h"
#include "record/settings.h"
#include "study/spec/file_networks.h"
#include "yaml/yaml_reader.h"

namespace trainyard::place {

double shortest_seconds(const Problem& problem, const Job& job) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const Slot& slot : problem.slots)
    if (job.options[slot.kind].fits) shortest = std::min(shortest, job.options[slot.kind].seconds);
  return shortest;
}

std::string why_nowhere(const Job& job) {
  if (job.devices == 1) return "it fits into the memory of no device";
  return fmt::format("no kind of device has {} {}that it fits on", job.devices,
                     job.one_node ? "in one machine " : "");
}

void shuffle_jobs(Problem& problem, std::uint64_t seed) {
  if (problem.jobs.empty()) return;
  const SampleOrder order(seed, static_cast<std::int64_t>(problem.jobs.size()));
  std::vector<Job> shuffled;
  for (std::size_t i = 0; i < problem.jobs.size(); ++i)
    shuffled.push_back(problem.jobs[static_cast<std::size_t>(order.index(static_cast<std::int64_t>(i)))]);
  problem.jobs = std::move(shuffled);
}

void inject_error(Problem& problem, double deviation, std::uint64_t seed) {
  constexpr std::uint64_t kStream = stream_of("prediction error");
  const Philox random(seed, kStream);
  std::uint64_t drawn = 0;
  for (Job& job : problem.jobs)
    for (Option& option : job.options) {
      const Philox::Block block = random.block(drawn++);
      // This is the transform of Box and Muller.
      const double radius = std::sqrt(-2 * std::log(1.0 - static_cast<double>(to_unit_float(block[0]))));
      const double angle = 2 * std::numbers::pi * static_cast<double>(to_unit_float(block[1]));
      option.seconds *= std::exp(deviation * radius * std::cos(angle));
    }
}

namespace {

using predict::TableRun;
using yaml::YamlReader;

constexpr std::int64_t kMostJobs = 100'000, kMostSlots = 100'000, kMostDevices = 4096;

ops::Rule optimizer_at(const YamlReader& at) {
  return predict::optimizer_named(at.one_of({"sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw"}));
}

void check_network(const YamlReader& at, const TableRun& run) {
  if (run.network.empty()) at.complain("a job wants a network");
  const auto known = predict::find_named_network(run.network, run.dataset);
  if (!known)
    at.complain(
        fmt::format("unknown network '{}'; `trainyard networks` lists those that are known", run.network));
  try {
    if (!predict::is_foreign_graph(known->network)) networks::find_network(known->network, run.parameters);
  } catch (const Error& error) {
    at.complain(error.what());
  }
}

bool is_file(const std::string& network) {
  return predict::names_graph_file(network) || networks::names_network_file(network);
}

std::string path_of_network(const std::string& network, const std::filesystem::path& yaml) {
  return is_file(network) ? study::path_beside(network, yaml) : network;
}

std::string short_name(const std::string& network) {
  return is_file(network) ? std::filesystem::path(network).stem().string() : network;
}

void check_devices(const YamlReader& at, const JobRequest& job) {
  if (job.devices == 1) return;
  if (job.run.batch % job.devices != 0)
    at.complain(
        fmt::format("batch {} is not a whole number for each of {} devices", job.run.batch, job.devices));
  if (job.scaling == 0)
    at.complain(
        fmt::format("a job of {} devices wants 'scaling': the share of {} times the speed of one that it "
                    "reaches, above 0 "
                    "and at most 1",
                    job.devices, job.devices));
}

// `file` is the one that has the job.
void add_job(const YamlReader& at, const std::filesystem::path& file, std::vector<JobRequest>& jobs) {
  JobRequest job;
  job.run.batch = 32;
  job.run.epochs = 1;
  job.run.images_per_epoch = 50000;
  std::int64_t count = 1;
  for (const auto& [key, at_key, value] : at.entries()) {
    if (key == "name")
      job.name = value.text();
    else if (key == "network")
      job.run.network = path_of_network(value.text(), file);
    else if (key == "batch")
      job.run.batch = value.integer(record::range_of("batch"));
    else if (key == "optimizer")
      job.run.optimizer = optimizer_at(value);
    else if (key == "epochs")
      job.run.epochs = value.number(record::range_of("epochs"));
    else if (key == "images")
      job.run.images_per_epoch = static_cast<double>(value.integer(1));
    else if (key == "classes")
      job.run.classes = static_cast<int>(value.integer(record::range_of("classes")));
    else if (key == "arrival")
      job.arrival_seconds = value.seconds();
    else if (key == "user")
      job.user = value.text();
    else if (key == "devices")
      job.devices = static_cast<int>(value.integer(1, kMostDevices));
    else if (key == "scaling")
      job.scaling = value.number(record::NumberRange::real(0.001, 1));
    else if (key == "one_node")
      job.one_node = value.one_of({"yes", "no"}) == "yes";
    else if (key == "count")
      count = value.integer(1, kMostJobs);
    else if (networks::is_parameter(key))
      job.run.parameters[key] = value.text();
    else
      at_key.complain(
          fmt::format("a job has no '{}'; it has name, network, batch, optimizer, epochs, images, "
                      "classes, arrival, user, devices, scaling, one_node and count, and the parameters of a "
                      "generated network",
                      key));
  }
  check_network(at, job.run);
  check_devices(at, job);
  if (job.name.empty()) job.name = fmt::format("{}-{}", short_name(job.run.network), jobs.size() + 1);
  if (static_cast<std::int64_t>(jobs.size()) + count > kMostJobs)
    at.complain(fmt::format("more than {} jobs", kMostJobs));
  const std::string name = job.name;
  for (std::int64_t i = 1; i <= count; ++i) {
    if (count > 1) job.name = fmt::format("{}-{}", name, i);
    jobs.push_back(job);
  }
}

// Runs that differ in their device alone are one job.
void add_table(const std::filesystem::path& path, std::vector<JobRequest>& jobs) {
  std::map<std::tuple<std::string, std::int64_t, ops::Rule, double, std::string>, std::size_t> positions;
  for (const TableRun& run : predict::read_run_csv(path).runs) {
    const auto key = std::tuple(run.network, run.batch, run.optimizer, run.epochs, run.dataset);
    const auto [at, fresh] = positions.try_emplace(key, jobs.size());
    if (fresh) {
      const char* optimizer = run.optimizer == ops::Rule::adam ? "adam" : "sgd";
      jobs.push_back(
          {run,
           fmt::format("{}-{}-{}-{}-{}", run.network, run.batch, optimizer, run.epochs, run.dataset),
           0,
           {}});
    }
    jobs[at->second].measured.push_back(run);
  }
}

const TableRun* measured_on(const JobRequest& job, const predict::DeviceSheet& device) {
  const auto at = std::find_if(job.measured.begin(), job.measured.end(), [&](const TableRun& run) {
    return predict::same_device_name(run.device, device.name);
  });
  return at == job.measured.end() ? nullptr : &*at;
}

// `made`: what is predicted there; null without a model.
Option option_of(const JobRequest& job, const predict::DeviceSheet& device, const predict::Prediction* made) {
  Option option;
  const TableRun* measured = measured_on(job, device);
  if (made != nullptr) {
    option.seconds = option.true_seconds = made->seconds / (job.devices > 1 ? job.scaling : 1);
    option.fits = option.truly_fits = made->oom_probability < predict::kLikelyOom;
    option.need_bytes = made->memory.total();
  }
  if (measured != nullptr) {
    option.true_seconds = measured->seconds;
    option.truly_fits = measured->end == predict::RunEnd::ok;
    option.use = measured->use;
    if (made == nullptr) {
      option.seconds = measured->seconds;
      option.fits = option.truly_fits;
    }
  }
  if (made == nullptr && measured == nullptr)
    fail(ErrorKind::config, "job '{}': it was not measured on {}, and there is no model to predict it",
         job.name, device.name);
  return option;
}

}  // namespace

std::vector<JobRequest> read_jobs(const std::filesystem::path& path) {
  const YamlReader file = YamlReader::read(path);
  std::vector<JobRequest> jobs;
  for (const auto& [key, at_key, value] : file.entries()) {
    if (key == "jobs")
      for (const YamlReader& job : value.items()) add_job(job, path, jobs);
    else if (key == "table")
      add_table(path.parent_path() / value.text(), jobs);
    else
      at_key.complain(fmt::format("no key '{}' here; a file of jobs has 'jobs' or 'table'", key));
  }
  if (jobs.empty()) file.complain("no jobs");
  return jobs;
}

namespace {

DeviceSpec run_device(const YamlReader& given) {
  const std::optional<DeviceSpec> device = DeviceSpec::find(given.text());
  if (!device)
    given.complain(fmt::format("'{}' is no device to run on: cpu, cuda or cuda:NUMBER", given.text()));
  return *device;
}

}  // namespace

Cluster read_cluster(const std::filesystem::path& path, const std::vector<predict::DeviceSheet>& known) {
  std::vector<predict::DeviceSheet> devices = predict::read_devices(path);
  devices.insert(devices.end(), known.begin(), known.end());
  Cluster cluster;
  const YamlReader file = YamlReader::read(path);
  for (const auto& [key, at_key, value] : file.entries()) {
    if (key == "preemption") cluster.preemption_seconds = value.seconds();
    if (key != "slots") continue;
    for (const YamlReader& item : value.items()) {
      std::string device;
      Slot slot;
      std::int64_t count = 1;
      const std::map<std::string, std::string*> words = {
          {"device", &device},          {"name", &slot.name},
          {"node", &slot.node},         {"partition", &slot.partition},
          {"gpu_type", &slot.gpu_type}, {"constraint", &slot.constraint}};
      for (const auto& [word, at_word, given] : item.entries()) {
        if (const auto found = words.find(word); found != words.end())
          *found->second = given.text();
        else if (word == "run")
          slot.run_device = run_device(given);
        else if (word == "count")
          count = given.integer(1, kMostSlots);
        else
          at_word.complain(fmt::format(
              "a slot has no '{}'; it has device, name, node, count, run, partition, gpu_type and constraint",
              word));
      }
      if (device.empty()) item.complain("a slot wants a device");
      const predict::DeviceSheet& found = predict::find_device(devices, device);
      const auto at = std::find(cluster.kinds.begin(), cluster.kinds.end(), found);
      slot.kind = static_cast<std::size_t>(at - cluster.kinds.begin());
      if (at == cluster.kinds.end()) cluster.kinds.push_back(found);
      if (static_cast<std::int64_t>(cluster.slots.size()) + count > kMostSlots)
        item.complain(fmt::format("more than {} slots", kMostSlots));
      const std::string name = slot.name.empty() ? found.name : slot.name;
      for (std::int64_t i = 1; i <= count; ++i) {
        slot.name = count > 1 ? fmt::format("{}:{}", name, i) : name;
        cluster.slots.push_back(slot);
      }
    }
  }
  if (cluster.slots.empty()) file.complain("no slots: a cluster wants 'slots', a list of devices");
  return cluster;
}

namespace {

// As many steps as the whole job has, each with a share of its batch.
TableRun share_of_device(const JobRequest& job) {
  TableRun run = job.run;
  run.batch /= job.devices;
  run.images_per_epoch /= job.devices;
  return run;
}

bool has_devices(const Cluster& cluster, const Job& job, std::size_t kind) {
  std::map<std::string, int> by_node;
  for (const Slot& slot : cluster.slots)
    if (slot.kind == kind) ++by_node[job.one_node ? slot.node : ""];
  return std::any_of(by_node.begin(), by_node.end(),
                     [&](const auto& node) { return node.second >= job.devices; });
}

}  // namespace

Problem make_problem(const std::vector<JobRequest>& jobs, const Cluster& cluster, predict::Predictor* model) {
  std::vector<predict::Prediction> made;  // of each job on each kind of device
  if (model != nullptr) {
    std::vector<predict::JobDescription> asked;
    for (const JobRequest& request : jobs)
      for (const predict::DeviceSheet& device : cluster.kinds)
        asked.push_back(predict::describe(share_of_device(request), device));
    made = model->predict(asked);
  }
  Problem problem{cluster.kinds, cluster.slots, {}, cluster.preemption_seconds};
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    Job job{jobs[j].name, jobs[j].arrival_seconds, {}, jobs[j].user, jobs[j].devices, jobs[j].one_node};
    for (std::size_t k = 0; k < cluster.kinds.size(); ++k)
      job.options.push_back(option_of(jobs[j], cluster.kinds[k],
                                      model != nullptr ? &made[j * cluster.kinds.size() + k] : nullptr));
    for (std::size_t k = 0; k < cluster.kinds.size() && job.devices > 1; ++k)
      job.options[k].fits = job.options[k].fits && has_devices(cluster, job, k);
    problem.jobs.push_back(std::move(job));
  }
  return problem;
}

}  // namespace trainyard::place

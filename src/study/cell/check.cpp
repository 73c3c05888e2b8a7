#include "study/cell/check.h"

#include <unistd.h>

#include <cctype>
#include <cerrno>

#include "backend/backend.h"
#include "base/cores.h"
#include "base/text.h"
#include "ensemble/spec.h"
#include "meter/nvml.h"
#include "networks/zoo/zoo.h"
#include "run/deployment_options.h"
#include "study/cell/settings.h"
#include "study/spec/file_networks.h"
#include "study/spec/known_settings.h"
#include "train/session/evaluate.h"
#include "train/session/job_check.h"

namespace trainyard::study {

namespace {

std::string in_lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

const std::vector<std::string>& gpus_here() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    const auto nvml = meter::Nvml::open();
    for (int i = 0; nvml != nullptr && i < nvml->device_count(); ++i) names.push_back(nvml->describe(i).name);
    return names;
  }();
  return kNames;
}

// A cluster's "h200" is NVML's "NVIDIA H200".
bool is_of_type(const std::string& gpu, const std::string& type) {
  return in_lower_case(gpu).find(in_lower_case(type)) != std::string::npos;
}

// A CellReader is one cell's settings, and what is wrong with them: each check returns a reason or "".
class CellReader {
 public:
  CellReader(const Spec& spec, const record::Settings& settings, Where where)
      : run_(spec.run), program_(spec.program), settings_(with_network_path(spec, settings)), where_(where) {}

  std::string complaint() const {
    try {
      for (const auto check :
           {&CellReader::network, &CellReader::program, &CellReader::idle_gpus, &CellReader::training_set,
            &CellReader::precision, &CellReader::deployment, &CellReader::ensemble, &CellReader::nodes,
            &CellReader::threads, &CellReader::processes, &CellReader::gpus})
        if (std::string reason = (this->*check)(); !reason.empty()) return reason;
    } catch (const Error& error) {
      return error.with_options();
    }
    return "";
  }

 private:
  std::string word(const char* name, const std::string& otherwise = "") const {
    const std::string given = setting_text(settings_, name);
    return given.empty() ? otherwise : given;
  }
  std::int64_t count(const char* name, std::int64_t otherwise) const {
    const auto found = settings_.find(name);
    return found == settings_.end()
               ? otherwise
               : static_cast<std::int64_t>(record::number_or(found->second, static_cast<double>(otherwise)));
  }
  bool trains() const { return run_ == "bench" || run_ == "train"; }
  bool on_gpu() const { return names_gpu(word("device")); }
  bool on_several_nodes() const { return count("nodes", 1) > 1; }
  std::string strategy() const { return word("strategy", run::DeploymentOptions().strategy); }

  std::string network() const {
    const std::string name = word("network");
    if (name.empty()) return "";
    const networks::NetworkInfo network = networks::find_network(name, parameters_in(settings_));
    if (run_ == "train") train::want_readable(network, word("data", "synthetic"));
    return "";
  }

  // One that a setting names is looked at when it runs, and so is that of another machine.
  std::string program() const {
    if (run_ != "program" || where_ != Where::this_machine) return "";
    const std::string& name = program_.front();
    if (name.find('{') != std::string::npos) return "";
    const std::string file = process::find_program(name);
    return !file.empty() && ::access(file.c_str(), X_OK) == 0
               ? ""
               : fmt::format("program '{}': {}", name, std::strerror(errno));
  }

  std::string idle_gpus() const {
    if (!trains() || (!settings_.contains("gpus") && !settings_.contains("gpu_type"))) return "";
    if (!on_gpu())
      return fmt::format("GPUs asked for, and device is {}: they would idle", word("device", "cpu"));
    const std::int64_t devices = count("devices", 1), nodes = count("nodes", 1),
                       gpus = count("gpus", devices);
    if (gpus * nodes > devices && settings_.contains("gpus"))
      return nodes > 1 ? fmt::format("gpus {} on {} nodes with devices {}: the others would idle", gpus,
                                     nodes, devices)
                       : fmt::format("gpus {} with devices {}: the others would idle", gpus, devices);
    return gpus < devices && nodes == 1 ? fmt::format("devices {} on gpus {}", devices, gpus) : "";
  }

  std::string training_set() const {
    if (run_ == "train" && settings_.contains("steps") && settings_.contains("epochs"))
      return "steps and epochs: a run has one of them";
    const std::string dataset = word("data"), staging = word("staging");
    const bool has_files = !dataset.empty() && data::has_files(dataset);
    if (!dataset.empty() && !has_files && !staging.empty() && staging != "in-place")
      return fmt::format("staging {}: data set '{}' has no files", staging, dataset);
    if (const std::string folder = word("from");
        where_ == Where::this_machine && !folder.empty() && !std::filesystem::is_directory(folder))
      return fmt::format("from '{}': there is no such folder", folder);
    if (const std::size_t colon = dataset.find(':'); where_ == Where::this_machine && has_files &&
                                                     colon != std::string::npos &&
                                                     !std::filesystem::exists(dataset.substr(colon + 1)))
      return fmt::format("data '{}': there is no such folder or file", dataset);
    const std::optional<std::int64_t> images = training_images_in_files(dataset);
    const std::int64_t batch = count("batch", 0);
    if (!images || batch <= *images) return "";
    return fmt::format("batch {} is larger than the training set of {} ({} images)", batch, dataset, *images);
  }

  std::string precision() const {
    for (const backend::Precision one : {backend::Precision::tf32, backend::Precision::bf16})
      if (trains() && word("precision") == backend::name(one))
        backend::want_precision(DeviceSpec::parse(word("device", "cpu")), one);
    return "";
  }

  // As the command itself would refuse it.
  std::string deployment() const {
    if (!trains()) return "";
    run::DeploymentOptions deployment;
    deployment.devices = static_cast<int>(count("devices", 1));
    deployment.accumulate = static_cast<int>(count("accumulate", 1));
    deployment.strategy = strategy();
    deployment.scaling = word("scaling");
    run::WorkersOptions workers;
    run::PsOptions ps;
    ps.servers = static_cast<int>(count("servers", 0));
    ps.hosts = word("hosts");
    if (run_ == "train") apply(workers, deployment, ps, DeviceSpec::parse(word("device", "cpu")));
    to_deployment(deployment, count("batch", run::RunOptions().batch));
    if (with_servers(workers)) {
      run::RunOptions run;
      run.optimizer = word("optimizer", run.optimizer);
      run.ema = setting_number(settings_, "ema", run.ema);
      run.clip_norm = setting_number(settings_, "clip_norm", run.clip_norm);
      run.decay_matrices_only = word("decay_matrices_only") == "true";
      run.freeze = word("freeze");
      check(ps, ps::ModeName::parse(workers.mode), workers.workers, run);
    }
    if (on_gpu() && deployment.devices > 1 && workers.workers == 0)
      return fmt::format(
          "devices {} on {}: a process has one GPU; train by allreduce or with servers uses several",
          deployment.devices, word("device"));
    return "";
  }

  std::string ensemble() const {
    if (run_ != "ensemble") return "";
    if (!settings_.contains("ensemble")) return "no 'ensemble: FILE'";
    ensemble::EnsembleOptions options;
    options.file = word("ensemble");
    options.design = word("design");
    options.members = static_cast<int>(count("members", 0));
    options.preprocessors = static_cast<int>(count("preprocessors", 0));
    options.hosts = on_several_nodes() ? "slurm" : word("hosts");
    const ensemble::EnsembleSpec spec = to_ensemble(options);
    return check_share("members", static_cast<std::int64_t>(spec.members.size()));
  }

  std::string check_share(const char* what, std::int64_t workers) const {
    const std::int64_t nodes = count("nodes", 1);
    return workers < nodes ? fmt::format("{} {} on {} nodes: the others would idle", what, workers, nodes)
                           : "";
  }

  std::string nodes() const {
    if (!on_several_nodes()) return "";
    if (where_ == Where::this_machine)
      return fmt::format("{} nodes asked for, this machine is one", count("nodes", 1));
    if (!trains()) return "";
    if (run_ == "bench")
      return fmt::format("{} nodes asked for: bench runs in one process, on one", count("nodes", 1));
    if (strategy() != "allreduce" && !run::is_server_mode(strategy()))
      return fmt::format(
          "{} nodes asked for: strategy {} runs in one process, on one; allreduce and modes of parameter "
          "servers use several",
          count("nodes", 1), strategy());
    if (const std::string transport = word("transport"); transport == "shm" || transport == "unix")
      return fmt::format("{} nodes asked for: transport {} does not reach other machines", count("nodes", 1),
                         transport);
    return check_share("devices", count("devices", 1));
  }

  std::string threads() const {
    const std::int64_t threads = count("threads", 0), devices = count("devices", 1);
    if (!trains()) return "";
    if (where_ == Where::this_machine && !on_hosts()) {
      const auto cores = static_cast<std::int64_t>(process_cores().size());
      if (threads > cores) return fmt::format("threads {}: this process may use {} cores", threads, cores);
      if (!on_gpu() && devices > cores && !run::is_server_mode(strategy()))
        return fmt::format("devices {}: each wants a core of its own, this process may use {}", devices,
                           cores);
    }
    const std::int64_t given = count("cpus_per_task", 0) * count("tasks_per_node", 1) *
                               (strategy() == "allreduce" ? count("nodes", 1) : 1);
    if (where_ == Where::cluster && given > 0 && threads > given)
      return fmt::format("threads {}: the job asks for {} CPUs", threads, given);
    const bool each_has_some = !run::is_server_mode(strategy()) || threads >= devices;
    if (threads > 0 && each_has_some && !on_several_nodes() && threads % devices != 0)
      return fmt::format("threads {}: cannot be shared equally by {} devices", threads, devices);
    if (threads > 0 && strategy() == "allreduce" && threads % devices != 0)
      return fmt::format("threads {}: cannot be shared equally by {} devices", threads, devices);
    return "";
  }
  bool on_hosts() const { return settings_.contains("hosts"); }

  std::string processes() const {
    if (run_ != "train" || where_ != Where::this_machine || on_hosts() || !run::is_server_mode(strategy()))
      return "";
    const std::int64_t wanted = count("devices", 1) + count("servers", 1);
    const train::ProcessLimit limit = train::process_limit(meter::SystemFiles());
    return wanted <= limit.most
               ? ""
               : fmt::format("{} workers and servers: this machine may have {} processes ({})", wanted,
                             limit.most, limit.reason);
  }

  std::string gpus() const {
    if (where_ != Where::this_machine || on_hosts()) return "";
    const std::string type = word("gpu_type");
    const std::int64_t gpus = count("gpus", on_gpu() ? count("devices", 1) : type.empty() ? 0 : 1);
    if (gpus == 0) return "";
    const auto here = std::count_if(gpus_here().begin(), gpus_here().end(),
                                    [&](const std::string& gpu) { return is_of_type(gpu, type); });
    if (gpus <= here) return "";
    return fmt::format("GPUs asked for: {}{}{}; this machine has {}", gpus, type.empty() ? "" : " of type ",
                       type, here);
  }

  const std::string& run_;
  const std::vector<std::string>& program_;
  const record::Settings settings_;
  const Where where_;
};

// Returns whether a matrix has a setting or axis that only a batch system understands.
bool asks_cluster(const Matrix& matrix, const std::string& run) {
  const auto is_resource = [&](const std::string& name) {
    const record::SettingInfo* known = find_known_setting(name, run);
    return known != nullptr && known->is_resource();
  };
  return std::any_of(matrix.settings.begin(), matrix.settings.end(),
                     [&](const auto& setting) { return is_resource(setting.first); }) ||
         std::any_of(matrix.axes.begin(), matrix.axes.end(),
                     [&](const Axis& axis) { return is_resource(axis.name); });
}

}  // namespace

Where to_where(const std::string& launcher, const Spec& spec) {
  if (launcher == "local") return Where::this_machine;
  if (launcher == "slurm") return Where::cluster;
  if (!launcher.empty())
    fail(ErrorKind::usage, "{} '{}'{}: local or slurm", Setting{"launcher"}, launcher,
         did_you_mean(launcher, {"local", "slurm"}));
  const std::vector<Matrix> matrices = matrices_of(spec);
  const bool asks =
      !spec.sbatch.empty() || std::any_of(matrices.begin(), matrices.end(),
                                          [&](const auto& matrix) { return asks_cluster(matrix, spec.run); });
  return asks ? Where::cluster : Where::this_machine;
}

CellCheck cell_check(const Spec& spec, Where where) {
  return [&spec, where](const record::Settings& settings) {
    return CellReader(spec, settings, where).complaint();
  };
}

}  // namespace trainyard::study

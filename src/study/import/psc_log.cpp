#include "study/import/psc_log.h"

#include <charconv>
#include <ctime>
#include <iterator>

namespace trainyard::study {
namespace {

using record::Status;

// Returns the number at the front of the text, exponents included.
std::optional<double> number_in(std::string_view text) {
  const std::size_t begin = text.find_first_of("+-.0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

// Returns the text after `label` in the line. Python's output may begin behind the beginning of another line.
std::optional<std::string_view> after(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  return line.substr(at + label.size());
}

// Returns the value of KEY=VALUE among those of a line of scontrol.
std::optional<std::string_view> field(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    if (at == 0 || line[at - 1] != ' ') continue;
    const std::string_view value = line.substr(at + key.size());
    return value.substr(0, value.find(' '));
  }
  return std::nullopt;
}

std::int64_t count_in(std::string_view text) { return std::llround(number_in(text).value_or(0)); }

// Reads a time such as 2018-06-04T12:38:40 in Pittsburgh, in summer.
double seconds_of(std::string_view text) {
  std::tm time{};
  if (::strptime(std::string(text.substr(0, 19)).c_str(), "%Y-%m-%dT%H:%M:%S", &time) == nullptr) return 0;
  constexpr double kFourHours = 4 * 3600;
  return static_cast<double>(::timegm(&time)) + kFourHours;
}

// 6m37.762s
double duration_of(std::string_view text) {
  const std::size_t minutes_end = text.find('m');
  if (minutes_end == std::string_view::npos) return 0;
  return 60 * number_in(text.substr(0, minutes_end)).value_or(0) +
         number_in(text.substr(minutes_end + 1)).value_or(0);
}

// SLURM_JOB_ID=3691439
bool is_variable(std::string_view line) {
  const std::size_t equals = line.find('=');
  return equals != std::string_view::npos && equals > 0 &&
         line.substr(0, equals).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
             std::string_view::npos;
}

// 2018-07-30 18:05:24.857507: as TensorFlow begins its lines
bool is_time(std::string_view line) {
  return line.size() > 20 && line[4] == '-' && line[7] == '-' && line[10] == ' ' && line[13] == ':' &&
         line[19] == '.';
}

struct FailureSign {
  std::string_view text;
  Status status;
  int exit_code;
};

// The first entry that any line holds decides: a time limit also says CANCELLED, and a crash may follow from
// a lack of memory.
constexpr FailureSign kFailureSigns[] = {
    {"DUE TO TIME LIMIT", Status::timeout, 0},
    {"CANCELLED AT", Status::cancelled, 0},
    {"oom-kill", Status::oom, 137},
    {"Exceeded job memory limit", Status::oom, 137},
    {"exceeded memory limit", Status::oom, 137},
    {"ResourceExhaustedError", Status::oom, 1},
    {"OOM when allocating", Status::oom, 1},
    {"out of memory", Status::oom, 1},
    {"Out of memory", Status::oom, 1},
    {"Cannot allocate memory", Status::oom, 1},
    {"MemoryError", Status::oom, 1},
    {"std::bad_alloc", Status::oom, 134},
    {"Illegal instruction", Status::crash, 132},
    {"Segmentation fault", Status::crash, 139},
    {"Bus error", Status::crash, 135},
    {"Floating point exception", Status::crash, 136},
    {"Aborted", Status::crash, 134},
    {"Killed", Status::crash, 137},
    {"core dumped", Status::crash, 134},
    {"can't open file", Status::failed, 2},
    {"SyntaxError", Status::failed, 1},
    {"IndentationError", Status::failed, 1},
    {"NameError", Status::failed, 1},
    {"ImportError", Status::failed, 1},
    {"Error: ", Status::failed, 1},  // any other Python exception
    {"command not found", Status::failed, 127},
    {"No such file or directory", Status::failed, 1},
};

class Reader {
 public:
  void read(std::string_view line) {
    // The environment may hold any word, so its lines are not searched.
    if (line.starts_with("+ ")) {
      in_environment_ = line == "+ env";
      traced_ = true;
    }
    if (!traced_ && is_variable(line)) return read_variable(line);
    if (in_environment_) {
      if (line.starts_with("batch_size=")) log_.batch = count_in(line);
      return;
    }
    if (line.starts_with("   ")) read_scontrol(line);
    if (line.starts_with("+ ")) read_trace(line);
    read_output(line);
    read_failure(line);
  }

  PscLog finish() {
    if (last_step_ > 0 && step_distance_ > 0) log_.steps = last_step_ + step_distance_;
    if (log_.cpus == 0) log_.cpus = cpus_on_node_ * log_.nodes;
    return std::move(log_);
  }

 private:
  void read_scontrol(std::string_view line) {
    if (const auto value = field(line, "Partition=")) log_.partition = *value;
    if (const auto value = field(line, "NodeList=")) log_.node = *value;
    if (const auto value = field(line, "Command=")) log_.script = *value;
    if (const auto value = field(line, "NumCPUs=")) log_.cpus = count_in(*value);
    if (const auto value = field(line, "NumTasks=")) log_.tasks = count_in(*value);
    if (const auto value = field(line, "NumNodes=")) log_.nodes = count_in(*value);
    if (const auto value = field(line, "StartTime=")) log_.started_seconds = seconds_of(*value);
    for (const char* key : {"Gres=", "TresPerNode="})
      if (const auto value = field(line, key)) read_gpus(*value);
  }

  // Jobs of several nodes print their environment, the first node's before that of the others.
  void read_variable(std::string_view line) {
    const std::size_t equals = line.find('=');
    const std::string_view name = line.substr(0, equals), value = line.substr(equals + 1);
    const auto word = [&](std::string& into) {
      if (into.empty()) into = value;
    };
    if (name == "SLURM_JOB_ID") word(log_.job_id);
    if (name == "SLURM_JOB_PARTITION") word(log_.partition);
    if (name == "SLURM_JOB_NODELIST") word(log_.node);
    if (name == "SLURM_JOB_NAME") word(log_.script);
    if (name == "SLURM_JOB_NUM_NODES") log_.nodes = count_in(value);
    if (name == "SLURM_NTASKS") log_.tasks = count_in(value);
    if (name == "SLURM_CPUS_ON_NODE") cpus_on_node_ = count_in(value);
    if (name == "CUDA_VISIBLE_DEVICES" && !value.empty())
      log_.gpus = 1 + std::count(value.begin(), value.end(), ',');
  }

  // gpu:k80:2, gres:gpu:k80:2, gpu:2, (null)
  void read_gpus(std::string_view value) {
    const auto gpu = after(value, "gpu:");
    if (!gpu) return;
    const std::size_t colon = gpu->find(':');
    if (colon != std::string_view::npos) log_.gpu_type = gpu->substr(0, colon);
    log_.gpus = count_in(colon == std::string_view::npos ? *gpu : gpu->substr(colon + 1));
  }

  void read_trace(std::string_view line) {
    if (const auto id = after(line, "scontrol show jobid=")) log_.job_id = trimmed(*id);
    if (line.starts_with("+ echo batch_size=")) log_.batch = count_in(line);
    if (const auto words = after(line, "+ python ")) {
      const std::size_t space = words->find(' ');
      log_.program = words->substr(0, space);
      if (space != std::string_view::npos && log_.batch == 0) log_.batch = count_in(words->substr(space));
    }
  }

  void read_output(std::string_view line) {
    // The number must follow the label directly, because a program line shown with an error is no result.
    const auto number = [&](std::string_view label, std::optional<double>& value) {
      const auto rest = after(line, label);
      const std::size_t begin = rest ? rest->find_first_not_of(" :") : std::string_view::npos;
      if (begin == std::string_view::npos || rest->find_first_of("+-.0123456789") != begin) return;
      value = number_in(rest->substr(begin));
    };
    number("Mean Time Per Step", log_.mean_seconds);
    number("Mean Time :", log_.mean_seconds);  // before June
    number("Mean Speed", log_.mean_speed);
    number("speed uncertainty", log_.speed_uncertainty);
    number("Speed Jitter", log_.speed_jitter);
    number("test accuracy", log_.test_accuracy);
    if (log_.started_seconds == 0 && is_time(line))
      log_.started_seconds = seconds_of(fmt::format("{}T{}", line.substr(0, 10), line.substr(11, 8)));
    if (line.starts_with("step ")) read_step(line);
    if (line.starts_with("real\t")) log_.wall_seconds = duration_of(line);
    if (line.starts_with("user\t") || line.starts_with("sys\t")) log_.cpu_seconds += duration_of(line);
    if (const auto model = after(line, "Model name:")) log_.cpu_model = trimmed(*model);
    if (line.starts_with("name: ") && line.find(" major: ") != std::string_view::npos)
      log_.gpu_model = line.substr(6, line.find(" major: ") - 6);
    if (const auto version = after(line, ") tensorflow/")) log_.tensorflow = trimmed(*version);
  }

  void read_step(std::string_view line) {
    const auto accuracy = after(line, "training accuracy ");
    const std::int64_t step = count_in(line);
    if (!accuracy) return;
    if (last_step_ >= 0) step_distance_ = step - last_step_;
    last_step_ = step;
    if (const auto value = number_in(*accuracy)) log_.training_accuracies.push_back(*value);
  }

  void read_failure(std::string_view line) {
    if (const auto when = after(line, "CANCELLED AT ")) log_.cancelled_seconds = seconds_of(*when);
    for (std::size_t rank = 0; rank < found_rank_; ++rank) {
      const FailureSign& sign = kFailureSigns[rank];
      if (line.find(sign.text) == std::string_view::npos) continue;
      found_rank_ = rank;
      log_.failure = sign.status;
      log_.reason = trimmed(line);
      log_.exit_code = sign.exit_code;
    }
  }

  PscLog log_;
  bool in_environment_ = false, traced_ = false;
  std::int64_t cpus_on_node_ = 0;
  std::int64_t last_step_ = -1, step_distance_ = 0;
  std::size_t found_rank_ = std::size(kFailureSigns);
};

}  // namespace

PscLog parse_psc_log(std::string_view text) {
  Reader reader;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

bool is_psc_log(std::string_view text) {
  const auto has = [&](const char* part) { return text.find(part) != std::string_view::npos; };
  // Files of environments, which have this line too, lie beside the outputs.
  const bool of_several_nodes =
      has("\nSLURM_JOB_ID=") && has("\nSLURM_JOB_NUM_NODES=") && has("**Environment Variables**");
  return has("\n+ scontrol show jobid=") || of_several_nodes;
}

}  // namespace trainyard::study

#include "study/slurm/submission.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <random>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace trainyard::study::slurm {

namespace {

void check_word(const std::string& word) {
  for (const char c : word)
    if (static_cast<unsigned char>(c) < ' ')
      fail(ErrorKind::config, "Slurm job script: '{}' holds a control character",
           word.substr(0, word.find(c)));
}

// Quotes for the shell: nothing inside is special.
std::string single_quoted(const std::string& word) {
  check_word(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Quotes for #SBATCH lines, which sbatch splits itself: quotes and backslashes, but no expansion.
std::string directive_word(const std::string& word) {
  check_word(word);
  if (word.find_first_of(" \"'\\#") == std::string::npos) return word;
  std::string quoted = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string gres(const Resources& resources) {
  return resources.gpu_type.empty() ? fmt::format("gpu:{}", resources.gpus_per_node)
                                    : fmt::format("gpu:{}:{}", resources.gpu_type, resources.gpus_per_node);
}

// A % begins a pattern in file names, so it is doubled.
std::string output_pattern(const Script& script) {
  std::string pattern;
  const std::string file = script.tasks > 0 ? "" : script.name + ".log";
  for (const char c : (script.output_folder / file).string()) pattern += c == '%' ? "%%" : std::string(1, c);
  return script.tasks > 0 ? pattern + "%a.log" : pattern;
}

class Directives {
 public:
  void add(const std::vector<std::string>& words) {
    if (words.empty()) return;
    text_ += "#SBATCH";
    for (const std::string& word : words) text_ += ' ' + directive_word(word);
    text_ += '\n';
  }
  void add(const char* option, const std::string& value) {
    if (!value.empty()) add({fmt::format("--{}={}", option, value)});
  }
  void add(const char* option, std::int64_t value) {
    if (value > 0) add(option, std::to_string(value));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

int outer_limit_minutes(double time_limit_seconds) {
  return time_limit_seconds > 0 ? static_cast<int>(std::ceil(time_limit_seconds / 60)) + 1 : 0;
}

std::string to_text(const Script& script) {
  const Resources& resources = script.resources;
  constexpr std::int64_t kMebibyte = 1 << 20;
  Directives directives;
  directives.add("job-name", script.name);
  directives.add("output", output_pattern(script));
  directives.add("chdir", script.work_folder.string());
  if (script.tasks > 0) {
    directives.add("array", fmt::format("0-{}{}", script.tasks - 1,
                                        script.at_once > 0 ? fmt::format("%{}", script.at_once) : ""));
  }
  if (!script.after.empty())
    directives.add("dependency", fmt::format("afterany:{}", joined(script.after, ":")));
  directives.add("partition", resources.partition);
  directives.add("account", resources.account);
  directives.add("constraint", resources.constraint);
  directives.add("nodes", resources.nodes);
  directives.add("ntasks-per-node", resources.tasks_per_node);
  directives.add("cpus-per-task", resources.cpus_per_task);
  if (resources.gpus_per_node > 0) directives.add("gres", gres(resources));
  if (resources.memory_bytes > 0)
    directives.add("mem", fmt::format("{}M", (resources.memory_bytes + kMebibyte - 1) / kMebibyte));
  directives.add("time", outer_limit_minutes(script.time_limit_seconds));
  directives.add({"--no-requeue"});  // a run that is lost gets an attempt of its own
  directives.add(resources.extra);

  std::string text = "#!/bin/bash\n" + directives.text() + "exec";
  for (const std::string& word : script.command) text += ' ' + single_quoted(word);
  if (script.tasks > 0) text += " \"$SLURM_ARRAY_TASK_ID\"";
  return text + '\n';
}

namespace {

constexpr const char *kPrepared = "submission.json", *kScript = "script.sh", *kJobId = "job_id",
                     *kRefused = "refused";

// The collector reads some thousand files at most; clusters without a default limit refuse jobs without one.
constexpr double kCollectorSeconds = 9 * 60;

std::string read_text(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::filesystem::path job_file(const std::filesystem::path& folder, std::size_t task) {
  return folder / "jobs" / fmt::format("{}.json", task);
}

// The process holds this lock while sbatch may be under way. sbatch inherits it, so it outlives this process.
class SubmitLock {
 public:
  explicit SubmitLock(const Submission& submission)
      : descriptor_(::open((submission.folder / kScript).c_str(), O_RDWR | O_CLOEXEC)) {
    if (descriptor_ < 0)
      fail(ErrorKind::io, "cannot open '{}': {}", (submission.folder / kScript).string(),
           std::strerror(errno));
    while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~SubmitLock() { ::close(descriptor_); }
  SubmitLock(const SubmitLock&) = delete;
  SubmitLock& operator=(const SubmitLock&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

// Makes "STUDY-003-1f2e3d4c": the number orders a study's submissions, the rest makes it unique in the
// cluster.
std::filesystem::path make_unique_folder(const Folder& folder, const std::string& study) {
  make_folders(folder.slurm());
  std::string stem;
  for (const char c : study.substr(0, 40)) stem += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  std::size_t number = 1;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.slurm())) ++number;
  const std::filesystem::path made = std::filesystem::absolute(folder.slurm()) /
                                     fmt::format("{}-{:03}-{:08x}", stem, number, std::random_device()());
  make_folders(made / "jobs");
  make_folders(made / "output");
  return made;
}

// Tells whether sbatch failed before the controller decided, or without hearing its decision.
bool unanswered(const std::string& message) {
  for (const char* part : {"Unable to contact", "timed out", "Zero Bytes", "Connection", "communication",
                           "standby mode", "authentication", "Resource temporarily unavailable"})
    if (message.find(part) != std::string::npos) return true;
  return false;
}

void read_answer(Submission& submission) {
  if (std::filesystem::exists(submission.folder / kJobId))
    submission.job_id = to_number(read_text(submission.folder / kJobId));
  else if (std::filesystem::exists(submission.folder / kRefused))
    submission.refusal = read_text(submission.folder / kRefused);
}

void accept(Submission& submission, std::int64_t job_id) {
  write_text(submission.folder / kJobId, fmt::format("{}\n", job_id));
  submission.job_id = job_id;
}

}  // namespace

Submission prepare_submission(const Folder& folder, std::span<const Job> jobs, const SubmitOptions& options,
                              const std::vector<std::int64_t>& after) {
  Submission submission;
  submission.folder = make_unique_folder(folder, jobs.front().study);
  submission.name = submission.folder.filename().string();
  for (std::size_t task = 0; task < jobs.size(); ++task) {
    write_text(job_file(submission.folder, task), to_json(jobs[task]));
    submission.run_ids.push_back(jobs[task].run_id);
  }
  Script script;
  script.name = submission.name;
  script.output_folder = submission.folder / "output";
  script.work_folder = options.work_folder;
  script.resources = jobs.front().resources;
  // The wait for a quiet machine is not part of the run's own limit.
  if (const double limit = jobs.front().time_limit_seconds; limit > 0)
    script.time_limit_seconds = limit + jobs.front().wait_for_quiet_seconds;
  script.tasks = static_cast<int>(jobs.size());
  script.at_once = jobs.front().lane.empty() ? options.at_once : 1;  // Slurm starts them by their numbers
  script.after = after;
  script.command = {options.trainyard.string(), "study", "exec",
                    std::filesystem::absolute(folder.path).string(), submission.name};
  write_text(submission.folder / kScript, to_text(script));
  write_text(submission.folder / kPrepared, json_text(Json{{"runs", submission.run_ids}}) + '\n');
  return submission;
}

void submit(Submission& submission) {
  const SubmitLock lock(submission);
  const CommandResult answer = run_command(
      {"sbatch", "--parsable", "--export=ALL", (submission.folder / kScript).string()}, lock.descriptor());
  // "123" or, in a federation, "123;cluster"
  if (answer.exit_code == 0 && to_number(answer.out) > 0) return accept(submission, to_number(answer.out));
  if (unanswered(answer.err)) fail(ErrorKind::peer, "sbatch got no answer: {}", answer.reason());
  submission.refusal = answer.reason();
  write_text(submission.folder / kRefused, submission.refusal);
}

void find_answer(Submission& submission, const Cluster& cluster) {
  const SubmitLock lock(submission);  // no sbatch of it is under way any more
  read_answer(submission);
  for (int look = 0; look < 2 && submission.job_id == 0 && submission.refusal.empty(); ++look) {
    // The controller may still be busy with the request of a killed sbatch.
    if (look > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    if (const std::int64_t id = cluster.find_job(submission.name); id != 0) accept(submission, id);
  }
}

std::vector<Submission> read_submissions(const Folder& folder) {
  std::vector<Submission> submissions;
  if (!std::filesystem::is_directory(folder.slurm())) return submissions;
  for (const auto& entry : std::filesystem::directory_iterator(folder.slurm())) {
    if (!std::filesystem::exists(entry.path() / kPrepared)) continue;
    Submission submission;
    submission.folder = std::filesystem::absolute(entry.path());
    submission.name = entry.path().filename().string();
    const auto json = parse_json_or_discard(read_text(entry.path() / kPrepared));
    if (!json.is_object() || !json.contains("runs"))
      fail(ErrorKind::config, "'{}' is no submission", (entry.path() / kPrepared).string());
    submission.run_ids = json["runs"].get<std::vector<std::string>>();
    read_answer(submission);
    submissions.push_back(std::move(submission));
  }
  std::sort(submissions.begin(), submissions.end(),
            [](const Submission& a, const Submission& b) { return a.name < b.name; });
  return submissions;
}

Job read_job(const Submission& submission, int task) {
  return job_from_json(read_text(job_file(submission.folder, static_cast<std::size_t>(task))));
}

std::string submit_collector(const Folder& folder, std::span<const Submission> arrays, const Resources& like,
                             const SubmitOptions& options) {
  Script script;
  script.name = arrays.front().name + "-collect";
  script.output_folder = arrays.front().folder / "output";
  script.work_folder = options.work_folder;
  script.resources.partition = like.partition;
  script.resources.account = like.account;
  script.time_limit_seconds = kCollectorSeconds;
  script.command = {options.trainyard.string(), "study", "collect",
                    std::filesystem::absolute(folder.path).string()};
  for (const Submission& array : arrays) script.after.push_back(array.job_id);
  const std::filesystem::path file = arrays.front().folder / "collect.sh";
  write_text(file, to_text(script));
  const CommandResult answer = run_command({"sbatch", "--parsable", "--export=ALL", file.string()});
  return answer.exit_code == 0 ? "" : answer.reason();
}

}  // namespace trainyard::study::slurm

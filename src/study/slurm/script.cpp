#include "study/slurm/script.h"

#include <cmath>

#include <fmt/format.h>

#include "base/error.h"

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
    directives.add("dependency", fmt::format("afterany:{}", fmt::join(script.after, ":")));
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

}  // namespace trainyard::study::slurm

#include "study/spec/known_settings.h"

#include <algorithm>
#include <regex>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/nearest_name.h"
#include "ps/mode/mode.h"
#include "record/number_range.h"

namespace trainyard::study {

namespace {

constexpr std::size_t kMostValues = 10'000;

}  // namespace

std::optional<std::vector<record::Value>> expand_range(const std::string& text) {
  static const std::regex kForm(R"(\s*(-?\d{1,18})\s*\.\.\s*(-?\d{1,18})\s+([x+])\s*(\d{1,18})\s*)");
  if (text.find("..") == std::string::npos) return std::nullopt;
  std::smatch parts;
  if (!std::regex_match(text, parts, kForm))
    fail(ErrorKind::config, "'{}': a range is written 16..16384 x2 or 1..9 +2", text);
  const std::int64_t first = std::stoll(parts[1]), last = std::stoll(parts[2]), by = std::stoll(parts[4]);
  const bool times = parts[3] == "x";
  if (times ? by < 2 || first < 1 : by < 1) fail(ErrorKind::config, "'{}': never gets to its end", text);
  if (last < first) fail(ErrorKind::config, "'{}': ends before it begins", text);
  std::vector<record::Value> values;
  for (std::int64_t value = first;;) {
    values.emplace_back(value);
    if (values.size() > kMostValues) fail(ErrorKind::config, "'{}': more than {} values", text, kMostValues);
    // Division and subtraction instead of multiplication and addition cannot overflow.
    if (times ? value > last / by : value > last - by) return values;
    value = times ? value * by : value + by;
  }
}

namespace {

using Form = KnownSetting::Form;

// These settings are requests to a batch system and no options of a run.
std::vector<KnownSetting> job_settings() {
  return {
      {"partition", nullptr, "both", Form::word, {}},
      {"account", nullptr, "both", Form::word, {}},
      {"constraint", nullptr, "both", Form::word, {}},
      {"nodes", nullptr, "both", Form::count, {}},
      {"tasks_per_node", nullptr, "both", Form::count, {}},
      {"cpus_per_task", nullptr, "both", Form::count, {}},
      {"gpu_type", nullptr, "both", Form::word, {}},
      {"gpus", nullptr, "both", Form::count, {}},
      {"memory_mib", nullptr, "both", Form::count, {}},
  };
}

std::vector<std::string> strategies_of_train() {
  std::vector<std::string> strategies{"single", "towers-device", "towers-host", "allreduce", "independent"};
  for (const std::string& mode : ps::mode_words()) strategies.push_back(mode);
  return strategies;
}

// These settings tell how a run is distributed.
std::vector<KnownSetting> deployment_settings() {
  return {
      {"devices", "--devices", "both", Form::count, {}},
      {"strategy",
       "--strategy",
       "bench",
       Form::choice,
       {"single", "towers-device", "towers-host", "allreduce", "independent"}},
      {"strategy", "--strategy", "train", Form::choice, strategies_of_train(), ps::is_mode},
      {"scaling", "--scaling", "both", Form::choice, {"weak", "strong"}},
      {"servers", "--servers", "train", Form::count, {}},
      {"wire", "--wire", "train", Form::choice, {"f32", "bf16"}},
      {"transport", "--transport", "train", Form::choice, {"auto", "shm", "unix", "tcp"}},
      {"hosts", "--hosts", "train", Form::word, {}},
  };
}

// Parameters of generated networks repeat the tables in networks/generator, which this folder cannot include;
// a test compares the two.
std::vector<KnownSetting> generator_settings() {
  return {
      {"layers", "--layers", "both", Form::count, {}},
      {"width", "--width", "both", Form::count, {}},
      {"inputs", "--inputs", "bench", Form::count, {}},
      {"block", "--block", "both", Form::choice, {"residual", "bottleneck"}},
      {"blocks", "--blocks", "both", Form::counts, {}},
      {"filters", "--filters", "both", Form::count, {}},
      {"image", "--image", "both", Form::count, {}},
      {"pool", "--pool", "both", Form::choice, {"fixed", "adaptive"}},
      {"draw", "--draw", "both", Form::count, {}},
      {"breadth", "--breadth", "both", Form::number, {}},
      {"side", "--side", "both", Form::number, {}},
      {"colours", "--colours", "both", Form::count, {}},
      {"stem", "--stem", "both", Form::number, {}},
      {"stride", "--stride", "both", Form::number, {}},
      {"depth", "--depth", "both", Form::number, {}},
      {"channels", "--channels", "both", Form::choice, {"any", "round"}},
      {"only",
       "--only",
       "both",
       Form::choice,
       {"any", "plain", "residual", "bottleneck", "separable", "joined", "columns"}},
      {"cell", "--cell", "bench", Form::choice, {"rnn", "lstm", "gru"}},
      {"hidden", "--hidden", "bench", Form::count, {}},
      {"length", "--length", "bench", Form::count, {}},
      {"vocabulary", "--vocabulary", "bench", Form::count, {}},
  };
}

// These settings are for ensembles: their file, and the options of `ensemble run` that overrule it.
std::vector<KnownSetting> ensemble_settings() {
  return {
      {"ensemble", "--file", "ensemble", Form::word, {}},
      {"design",
       "--design",
       "ensemble",
       Form::choice,
       {"baseline", "all-shared", "single-broadcast", "multi-broadcast", "multi-broadcast-asbuilt",
        "shared-memory"}},
      {"members", "--members", "ensemble", Form::count, {}},
      {"preprocessors", "--preprocessors", "ensemble", Form::count, {}},
      {"threads", "--threads", "ensemble", Form::count, {}},
      {"cores", "--cores", "ensemble", Form::count, {}},
      {"rate", "--rate", "ensemble", Form::number, {}},
      {"seconds", "--seconds", "ensemble", Form::number, {}},
      {"idle_seconds", "--idle-seconds", "ensemble", Form::number, {}},
      {"steps", "--steps", "ensemble", Form::count, {}},
      {"epochs", "--epochs", "ensemble", Form::number, {}},
      {"no_eval", "--no-eval", "ensemble", Form::truth, {}},
      {"hosts", "--hosts", "ensemble", Form::word, {}},
      {"out", "--out", "ensemble", Form::output, {}},
  };
}

std::vector<KnownSetting> run_settings() {
  return {
      {"network", "--network", "both", Form::word, {}},
      {"batch", "--batch", "both", Form::count, {}},
      {"classes", "--classes", "both", Form::count, {}},
      {"backend", "--backend", "both", Form::choice, {"auto", "onednn", "cuda", "reference"}},
      {"device", "--device", "both", Form::word, {}},
      {"threads", "--threads", "both", Form::count, {}},
      {"precision", "--precision", "both", Form::choice, {"f32", "tf32", "bf16"}},
      {"tuning", "--tuning", "both", Form::choice, {"full", "quick"}},
      {"seed", "--seed", "both", Form::number, {}},
      {"optimizer",
       "--optimizer",
       "both",
       Form::choice,
       {"sgd", "momentum", "nesterov", "rmsprop", "adam", "adamw"}},
      {"lr", "--lr", "both", Form::number, {}},
      {"schedule", "--schedule", "both", Form::choice, {"constant", "step", "exponential", "cosine"}},
      {"decay_steps", "--decay-steps", "both", Form::count, {}},
      {"decay_factor", "--decay-factor", "both", Form::number, {}},
      {"final_lr", "--final-lr", "both", Form::number, {}},
      {"warmup_lr_steps", "--warmup-lr-steps", "both", Form::count, {}},
      {"momentum", "--momentum", "both", Form::number, {}},
      {"weight_decay", "--weight-decay", "both", Form::number, {}},
      {"ema", "--ema", "both", Form::number, {}},
      {"label_smoothing", "--label-smoothing", "both", Form::number, {}},
      {"no_fusion", "--no-fusion", "both", Form::truth, {}},
      {"feed", "--feed", "both", Form::choice, {"auto", "device", "host"}},
      {"steps", "--steps", "both", Form::count, {}},
      {"mode", "--mode", "bench", Form::choice, {"train", "infer"}},
      {"warmup", "--warmup", "bench", Form::number, {}},
      {"until_width", "--until-width", "bench", Form::number, {}},
      {"max_seconds", "--max-seconds", "bench", Form::number, {}},
      {"no_peak", "--no-peak", "bench", Form::truth, {}},
      {"ops", "--ops", "bench", Form::truth, {}},
      {"data", "--data", "train", Form::choice, {"mnist", "cifar10", "synthetic"}},
      {"from", "--from", "train", Form::word, {}},
      {"preprocess",
       "--preprocess",
       "train",
       Form::choice,
       {"unit", "standardise", "lenet", "cifarnet", "cifar-pad", "cifar-flip"}},
      {"epochs", "--epochs", "train", Form::number, {}},
      {"no_eval", "--no-eval", "train", Form::truth, {}},
      {"eval_every", "--eval-every", "train", Form::count, {}},
      {"trace", "--trace", "both", Form::output, {}},
      {"out", "--out", "train", Form::output, {}},
      {"staging", "--staging", "train", Form::choice, {"in-place", "local", "memory"}},
      {"staging_folder", "--staging-folder", "train", Form::word, {}},
      {"read", "--read", "train", Form::choice, {"memory", "mmap", "stream"}},
  };
}

const std::vector<KnownSetting>& all() {
  static const std::vector<KnownSetting> kAll = [] {
    std::vector<KnownSetting> joined = run_settings();
    for (const auto& more :
         {generator_settings(), deployment_settings(), ensemble_settings(), job_settings()})
      joined.insert(joined.end(), more.begin(), more.end());
    return joined;
  }();
  return kAll;
}

bool belongs_to(const KnownSetting& setting, const std::string& run) {
  const bool of_both = std::string_view(setting.runs) == "both" && (run == "bench" || run == "train");
  return setting.is_resource() || of_both || setting.runs == run;
}

}  // namespace

std::vector<const KnownSetting*> known_settings(const std::string& run) {
  std::vector<const KnownSetting*> known;
  for (const KnownSetting& setting : all())
    if (belongs_to(setting, run)) known.push_back(&setting);
  return known;
}

const KnownSetting* find_known_setting(const std::string& name, const std::string& run) {
  for (const KnownSetting& setting : all())
    if (setting.name == name && belongs_to(setting, run)) return &setting;
  return nullptr;
}

namespace {

bool is_choice(const KnownSetting& setting, const std::string& given) {
  if (setting.accepts != nullptr && setting.accepts(given)) return true;
  return !given.ends_with(":N") &&
         std::find(setting.choices.begin(), setting.choices.end(), given) != setting.choices.end();
}

}  // namespace

std::string complaint_about(const KnownSetting& setting, const record::Value& value) {
  const std::string given = record::to_text(value);
  if (const record::NumberRange* range = record::find_range(setting.name);
      range != nullptr && setting.is_number())
    return range->contains(value)
               ? ""
               : fmt::format("{} '{}': {} expected", setting.name, given, range->describe());
  switch (setting.form) {
    case Form::word:
    case Form::output:
      return given.empty() ? fmt::format("{}: a word expected", setting.name) : "";
    case Form::choice:
      if (is_choice(setting, given)) return "";
      return fmt::format("{} '{}'{}: one of {} expected", setting.name, given,
                         did_you_mean(given, setting.choices), fmt::join(setting.choices, ", "));
    case Form::count: {
      const auto* count = std::get_if<std::int64_t>(&value);
      if (count != nullptr && *count >= 1) return "";
      return fmt::format("{} '{}': a whole number of at least 1 expected", setting.name, given);
    }
    case Form::counts: {
      const bool counts = !given.empty() && given.front() != ',' && given.back() != ',' &&
                          given.find(",,") == std::string::npos &&
                          given.find_first_not_of("0123456789,") == std::string::npos;
      return counts ? "" : fmt::format("{} '{}': whole numbers with commas expected", setting.name, given);
    }
    case Form::number:
      if (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value)) return "";
      return fmt::format("{} '{}': a number expected", setting.name, given);
    case Form::truth:
      return std::holds_alternative<bool>(value)
                 ? ""
                 : fmt::format("{} '{}': true or false expected", setting.name, given);
  }
  return "";
}

}  // namespace trainyard::study

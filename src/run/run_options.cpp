#include "run/run_options.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/quantity.h"
#include "base/text.h"
#include "data/recipe/recipe.h"
#include "networks/zoo/network_files.h"
#include "ps/mode/mode.h"
#include "train/loop/feed.h"
#include "train/session/deployment.h"

namespace trainyard::run {

namespace {

using record::SettingInfo;
using Words = std::vector<std::string>;

Words with_server_modes(Words words) {
  for (const std::string& mode : ps::mode_words()) words.push_back(mode);
  return words;
}

Words recipes() {
  Words words;
  for (const data::RecipeInfo& recipe : data::all_recipes()) words.emplace_back(recipe.name);
  return words;
}

struct Owner {
  const char* setting;
  unsigned command;  // one of those that take the setting
  Words (*words)();
};

const Owner kOwners[] = {
    {"backend", SettingInfo::kBench, [] { return backend::backend_names(); }},
    {"data", SettingInfo::kTrain, [] { return Words(data::dataset_names()); }},
    {"feed", SettingInfo::kBench, [] { return train::feed_names(); }},
    {"feed", SettingInfo::kTrain, [] { return train::feed_names(); }},
    {"mode", SettingInfo::kTrain, [] { return with_server_modes({"allreduce"}); }},
    {"preprocess", SettingInfo::kTrain, recipes},
    {"strategy", SettingInfo::kBench, [] { return train::strategy_names(); }},
    {"strategy", SettingInfo::kTrain, [] { return with_server_modes(train::strategy_names()); }},
};

}  // namespace

std::vector<std::string> choices_of(const SettingInfo& setting) {
  if (!setting.choices.empty()) return setting.choices;
  for (const Owner& owner : kOwners)
    if (setting.name == owner.setting && (setting.commands & owner.command) != 0) return owner.words();
  return {};
}

std::string about(const SettingInfo& setting) {
  constexpr std::string_view kPlace = "{choices}";
  std::string text = setting.about;
  const std::size_t place = text.find(kPlace);
  if (place == std::string::npos) return text;
  const Words words = choices_of(setting);
  TRAINYARD_CHECK(words.size() > 1);
  return text.replace(
      place, kPlace.size(),
      fmt::format("{} or {}", joined(std::span(words.begin(), words.end() - 1), ", "), words.back()));
}

void want_choice(const char* command, const char* setting, const std::string& given) {
  const Words words = choices_of(record::setting_of(setting, command));
  if (record::is_choice(given, words)) return;
  fail(ErrorKind::usage, "{} '{}'{}: one of {}", Setting{setting}, given, did_you_mean(given, words),
       joined(words, ", "));
}

namespace {

ops::Schedule to_schedule(const RunOptions& options) {
  using Kind = ops::Schedule::Kind;
  want_choice("train", "schedule", options.schedule);
  ops::Schedule schedule;
  const bool adaptive = options.optimizer.starts_with("adam");
  schedule.rate = options.learning_rate > 0 ? options.learning_rate : adaptive ? 1e-3 : 1e-2;
  schedule.kind = options.schedule == "step"          ? Kind::step_decay
                  : options.schedule == "exponential" ? Kind::exponential_decay
                  : options.schedule == "cosine"      ? Kind::cosine
                                                      : Kind::constant;
  if (schedule.kind != Kind::constant && options.decay_steps < 1)
    fail(ErrorKind::usage, "{} {}: wants {}, at least 1", Setting{"schedule"}, options.schedule,
         Setting{"decay_steps"});
  schedule.factor = options.decay_factor;
  schedule.decay_steps = options.decay_steps;
  schedule.final_rate = options.final_rate;
  schedule.warmup_steps = options.warmup_steps;
  return schedule;
}

ops::UpdateAttrs to_update(const RunOptions& options) {
  want_choice("train", "optimizer", options.optimizer);
  ops::UpdateAttrs update;
  update.schedule = to_schedule(options);
  update.momentum = options.momentum;
  update.ema_decay = options.ema;
  if (options.optimizer == "momentum" || options.optimizer == "nesterov") update.rule = ops::Rule::momentum;
  update.nesterov = options.optimizer == "nesterov";
  if (options.optimizer == "rmsprop") {
    update.rule = ops::Rule::rmsprop;
    update.epsilon = 1.0;  // as the origin of this form sets it
  }
  if (options.optimizer.starts_with("adam")) update.rule = ops::Rule::adam;
  if (options.optimizer == "adamw") {
    update.decoupled_decay = true;
    update.weight_decay = options.weight_decay;
    update.decay_matrices_only = options.decay_matrices_only;
  }
  update.clip_norm = options.clip_norm;
  return update;
}

void set_field(std::string& field, const std::string& text) { field = text; }
void set_field(std::filesystem::path& field, const std::string& text) { field = text; }
void set_field(DeviceSpec& field, const std::string& text) { field = DeviceSpec::parse(text); }
void set_field(bool& field, const std::string& text) { field = text == "true"; }
void set_field(double& field, const std::string& text) { field = std::stod(text); }
void set_field(int& field, const std::string& text) { field = std::stoi(text); }
void set_field(std::int64_t& field, const std::string& text) { field = std::stoll(text); }
void set_field(std::uint64_t& field, const std::string& text) { field = std::stoull(text); }

}  // namespace

record::Settings asked_of(const RunOptions& options) {
  record::Settings asked;
  add_asked("train", options, asked);
  const networks::NetworkInfo& network = networks::find_network(options.network);
  const auto parameters = networks::parameters_of(network, options.parameters);
  for (const auto& [name, value] : parameters.all()) asked[name] = record::to_value(value);
  if (network.generator != nullptr && !network.reads_sequences())
    asked.try_emplace("classes", std::int64_t{network.classes});
  return asked;
}

void set_option(RunOptions& options, const std::string& name, const std::string& text) {
  if (networks::is_parameter(name)) return void(options.parameters[name] = text);
  bool known = false;
  visit_settings(options, [&](std::string_view setting, auto& field) {
    if constexpr (!std::is_same_v<std::decay_t<decltype(field)>, networks::generator::Given>) {
      if (setting != name) return;
      known = true;
      const auto& range = record::setting_of(name, "train").range;
      const std::optional<std::string> number = range ? range->read(text) : text;
      if (!number) fail(ErrorKind::usage, "{}: {}", Setting{name}, range->complaint(text));
      set_field(field, *number);
    }
  });
  if (!known) fail(ErrorKind::usage, "{}: a run has no such setting", Setting{name});
}

backend::Precision precision_of(const std::string& name) {
  want_choice("train", "precision", name);
  return name == "tf32"   ? backend::Precision::tf32
         : name == "bf16" ? backend::Precision::bf16
                          : backend::Precision::f32;
}

namespace {

std::size_t memory_limit_of(const RunOptions& options) {
  if (options.memory_limit.empty()) return 0;
  if (const std::optional<std::int64_t> bytes = parse_bytes(options.memory_limit))
    return static_cast<std::size_t>(*bytes);
  fail(ErrorKind::usage, "{} '{}': something like {} expected", Setting{"memory_limit"}, options.memory_limit,
       kBytesExample);
}

}  // namespace

namespace {

std::vector<std::string> patterns_of(const std::string& text) {
  std::vector<std::string> patterns;
  for (std::size_t begin = 0; !text.empty() && begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    patterns.push_back(text.substr(begin, end - begin));
    if (patterns.back().empty())
      fail(ErrorKind::usage, "{} '{}': a pattern is empty; wants names with commas between them",
           Setting{"freeze"}, text);
    begin = end + 1;
  }
  return patterns;
}

}  // namespace

train::SessionOptions to_session(const RunOptions& options) {
  const networks::NetworkInfo network = networks::find_network(options.network, options.parameters);
  const auto file = networks::imported_file(options.network);
  if (file && options.classes != 0 && options.classes != network.classes && !options.new_head)
    fail(ErrorKind::usage, "{} {}: network '{}' has {}; {} gives it others", Setting{"classes"},
         options.classes, network.name, network.classes, Setting{"new_head"});
  want_choice("bench", "mode", options.mode);
  if (file && options.mode == "train" && !file->obstacle.empty())
    fail(ErrorKind::unsupported, "'{}': cannot be trained: {}", network.name, file->obstacle);
  want_choice("train", "tuning", options.tuning);
  train::SessionOptions session;
  session.update = to_update(options);
  session.model = {.network = options.network,
                   .batch = options.batch,
                   .classes = options.classes,
                   .parameters = options.parameters,
                   .training = options.mode == "train",
                   .loss = options.mode == "train",
                   .label_smoothing = options.label_smoothing,
                   .weight_decay = options.optimizer == "adamw" ? 0 : options.weight_decay,
                   .freeze = patterns_of(options.freeze)};
  session.backend = options.backend;
  session.device = options.device;
  session.precision = precision_of(options.precision);
  session.tuning = options.tuning == "quick" ? backend::Effort::quick : backend::Effort::full;
  session.threads = options.threads;
  session.seed = options.seed;
  session.fuse = !options.no_fusion;
  session.limit_bytes = memory_limit_of(options);
  if (file && options.new_head) networks::give_classes(*file, options.classes, session.model);
  return session;
}

namespace {

template <typename Mode>
struct Choice {
  const char* name;
  Mode mode;
};

template <typename Mode, std::size_t kCount>
Mode choose(const char* setting, const std::string& given, const Choice<Mode> (&choices)[kCount]) {
  want_choice("train", setting, given);
  for (const Choice<Mode>& choice : choices)
    if (given == choice.name) return choice.mode;
  fail(ErrorKind::internal, "{} '{}' has no meaning", setting, given);
}

constexpr Choice<data::ReadMode> kReadModes[] = {
    {"memory", data::ReadMode::memory}, {"mmap", data::ReadMode::mmap}, {"stream", data::ReadMode::stream}};

constexpr std::size_t kMostFilesInRecord = 100;  // a folder of images may have a million

using MaybeTarget = std::optional<data::StagingTarget>;

constexpr Choice<MaybeTarget> kStaging[] = {{"in-place", std::nullopt},
                                            {"local", data::StagingTarget::local},
                                            {"memory", data::StagingTarget::memory}};

}  // namespace

Input load_input(const InputOptions& options, ProgressListener* progress) {
  data::DatasetOptions wanted = options.data;
  wanted.read = choose("read", options.read, kReadModes);
  const MaybeTarget target = choose("staging", options.staging, kStaging);
  if (!target && !options.staging_folder.empty())
    fail(ErrorKind::usage, "{} wants {} local or memory", Setting{"staging_folder"}, Setting{"staging"});
  Input input;
  std::string note;
  if (target) {
    if (!data::has_files(wanted.name))
      fail(ErrorKind::usage, "{} {}: data set '{}' has no files", Setting{"staging"}, options.staging,
           wanted.name);
    const data::DatasetFiles files = data::list_files(wanted);
    input.staged = std::make_unique<data::StagedFiles>(
        wanted.name, files,
        data::StagingOptions{.target = *target, .folder = options.staging_folder, .progress = progress});
    wanted.staged = input.staged->root();
    note = files.note;  // the copy has only what is read
  }
  const double began = now_seconds();
  input.dataset = data::load_dataset(wanted);
  input.dataset.add_note(note);
  input.load_seconds = now_seconds() - began;
  return input;
}

void add_input(record::RunRecord& run, const InputOptions& options, const Input& input) {
  run.words["data"] = options.data.name;
  run.words["read"] = options.read;
  run.words["staging"] = options.staging;
  run.figures["load_seconds"] = input.load_seconds;
  if (options.read == "stream") {
    const data::ReadCost cost = input.dataset.train.source()->cost();
    run.figures["bytes_read"] = static_cast<double>(cost.bytes);
    run.figures["read_seconds"] = cost.seconds;
  }
  if (input.staged == nullptr) return;
  const data::StagingReport& staged = input.staged->report();
  run.words["staging_folder"] = staged.folder.parent_path().string();
  run.words["staging_filesystem"] = staged.filesystem;
  run.figures["staging_bytes"] = static_cast<double>(staged.bytes);
  run.figures["staging_seconds"] = staged.seconds;
  run.figures["staging_verify_seconds"] = staged.verify_seconds;
  run.figures["staging_bytes_per_second"] = staged.bytes_per_second();
  run.figures["staging_source_cached_fraction"] = staged.source_cached_fraction;
  run.figures["staging_file_count"] = static_cast<double>(staged.files.size());
  run.words["staging_sha256"] = staged.sum_of_sums();
  if (staged.files.size() > kMostFilesInRecord) return;
  Json files = Json::array();
  for (const data::CachedFile& file : staged.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  run.details["staging_files"] = json_text(files);
}

}  // namespace trainyard::run

#include "ensemble/spec.h"

#include <fmt/ranges.h>

#include "base/cores.h"
#include "base/text.h"
#include "study/spec/file_networks.h"
#include "train/session/job_check.h"
#include "yaml/yaml_reader.h"

namespace trainyard::ensemble {

namespace {

using yaml::YamlReader;

using Readers = std::map<std::string, std::function<void(const YamlReader&)>>;

constexpr std::uint64_t kLargestSide = 16'384;  // rows and columns of an image

// Reads each key of a mapping by its reader.
void read_keys(const YamlReader& mapping, const Readers& readers) {
  for (const YamlReader::Entry& entry : mapping.entries()) {
    const auto found = readers.find(entry.key);
    if (found == readers.end()) {
      std::vector<std::string> keys;
      for (const auto& [key, reader] : readers) keys.push_back(key);
      entry.at_key.complain(fmt::format("unknown key '{}'{}; there are {}", entry.key,
                                        did_you_mean(entry.key, keys), joined(keys, ", ")));
    }
    found->second(entry.value);
  }
}

std::int64_t whole_setting(const YamlReader& at, const char* setting) {
  return at.integer(record::range_of(setting));
}

bool flag(const YamlReader& at) { return at.one_of({"true", "false"}) == "true"; }

bool is_flag(const std::string& setting) {
  const record::SettingInfo* row = record::find_setting(setting, "train");
  return row != nullptr && row->form == record::SettingInfo::Form::truth;
}

// The file writes a setting of `train` by the name of its option: lr, decay-steps.
void set_run_option(const YamlReader::Entry& entry, run::RunOptions& options) {
  std::string name = entry.key;
  std::replace(name.begin(), name.end(), '-', '_');
  try {
    run::set_option(options, name, is_flag(name) ? (flag(entry.value) ? "true" : "") : entry.value.text());
  } catch (const Error& error) {
    entry.at_key.complain(error.with_options());
  }
}

// `file` is the ensemble's.
void add_members(const YamlReader& at, const std::string& file, std::vector<MemberSpec>& members) {
  MemberSpec member;
  std::int64_t count = 1;
  for (const YamlReader::Entry& entry : at.entries()) {
    if (entry.key == "count")
      count = whole_setting(entry.value, "members");
    else if (entry.key == "images_per_second")
      member.images_per_second = entry.value.number(record::NumberRange::above(0, 1e12));
    else if (entry.key == "mirror_seed")
      member.mirror_seed = static_cast<std::uint64_t>(whole_setting(entry.value, "seed"));
    else
      set_run_option(entry, member.run);
  }
  member.run.network = study::network_beside(member.run.network, file);
  try {
    to_session(member.run);
    if (!member.is_timed() && networks::find_network(member.run.network).reads_sequences())
      fail(ErrorKind::config, "network '{}' reads sequences; members share preprocessed images",
           member.run.network);
  } catch (const Error& error) {
    at.complain(error.with_options());
  }
  if (const record::NumberRange& range = record::range_of("members");
      !range.contains(record::Value(static_cast<std::int64_t>(members.size()) + count)))
    at.complain(fmt::format("{} members and more, {} expected", members.size() + 1, range.describe()));
  // Members that are alike otherwise begin with other weights.
  for (std::int64_t i = 0; i < count; ++i, ++member.run.seed) members.push_back(member);
}

void read_queues(const YamlReader& at, EnsembleSpec& spec) {
  read_keys(at, {{"block", [&](const YamlReader& v) { spec.block = v.integer(1); }},
                 {"made", [&](const YamlReader& v) { spec.made_images = v.integer(1); }},
                 {"ahead", [&](const YamlReader& v) { spec.ahead_images = v.integer(1); }},
                 {"bytes", [&](const YamlReader& v) { spec.queue_bytes = v.bytes(); }}});
}

void read_preprocess(const YamlReader& at, EnsembleSpec& spec) {
  data::PreprocessOptions& to = spec.preprocess;
  std::int64_t size = 0, channels = 3;
  std::vector<std::string> names = data::recipe_names(data::SampleKind::encoded);
  names.insert(names.end(), {"cifarnet", "lenet"});  // their former names
  read_keys(at, {{"name", [&](const YamlReader& v) { to.name = v.one_of(names); }},
                 {"size", [&](const YamlReader& v) { size = v.integer(1, kLargestSide); }},
                 {"channels", [&](const YamlReader& v) { channels = v.integer(1, 4); }},
                 {"fast", [&](const YamlReader& v) { to.fast = flag(v); }}});
  if (size == 0) size = to.name.starts_with("cifarnet") ? 32 : to.name.starts_with("lenet") ? 28 : 224;
  to.output = {channels, size, size};
}

}  // namespace

std::string MemberSpec::name() const {
  if (!is_timed())
    return networks::names_network_file(run.network) ? std::filesystem::path(run.network).filename().string()
                                                     : run.network;
  return *images_per_second > 0 ? fmt::format("timed at {:g} images/s", *images_per_second)
                                : "as fast as it can";
}

std::vector<int> EnsembleSpec::taking_part() const {
  std::vector<int> numbers;
  for (int i = 0; i < static_cast<int>(members.size()); ++i)
    if (std::find(left_out.begin(), left_out.end(), i) == left_out.end()) numbers.push_back(i);
  return numbers;
}

EnsembleSpec parse_ensemble(const std::string& text, const std::string& file_name) {
  EnsembleSpec spec;
  spec.file = file_name;
  const YamlReader top = YamlReader::parse(text, file_name);
  spec.preprocess.name = "inception";
  read_keys(
      top,
      {{"name", [&](const YamlReader& v) { spec.name = v.text(); }},
       {"about", [&](const YamlReader& v) { spec.about = v.text(); }},
       {"data", [&](const YamlReader& v) { spec.data = v.text(); }},
       {"train_split", [&](const YamlReader& v) { spec.train_split = v.text(); }},
       {"test_split", [&](const YamlReader& v) { spec.test_split = v.text(); }},
       {"preprocess", [&](const YamlReader& v) { read_preprocess(v, spec); }},
       {"design", [&](const YamlReader& v) { spec.design = *find_design(v.one_of(design_names())); }},
       {"preprocessors",
        [&](const YamlReader& v) {
          spec.preprocessors = static_cast<int>(whole_setting(v, "preprocessors"));
        }},
       {"threads",
        [&](const YamlReader& v) { spec.threads = static_cast<int>(whole_setting(v, "threads")); }},
       {"queues", [&](const YamlReader& v) { read_queues(v, spec); }},
       {"window", [&](const YamlReader& v) { spec.window = v.integer(0); }},
       {"seed",
        [&](const YamlReader& v) { spec.seed = static_cast<std::uint64_t>(whole_setting(v, "seed")); }},
       {"epochs", [&](const YamlReader& v) { spec.epochs = v.number(record::range_of("epochs")); }},
       {"steps", [&](const YamlReader& v) { spec.steps = whole_setting(v, "steps"); }},
       {"damaged",
        [&](const YamlReader& v) {
          spec.damage = v.one_of({"skip", "refuse"}) == "skip" ? data::Damage::skip : data::Damage::refuse;
        }},
       {"patience", [&](const YamlReader& v) { spec.patience.seconds = v.seconds(); }},
       {"lost",
        [&](const YamlReader& v) {
          const std::string word = v.one_of({"wait", "drop", "abort"});
          spec.patience.then = word == "wait" ? Lost::wait : word == "drop" ? Lost::drop : Lost::abort;
        }},
       {"gpu_copy",
        [&](const YamlReader& v) {
          spec.one_gpu_copy = v.one_of({"one", "each"}) == "one";
        }},
       {"checkpoint_every",
        [&](const YamlReader& v) { spec.checkpoint_every = whole_setting(v, "checkpoint_every"); }},
       {"keep", [&](const YamlReader& v) { spec.keep = static_cast<int>(whole_setting(v, "keep")); }},
       {"members", [&](const YamlReader& v) {
          for (const YamlReader& member : v.items()) add_members(member, file_name, spec.members);
        }}});
  if (spec.members.empty()) top.complain("no `members`: give at least one");
  if (spec.data.empty()) top.complain("no `data`: the folder of the records");
  if (spec.name.empty()) spec.name = std::filesystem::path(file_name).stem().string();
  // Beside the file, unless it says otherwise: then it can be started from anywhere.
  if (spec.data.is_relative() && !std::filesystem::exists(spec.data))
    spec.data = std::filesystem::path(file_name).parent_path() / spec.data;
  return spec;
}

EnsembleSpec read_ensemble(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file, YamlReader::kMostBytes);
  return parse_ensemble(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                        file.string());
}

namespace {

// As many as are asked for, those of the file again and again; each time they begin with other weights.
void set_members(std::vector<MemberSpec>& members, int wanted) {
  const std::size_t given = members.size();
  for (std::size_t i = given; i < static_cast<std::size_t>(wanted); ++i) {
    members.push_back(members[i - given]);
    members.back().run.seed += given;
  }
  members.resize(static_cast<std::size_t>(wanted));
}

void check_design(EnsembleSpec& spec) {
  const int members = static_cast<int>(spec.taking_part().size());
  const char* design = name(spec.design);
  const bool one = spec.design == Design::baseline || spec.design == Design::shared_memory;
  if (spec.preprocessors == 0) spec.preprocessors = spec.design == Design::all_shared ? members : 1;
  if (spec.design == Design::all_shared && spec.preprocessors != members)
    fail(ErrorKind::usage, "{} preprocessors: with design {} each of the {} members preprocesses",
         spec.preprocessors, design, members);
  if (one && spec.preprocessors != 1)
    fail(ErrorKind::usage, "{} preprocessors: design {} has one{}", spec.preprocessors, design,
         spec.design == Design::baseline ? " for each member" : "");
  if (spec.preprocessors > members)
    fail(ErrorKind::usage, "{} preprocessors: members preprocess, and there are {}", spec.preprocessors,
         members);
}

void check_threads(const EnsembleSpec& spec) {
  const train::ProcessLimit limit = train::process_limit(meter::SystemFiles());
  if (spec.threads > limit.most)
    fail(ErrorKind::unsupported, "{} threads of a preprocessor: this machine may have {} ({})", spec.threads,
         limit.most, limit.reason);
}

}  // namespace

EnsembleSpec to_ensemble(const EnsembleOptions& options, const std::vector<int>& left_out) {
  EnsembleSpec spec = read_ensemble(options.file);
  spec.left_out = left_out;
  if (!options.design.empty()) {
    run::want_choice("ensemble", "design", options.design);
    spec.design = *find_design(options.design);
    spec.preprocessors = 0;
  }
  if (options.members > 0) set_members(spec.members, options.members);
  if (options.preprocessors > 0) spec.preprocessors = options.preprocessors;
  if (options.threads > 0) spec.threads = options.threads;
  if (options.steps > 0) spec.steps = options.steps;
  if (options.epochs > 0) {
    spec.epochs = options.epochs;
    if (options.steps == 0) spec.steps = 0;
  }
  if (options.patience > 0) spec.patience.seconds = options.patience;
  if (!options.lost.empty()) {
    run::want_choice("ensemble", "lost", options.lost);
    spec.patience.then = options.lost == "wait"   ? Lost::wait
                         : options.lost == "drop" ? Lost::drop
                                                  : Lost::abort;
  }
  if (options.rate)
    for (MemberSpec& member : spec.members) member.images_per_second = options.rate;
  if (options.resume.is_given() && options.out.empty())
    fail(ErrorKind::usage, "{}: wants {}", Setting{"resume"}, Setting{"out"});
  // The members that are left share the work of the lost ones.
  if (!left_out.empty())
    spec.preprocessors = spec.design == Design::all_shared
                             ? 0
                             : std::min(spec.preprocessors, static_cast<int>(spec.taking_part().size()));
  check_design(spec);
  check_threads(spec);
  if (!options.hosts.empty() && spec.design == Design::shared_memory)
    fail(ErrorKind::usage, "{}: members of design shared-memory are on one machine", Setting{"hosts"});
  return spec;
}

StreamOptions to_stream(const EnsembleSpec& spec) {
  StreamOptions stream;
  stream.design = spec.design;
  stream.members = static_cast<int>(spec.taking_part().size());
  stream.preprocessors = spec.preprocessors;
  stream.source.records = data::RecordSet::open(spec.data, spec.train_split, spec.damage);
  stream.source.preprocessor = data::make_preprocessor(spec.preprocess);
  stream.source.read.seed = spec.seed;
  stream.source.read.window = spec.window;
  stream.source.read.damage = spec.damage;
  stream.threads = spec.threads > 0 ? spec.threads : static_cast<int>(process_cores().size());
  // A design that gathers passes on as much at a time as one that broadcasts, for any number of
  // preprocessors.
  constexpr std::int64_t kLeastBlock = 4;
  const bool gathers = spec.design == Design::all_shared || spec.design == Design::single_broadcast;
  stream.block =
      gathers ? std::max(spec.block / spec.preprocessors, std::min(spec.block, kLeastBlock)) : spec.block;
  const auto blocks = [&](std::int64_t images) {
    return BoundedQueue<OwnedBlock>::Limits{.items = std::max<std::int64_t>(images / stream.block, 2),
                                            .bytes = spec.queue_bytes};
  };
  stream.made = blocks(spec.made_images / stream.shares());
  stream.ahead = blocks(spec.ahead_images);
  // A member's GPU keeps blocks until it has used them; as many again are made meanwhile.
  if (spec.shares_gpu_copies())
    for (const MemberSpec& member : spec.members)
      if (member.is_on_gpu())
        stream.ahead.items =
            std::max(stream.ahead.items,
                     2 * GatheredBatches::blocks_held(member.run.batch, stream.block, train::kFeedPlaces));
  stream.patience = spec.patience;
  // Groups know no policy: who shall wait has all the time. A rank that died ends the job all the same.
  constexpr double kNoEnd = 1e9;
  if (spec.patience.then == Lost::wait && spec.design != Design::shared_memory)
    stream.patience.seconds = kNoEnd;
  return stream;
}

}  // namespace trainyard::ensemble

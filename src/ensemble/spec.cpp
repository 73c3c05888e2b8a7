#include "ensemble/spec.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest_name.h"
#include "data/recipe/registry.h"
#include "record/settings.h"
#include "study/spec/yaml_reader.h"

namespace trainyard::ensemble {

namespace {

using study::YamlReader;

using Readers = std::map<std::string, std::function<void(const YamlReader&)>>;

constexpr std::uint64_t kLargestSide = 16'384;  // rows and columns of an image

// Each key of a mapping by its reader.
void read_keys(const YamlReader& mapping, const Readers& readers) {
  for (const YamlReader::Entry& entry : mapping.entries()) {
    const auto found = readers.find(entry.key);
    if (found == readers.end()) {
      std::vector<std::string> keys;
      for (const auto& [key, reader] : readers) keys.push_back(key);
      entry.at_key.complain(fmt::format("unknown key '{}'{}; there are {}", entry.key,
                                        did_you_mean(entry.key, keys), fmt::join(keys, ", ")));
    }
    found->second(entry.value);
  }
}

std::int64_t whole_setting(const YamlReader& at, const char* setting) {
  return at.integer(record::range_of(setting));
}

bool flag(const YamlReader& at) { return at.one_of({"true", "false"}) == "true"; }

// The file writes a setting of `train` by the name of its option: lr, decay-steps.
void set_run_option(const YamlReader::Entry& entry, run::RunOptions& options) {
  std::string name = entry.key;
  std::replace(name.begin(), name.end(), '-', '_');
  try {
    run::set_option(options, name,
                    name == "no_fusion" ? (flag(entry.value) ? "true" : "") : entry.value.text());
  } catch (const Error& error) {
    entry.at_key.complain(error.with_options());
  }
}

void add_members(const YamlReader& at, std::vector<MemberSpec>& members) {
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
  try {
    to_session(member.run);
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
  if (!is_timed()) return run.network;
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
          for (const YamlReader& member : v.items()) add_members(member, spec.members);
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

}  // namespace trainyard::ensemble

#include "cli/input_options.h"

#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/nearest_name.h"
#include "base/units.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename Mode>
struct Choice {
  const char* name;
  Mode mode;
};

template <typename Mode, std::size_t kCount>
Mode choose(const char* option, const std::string& given, const Choice<Mode> (&choices)[kCount]) {
  std::vector<std::string> names;
  for (const Choice<Mode>& choice : choices) {
    if (given == choice.name) return choice.mode;
    names.emplace_back(choice.name);
  }
  fail(ErrorKind::usage, "{} '{}'{}: one of {}", option, given, did_you_mean(given, names),
       fmt::join(names, ", "));
}

constexpr Choice<data::ReadMode> kReadModes[] = {
    {"memory", data::ReadMode::memory}, {"mmap", data::ReadMode::mmap}, {"stream", data::ReadMode::stream}};

using MaybeTarget = std::optional<data::StagingTarget>;
constexpr Choice<MaybeTarget> kStaging[] = {{"in-place", std::nullopt},
                                            {"local", data::StagingTarget::local},
                                            {"memory", data::StagingTarget::memory}};

}  // namespace

void add_input_options(CLI::App& command, InputOptions& options) {
  command.add_option("--data", options.data.name, "mnist, cifar10, or synthetic: made for the network")
      ->capture_default_str();
  command.add_option("--from", options.data.folder, "Folder with the data set's files (default: the cache)")
      ->type_name("DIR");
  command.add_option("--cache", options.data.cache, "Cache folder (default: ~/.cache/trainyard)")
      ->type_name("DIR");
  command
      .add_option("--read", options.read,
                  "memory: all images at the start; mmap: pages as they are touched; stream: batch by batch")
      ->capture_default_str();
  command
      .add_option("--staging", options.staging,
                  "in-place; local, memory: copy the files to a local disk or a tmpfs first, and verify them")
      ->capture_default_str();
  command
      .add_option("--staging-folder", options.staging_folder,
                  "Where to stage (default: $SLURM_TMPDIR, $LOCAL, $TMPDIR or /tmp; memory: /dev/shm)")
      ->type_name("DIR");
}

Input load_input(const InputOptions& options, bool quiet) {
  data::DatasetOptions wanted = options.data;
  wanted.read = choose("--read", options.read, kReadModes);
  const MaybeTarget target = choose("--staging", options.staging, kStaging);
  if (!target && !options.staging_folder.empty())
    fail(ErrorKind::usage, "--staging-folder wants --staging local or memory");
  Input input;
  if (target) {
    if (wanted.name == "synthetic")
      fail(ErrorKind::usage, "--staging {}: data set 'synthetic' has no files", options.staging);
    input.staged = std::make_unique<data::StagedFiles>(
        wanted.name, data::find_dataset(wanted),
        data::StagingOptions{.target = *target, .folder = options.staging_folder, .quiet = quiet});
    wanted.folder = input.staged->folder();
  }
  const double began = now_seconds();
  input.dataset = data::load_dataset(wanted);
  input.load_seconds = now_seconds() - began;
  return input;
}

void add_input(record::RunRecord& run, const InputOptions& options, const Input& input) {
  run.asked["data"] = options.data.name;
  run.asked["read"] = options.read;
  run.asked["staging"] = options.staging;
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
  Json files = Json::array();
  for (const data::CachedFile& file : staged.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  run.details["staging_files"] = files.dump();
}

void print_input(const record::RunRecord& run) {
  const auto bytes = [&](const char* name) {
    return format_bytes(static_cast<std::int64_t>(run.figure_or(name, 0)));
  };
  const auto seconds = [&](const char* name) { return format_seconds(run.figure_or(name, 0)); };
  if (run.figures.contains("bytes_read"))
    fmt::print("{:<20} {} in {}, batch by batch\n", "read", bytes("bytes_read"), seconds("read_seconds"));
  if (run.figures.contains("staging_bytes"))
    fmt::print("{:<20} {} to '{}' ({}) in {} ({} verifying), {:.0f} % came from the page cache\n", "staged",
               bytes("staging_bytes"), run.words.at("staging_folder"), run.words.at("staging_filesystem"),
               seconds("staging_seconds"), seconds("staging_verify_seconds"),
               100 * run.figure_or("staging_source_cached_fraction", 0));
}

}  // namespace trainyard::cli

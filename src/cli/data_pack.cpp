#include <charconv>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/option_checks.h"
#include "cli/outputs.h"
#include "cli/progress_bar.h"
#include "data/pack/pack.h"
#include "process/stop_request.h"

namespace trainyard::cli {
namespace {

struct DataPackOptions {
  std::string source, split, name, pixels = "256..500";
  std::filesystem::path to, cache;
  data::PhotoOptions photos;
  int shards = 0;
  bool resume = false, json = false, quiet = false;
};

// The sets that were asked for, and the files that were left out of them.
struct DataPackResult {
  std::vector<data::PackedSet> sets;
  std::vector<std::filesystem::path> left_out;

  // Returns the first set that is not whole; null when all are.
  const data::PackedSet* cut_short() const {
    const auto found =
        std::find_if(sets.begin(), sets.end(), [](const data::PackedSet& set) { return !set.is_whole(); });
    return found == sets.end() ? nullptr : &*found;
  }
};

void read_pixels(const std::string& text, data::PhotoOptions& photos) {
  const std::size_t dots = text.find("..");
  const std::string least = text.substr(0, dots),
                    most = dots == std::string::npos ? least : text.substr(dots + 2);
  const auto number = [&](const std::string& part) {
    int value = 0;
    const char* end = part.data() + part.size();
    const std::from_chars_result result = std::from_chars(part.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end)
      fail(ErrorKind::usage, "--pixels '{}': two numbers as in 256..500, or one, expected", text);
    return value;
  };
  photos.min_pixels = number(least);
  photos.max_pixels = number(most);
}

data::PackOptions options_for(const DataPackOptions& options, const std::string& name,
                              const std::string& split) {
  return {options.to,
          options.name.empty() ? name : options.name,
          options.split.empty() ? split : options.split,
          options.shards,
          terminal_progress(options.quiet || options.json),
          options.resume};
}

DataPackResult pack_known(const DataPackOptions& options) {
  DataPackResult result;
  const std::string& split = options.split;
  if (!split.empty() && split != "train" && split != "test")
    fail(ErrorKind::usage, "--split '{}': data set '{}' has train and test", split, options.source);
  const data::Dataset dataset = data::load_dataset({.name = options.source, .cache = options.cache});
  for (const auto& [which, word] :
       {std::pair{data::Split::train, "train"}, std::pair{data::Split::test, "test"}})
    if (split.empty() || split == word)
      result.sets.push_back(data::pack_dataset(dataset, which, options_for(options, options.source, word)));
  return result;
}

// Returns the last word of a path, also of one that ends with a slash.
std::string last_part(const std::filesystem::path& path) {
  const std::filesystem::path normal = std::filesystem::absolute(path).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).filename().string();
}

DataPackResult pack_source(const DataPackOptions& options) {
  std::vector<std::string> known = data::file_dataset_names();
  std::erase_if(
      known, [](const std::string& name) { return data::kind_of_dataset(name) == data::SampleKind::tokens; });
  if (std::find(known.begin(), known.end(), options.source) != known.end()) return pack_known(options);
  if (options.source == "synthetic")
    return {{data::pack_photos(options.photos, options_for(options, "photos", "train"))}, {}};
  if (!std::filesystem::is_directory(options.source)) {
    known.emplace_back("synthetic");
    fail(ErrorKind::config, "'{}' is neither a folder nor one of {}{}", options.source, joined(known, ", "),
         did_you_mean(options.source, known));
  }
  data::PackedFolder packed = data::pack_folder(options.source, options.photos.seed,
                                                options_for(options, last_part(options.source), "train"));
  return {{packed.set}, packed.left_out};
}

void print_packed_json(const DataPackOptions& options, const DataPackResult& result, double seconds) {
  Json sets = Json::array(), left_out = Json::array();
  for (const data::PackedSet& set : result.sets)
    sets.push_back({{"name", set.name},
                    {"split", set.split},
                    {"shards", set.shards},
                    {"complete_shards", set.complete_shards},
                    {"records", set.records},
                    {"classes", set.classes},
                    {"bytes", set.bytes}});
  for (const std::filesystem::path& path : result.left_out) left_out.push_back(path.string());
  Json json{{"folder", options.to.string()}, {"sets", sets}, {"left_out", left_out}, {"seconds", seconds}};
  if (result.cut_short() != nullptr) json["interrupted"] = true;
  fmt::print("{}\n", json_text(json, 2));
}

int end_of_pack(const DataPackOptions& options, const DataPackResult& result) {
  const data::PackedSet* set = result.cut_short();
  if (set == nullptr) return 0;
  return report_interrupted(fmt::format(
      "data pack: interrupted: {} of {} shards of {}-{} are complete in '{}'; the same command with "
      "--resume goes on",
      set->complete_shards, set->shards, set->name, set->split, options.to.string()));
}

int run_data_pack(DataPackOptions options) {
  // The parser would want both of `data pack text`, too.
  if (options.source.empty()) fail(ErrorKind::usage, "SOURCE is required");
  if (options.to.empty()) fail(ErrorKind::usage, "--to is required");
  read_pixels(options.pixels, options.photos);
  const double began = now_seconds();
  const process::StopRequest guard;
  const DataPackResult result = pack_source(options);
  const double seconds = now_seconds() - began;
  if (options.json) {
    print_packed_json(options, result, seconds);
    return end_of_pack(options, result);
  }
  for (const data::PackedSet& set : result.sets)
    fmt::print("{}-{}: {} records of {} classes in {} shards, {} in {}\n", set.name, set.split, set.records,
               set.classes, set.complete_shards, format_bytes(set.bytes), options.to.string());
  if (!result.left_out.empty())
    fmt::print("left out: {} files that are neither JPEG nor PNG, the first is '{}'\n",
               result.left_out.size(), result.left_out.front().string());
  fmt::print("took {}\n", format_seconds(seconds));
  return end_of_pack(options, result);
}

}  // namespace

std::function<int()> declare_data_pack(Command& command) {
  const auto options = std::make_shared<DataPackOptions>();
  command
      .add_option("source", options->source,
                  "A folder with one folder of images a class; mnist, cifar10; synthetic")
      ->type_name("SOURCE");
  add_output_folder(command, "--to", options->to, "Folder for the record files");
  command.add_option("--shards", options->shards, "Files of a split (default: one for every 10000 records)")
      ->transform(within(record::NumberRange::whole(1, 99'999)));
  command
      .add_option("--split", options->split,
                  "train, validation, test (default: train; both of mnist and cifar10)")
      ->type_name("NAME");
  command.add_option("--name", options->name, "First part of the files' names (default: that of the source)")
      ->type_name("NAME");
  command.add_option("--images", options->photos.images, "Of synthetic: how many")
      ->transform(within(record::NumberRange::whole(1, 1'000'000'000)))
      ->capture_default_str();
  command.add_option("--classes", options->photos.classes, "Of synthetic: how many")
      ->transform(within(record::NumberRange::whole(1, 100'000)))
      ->capture_default_str();
  command.add_option("--pixels", options->pixels, "Of synthetic: least and largest side")
      ->type_name("N..M")
      ->capture_default_str();
  command.add_option("--seed", options->photos.seed, "Of synthetic, and of the order of a folder's images")
      ->transform(within("seed"))
      ->capture_default_str();
  command.add_option("--cache", options->cache, "Cache folder (default: ~/.cache/trainyard)")
      ->type_name("DIR");
  command.add_flag("--resume", options->resume,
                   "Go on with a set that was interrupted: shards that are complete stay");
  command.add_flag("--quiet", options->quiet, "No progress bar");
  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "The files are TFRecords of tf.train.Example (docs/formats/records.md). Images of folders are kept "
      "byte for\n"
      "byte, those of mnist and cifar10 become PNGs, synthetic ones are JPEGs. Ctrl-C leaves the shards that "
      "are\n"
      "complete, with exit code 130.\n\n"
      "Examples:\n"
      "  trainyard data pack synthetic --to made-up --images 200 --classes 5\n"
      "  trainyard data pack flowers --to records --shards 2");
  Command* text =
      command.add_subcommand("text", "Write a text as tokens, by a vocabulary that is trained on it");
  return [options, &command, text, run_text = declare_data_pack_text(*text)] {
    if (text->parsed()) return run_text();
    const bool made = options->source == "synthetic", folder = std::filesystem::is_directory(options->source);
    warn_of_idle_options(command,
                         {{!made, {"--images", "--classes", "--pixels"}, "the source is not synthetic"},
                          {!made && !folder, {"--seed"}, "mnist and cifar10 keep their order"},
                          {made || folder, {"--cache"}, "it has mnist and cifar10"}});
    return run_data_pack(*options);
  };
}

}  // namespace trainyard::cli

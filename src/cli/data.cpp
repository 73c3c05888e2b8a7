#include "base/json.h"
#include "cli/commands.h"

#include <cstdio>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/outputs.h"
#include "cli/progress_bar.h"
#include "cli/text_table.h"
#include "data/source/dataset.h"
#include "data/source/get_dataset.h"
#include "data/source/record_set.h"
#include "data/source/record_shard.h"

namespace trainyard::cli {

namespace {

struct DataOptions {
  data::GetOptions get;
  bool json = false, quiet = false;
};

void print_json(const Json& json) {
  // A folder's name may hold bytes that are not UTF-8.
  fmt::print("{}\n", json_text(json, 2));
}

Json to_json(const data::CacheEntry& entry) {
  return {{"name", entry.name},
          {"folder", entry.folder.string()},
          {"source", entry.source},
          {"bytes", entry.bytes()},
          {"image_shape", std::vector(entry.image_shape.begin(), entry.image_shape.end())},
          {"classes", entry.classes},
          {"train_images", entry.train_images},
          {"test_images", entry.test_images}};
}

bool is_text(const data::CacheEntry& entry) { return entry.image_shape.rank() == 0; }

int run_get(const DataOptions& options) {
  const double began = now_seconds();
  data::GetOptions wanted = options.get;
  wanted.progress = terminal_progress(options.quiet);
  const data::GetResult result = data::get_dataset(wanted);
  const double seconds = now_seconds() - began;
  const data::CacheEntry& entry = result.entry;
  if (options.json) {
    Json json = to_json(entry);
    json["already_there"] = result.already_there;
    json["seconds"] = seconds;
    print_json(json);
    return 0;
  }
  fmt::print("{}: {}{} training and {} test {}, {} in {}, from {} ({})\n", entry.name,
             result.already_there ? "already there and verified, " : "", entry.train_images,
             entry.test_images,
             is_text(entry) ? "bytes of text" : "images of " + entry.image_shape.to_string(),
             format_bytes(entry.bytes()), entry.folder.string(), entry.source, format_seconds(seconds));
  return 0;
}

int run_list(const DataOptions& options) {
  const std::filesystem::path cache = options.get.cache.empty() ? default_cache_folder() : options.get.cache;
  Json list = Json::array();
  std::string table = fmt::format("{:<10} {:>9} {:>7} {:>9} {:>9}  {}\n", "dataset", "training", "test",
                                  "image", "size", "source");
  for (const std::string& name : data::file_dataset_names()) {
    const std::optional<data::CacheEntry> entry = data::find_in_cache(cache, name);
    Json row = entry ? to_json(*entry) : Json{{"name", name}};
    row["present"] = entry.has_value();
    list.push_back(row);
    table += entry
                 ? fmt::format("{:<10} {:>9} {:>7} {:>9} {:>9}  {}\n", name, entry->train_images,
                               entry->test_images, is_text(*entry) ? "text" : entry->image_shape.to_string(),
                               format_bytes(entry->bytes()), entry->source)
                 : fmt::format("{:<10} {:>9} {:>7} {:>9} {:>9}  absent: run 'trainyard data get {}'\n", name,
                               "-", "-", "-", "-", name);
  }
  list.push_back({{"name", "synthetic"}, {"source", "made on the fly"}, {"present", true}});
  table +=
      fmt::format("{:<10} {:>9} {:>7} {:>9} {:>9}  made on the fly\n", "synthetic", "any", "any", "any", "-");
  if (options.json)
    print_json({{"cache", cache.string()}, {"datasets", list}});
  else
    fmt::print("cache {}\n{}", cache.string(), table);
  return 0;
}

void add_common(Command& command, DataOptions& options) {
  command.add_option("--cache", options.get.cache, "Cache folder (default: ~/.cache/trainyard)")
      ->type_name("DIR");
  command.add_flag("--json", options.json, "Print one JSON object");
}

}  // namespace

std::function<int()> declare_data(Command& command) {
  const auto options = std::make_shared<DataOptions>();
  command.description(
      "Get datasets, say which are there, and pack images into record files and texts into tokens");
  command.require_subcommand(1);
  command.footer("Examples:\n  trainyard data list\n  trainyard data get mnist");

  Command* get = command.add_subcommand("get", "Put a dataset into the cache, whole or not at all");
  get->add_option("name", options->get.name, "mnist, cifar10 or moby-dick")->required()->type_name("NAME");
  get->add_option("--from", options->get.from,
                  "Import the usual files (IDX, IDX.gz, CIFAR-10 binary, text) from a folder")
      ->type_name("DIR");
  get->add_flag("--quiet", options->quiet, "No progress bar");
  get->footer("Examples:\n  trainyard data get mnist\n  trainyard data get moby-dick --json");
  add_common(*get, *options);

  Command* list = command.add_subcommand("list", "Say which datasets are in the cache");
  list->footer("Examples:\n  trainyard data list\n  trainyard data list --json");
  add_common(*list, *options);

  Command* pack =
      command.add_subcommand("pack", "Write images as a set of record files, or a text as tokens");
  Command* info = command.add_subcommand("info", "Say what is in a set of record files");
  const std::function<int()> run_pack = declare_data_pack(*pack), run_info = declare_data_info(*info);

  return [=] {
    if (pack->parsed()) return run_pack();
    if (info->parsed()) return run_info();
    return get->parsed() ? run_get(*options) : run_list(*options);
  };
}

namespace {

struct DataInfoOptions {
  std::filesystem::path path;
  std::string split;
  bool verify = false, json = false;
};

// Shards whose names differ in their numbers alone.
struct ShardGroup {
  std::int64_t shards = 0, missing = 0, records = 0, bytes = 0, lost_bytes = 0;
};

std::map<std::string, ShardGroup> group_shards(const data::SetInfo& info) {
  const auto stem_of = [](const std::string& file) {
    const std::optional<data::ShardName> name = data::parse_shard_name(file);
    return name ? name->stem : file;
  };
  std::map<std::string, ShardGroup> groups;
  for (const data::ShardInfo& shard : info.shards) {
    ShardGroup& group = groups[stem_of(shard.file)];
    ++group.shards;
    group.records += shard.records;
    group.bytes += shard.bytes;
    group.lost_bytes += shard.lost_bytes;
  }
  for (const std::string& file : info.missing) ++groups[stem_of(file)].missing;
  return groups;
}

void print_info_json(const DataInfoOptions& options, const data::SetInfo& info) {
  Json shards = Json::array(), labels = Json::object();
  for (const data::ShardInfo& shard : info.shards)
    shards.push_back({{"file", shard.file},
                      {"records", shard.records},
                      {"bytes", shard.bytes},
                      {"lost_bytes", shard.lost_bytes}});
  for (const auto& [label, records] : info.labels) labels[std::to_string(label)] = records;
  const Json json{{"path", options.path.string()},
                  {"records", info.records},
                  {"bytes", info.bytes},
                  {"classes", info.labels.size()},
                  {"labels", labels},
                  {"formats", info.formats},
                  {"height", {info.height.least, info.height.most}},
                  {"width", {info.width.least, info.width.most}},
                  {"verified", options.verify},
                  {"damaged", info.damaged},
                  {"lost_bytes", info.lost_bytes},
                  {"missing", info.missing},
                  {"damage", info.damage},
                  {"shards", shards}};
  fmt::print("{}\n", json_text(json, 2));
}

void print_info(const DataInfoOptions& options, const data::SetInfo& info) {
  TextTable table({"set", "shards", "missing", "records", "bytes", "lost bytes"});
  for (const auto& [stem, group] : group_shards(info))
    table.add({stem, fmt::format("{}", group.shards), fmt::format("{}", group.missing),
               fmt::format("{}", group.records), fmt::format("{}", group.bytes),
               fmt::format("{}", group.lost_bytes)});
  fmt::print("{}\n", table.text());
  fmt::print("{} records, {}", info.records, format_bytes(info.bytes));
  if (!info.labels.empty())
    fmt::print("; {} classes, labels {} to {}", info.labels.size(), info.labels.begin()->first,
               info.labels.rbegin()->first);
  for (const auto& [format, records] : info.formats)
    fmt::print("; {} {}", records, format.empty() ? "of no named format" : format);
  if (info.height.most > 0)
    fmt::print("; height {} to {}, width {} to {}", info.height.least, info.height.most, info.width.least,
               info.width.most);
  fmt::print(
      "\n{} damaged records{}\n", info.damaged,
      options.verify ? ", every checksum compared" : ", checksums of contents not compared (--verify)");
  for (const std::string& damage : info.damage) fmt::print("  {}\n", damage);
  if (!info.missing.empty())
    fmt::print("missing: {} shards, the first is {}\n", info.missing.size(), info.missing.front());
}

int run_data_info(const DataInfoOptions& options) {
  const auto set = data::RecordSet::open(options.path, options.split, data::Damage::skip);
  const data::SetInfo info = set->info(options.verify);
  if (options.json)
    print_info_json(options, info);
  else
    print_info(options, info);
  return options.verify && !info.whole() ? kCallerCanMendIt : 0;
}

}  // namespace

std::function<int()> declare_data_info(Command& command) {
  const auto options = std::make_shared<DataInfoOptions>();
  command.add_option("path", options->path, "A folder of record files, or one of them")
      ->required()
      ->type_name("PATH");
  command.add_option("--split", options->split, "Only files of this split, such as train")->type_name("NAME");
  command.add_flag("--verify", options->verify,
                   "Compare every checksum; exit status 1 when anything is damaged, lost or missing");
  command.add_flag("--json", options->json, "Print one JSON object");
  command.footer(
      "Examples:\n"
      "  trainyard data info made-up\n"
      "  trainyard data info made-up --verify --json");
  return [options] { return run_data_info(*options); };
}

}  // namespace trainyard::cli

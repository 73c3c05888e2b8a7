#include "cli/data.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/cache_folder.h"
#include "base/clock.h"
#include "base/units.h"
#include "cli/data_commands.h"
#include "data/cache.h"
#include "data/dataset.h"
#include "data/get.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DataOptions {
  data::GetOptions get;
  bool json = false;
};

void print_json(const Json& json) {
  // A folder's name may hold bytes that are not UTF-8.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
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

int run_get(const DataOptions& options) {
  const double began = now_seconds();
  const data::GetResult result = data::get_dataset(options.get);
  const double seconds = now_seconds() - began;
  const data::CacheEntry& entry = result.entry;
  if (options.json) {
    Json json = to_json(entry);
    json["already_there"] = result.already_there;
    json["seconds"] = seconds;
    print_json(json);
    return 0;
  }
  fmt::print("{}: {}{} training and {} test images of {}, {} in {}, from {} ({})\n", entry.name,
             result.already_there ? "already there and verified, " : "", entry.train_images,
             entry.test_images, entry.image_shape.to_string(), format_bytes(entry.bytes()),
             entry.folder.string(), entry.source, format_seconds(seconds));
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
    table += entry ? fmt::format("{:<10} {:>9} {:>7} {:>9} {:>9}  {}\n", name, entry->train_images,
                                 entry->test_images, entry->image_shape.to_string(),
                                 format_bytes(entry->bytes()), entry->source)
                   : fmt::format("{:<10} {:>9} {:>7} {:>9} {:>9}  absent: run 'trainyard data get {}'\n",
                                 name, "-", "-", "-", "-", name);
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

void add_common(CLI::App& command, DataOptions& options) {
  command.add_option("--cache", options.get.cache, "Cache folder (default: ~/.cache/trainyard)")
      ->type_name("DIR");
  command.add_flag("--json", options.json, "Print one JSON object");
}

}  // namespace

std::function<int()> declare_data(CLI::App& command) {
  const auto options = std::make_shared<DataOptions>();
  command.description("Get datasets, say which are there, and pack images into record files");
  command.require_subcommand(1);
  command.footer("Examples:\n  trainyard data list\n  trainyard data get mnist");

  CLI::App* get = command.add_subcommand("get", "Put a dataset into the cache, whole or not at all");
  get->add_option("name", options->get.name, "mnist or cifar10")->required()->type_name("NAME");
  get->add_option("--from", options->get.from,
                  "Import the usual files (IDX, IDX.gz, CIFAR-10 binary) from a folder")
      ->type_name("DIR");
  get->add_flag("--quiet", options->get.quiet, "No progress bar");
  get->footer("Examples:\n  trainyard data get mnist\n  trainyard data get mnist --json");
  add_common(*get, *options);

  CLI::App* list = command.add_subcommand("list", "Say which datasets are in the cache");
  list->footer("Examples:\n  trainyard data list\n  trainyard data list --json");
  add_common(*list, *options);

  CLI::App* pack = command.add_subcommand("pack", "Write images as a set of record files");
  CLI::App* info = command.add_subcommand("info", "Say what is in a set of record files");
  const std::function<int()> run_pack = declare_data_pack(*pack), run_info = declare_data_info(*info);

  return [=] {
    if (pack->parsed()) return run_pack();
    if (info->parsed()) return run_info();
    return get->parsed() ? run_get(*options) : run_list(*options);
  };
}

}  // namespace trainyard::cli

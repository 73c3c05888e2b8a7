#include <map>
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/data_commands.h"
#include "cli/exit_code.h"
#include "cli/text_table.h"
#include "records/record_set.h"
#include "records/shard_name.h"

namespace trainyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct DataInfoOptions {
  std::filesystem::path path;
  std::string split;
  bool verify = false, json = false;
};

// Shards whose names differ in their numbers alone.
struct ShardGroup {
  std::int64_t shards = 0, missing = 0, records = 0, bytes = 0, lost_bytes = 0;
};

std::map<std::string, ShardGroup> group_shards(const records::SetInfo& info) {
  const auto stem_of = [](const std::string& file) {
    const std::optional<records::ShardName> name = records::parse_shard_name(file);
    return name ? name->stem : file;
  };
  std::map<std::string, ShardGroup> groups;
  for (const records::ShardInfo& shard : info.shards) {
    ShardGroup& group = groups[stem_of(shard.file)];
    ++group.shards;
    group.records += shard.records;
    group.bytes += shard.bytes;
    group.lost_bytes += shard.lost_bytes;
  }
  for (const std::string& file : info.missing) ++groups[stem_of(file)].missing;
  return groups;
}

void print_info_json(const DataInfoOptions& options, const records::SetInfo& info) {
  Json shards = Json::array(), labels = Json::object();
  for (const records::ShardInfo& shard : info.shards)
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
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_info(const DataInfoOptions& options, const records::SetInfo& info) {
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
  const auto set = records::RecordSet::open(options.path, options.split, records::Damage::skip);
  const records::SetInfo info = set->info(options.verify);
  if (options.json)
    print_info_json(options, info);
  else
    print_info(options, info);
  return options.verify && !info.whole() ? kCallerCanMendIt : 0;
}

}  // namespace

std::function<int()> declare_data_info(CLI::App& command) {
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

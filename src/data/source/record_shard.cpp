#include "data/source/record_shard.h"

#include <charconv>

#include "base/error.h"

namespace trainyard::data {

Shard::Shard(std::filesystem::path path) : path_(std::move(path)), file_(path_) {
  for (std::int64_t at = 0; at < file_.bytes();) {
    const std::optional<Frame> frame = first_frame(from(at));
    if (!frame) {
      lost_bytes_ = file_.bytes() - at;
      damage_ = fmt::format("'{}': record at byte {}: {}; {} bytes are lost", path_.string(), at,
                            why_no_frame(from(at)), lost_bytes_);
      break;
    }
    offsets_.push_back(at);
    at += static_cast<std::int64_t>(frame->bytes());
  }
}

std::string_view Shard::from(std::int64_t offset) const {
  return {reinterpret_cast<const char*>(file_.data()) + offset,
          static_cast<std::size_t>(file_.bytes() - offset)};
}

namespace {

constexpr std::string_view kDigits = "0123456789";

// Returns the number behind the last other character, and what stands before it.
std::optional<int> take_number(std::string_view& text) {
  const std::size_t begin = text.find_last_not_of(kDigits) + 1;  // npos + 1 is 0
  int value = 0;
  const char* end = text.data() + text.size();
  if (begin == text.size() || std::from_chars(text.data() + begin, end, value).ec != std::errc())
    return std::nullopt;
  text = text.substr(0, begin);
  return value;
}

bool is_validation(std::string_view word) { return word == "test" || word == "validation" || word == "val"; }

}  // namespace

std::optional<ShardName> parse_shard_name(std::string_view file) {
  std::string_view stem = file;
  bool suffixed = false;
  for (const std::string_view suffix : {".tfrecord", ".tfrecords"})
    if (file.ends_with(suffix)) {
      stem = file.substr(0, file.size() - suffix.size());
      suffixed = true;
    }
  if (stem.empty() || stem.front() == '.') return std::nullopt;
  constexpr std::string_view kOf = "-of-";
  std::string_view rest = stem;
  const std::optional<int> shards = take_number(rest);
  if (shards && rest.ends_with(kOf)) {
    rest.remove_suffix(kOf.size());
    const std::optional<int> number = take_number(rest);
    if (number && *number < *shards) {
      if (rest.ends_with('-') || rest.ends_with('_')) rest.remove_suffix(1);
      return ShardName{std::string(rest), *number, *shards};
    }
  }
  if (!suffixed) return std::nullopt;
  return ShardName{std::string(stem), 0, 1};
}

std::string shard_file(const std::string& stem, int number, int shards) {
  return fmt::format("{}-{:05}-of-{:05}.tfrecord", stem, number, shards);
}

bool names_split(std::string_view stem, std::string_view split) {
  constexpr std::string_view kBetweenWords = "-_.";
  for (std::size_t begin = 0; begin <= stem.size();) {
    const std::size_t end = std::min(stem.find_first_of(kBetweenWords, begin), stem.size());
    const std::string_view word = stem.substr(begin, end - begin);
    if (word == split || (is_validation(word) && is_validation(split))) return true;
    begin = end + 1;
  }
  return false;
}

std::vector<std::filesystem::path> find_shards(const std::filesystem::path& path, const std::string& split) {
  namespace fs = std::filesystem;
  std::error_code code;
  if (fs::is_regular_file(path, code)) return {path};
  if (!fs::is_directory(path, code))
    fail(ErrorKind::config, "'{}': no folder of record files, and no file", path.string());
  std::vector<fs::path> found;
  std::set<std::string> others;
  fs::directory_iterator entries(path, code);
  if (code) fail(ErrorKind::io, "cannot read folder '{}': {}", path.string(), code.message());
  for (const fs::directory_entry& entry : entries) {
    const std::optional<ShardName> name = parse_shard_name(entry.path().filename().string());
    if (!name || !entry.is_regular_file(code)) continue;
    if (split.empty() || names_split(name->stem, split))
      found.push_back(entry.path());
    else
      others.insert(name->stem);
  }
  if (found.empty() && !others.empty())
    fail(ErrorKind::config, "'{}': no record files of split '{}', only of '{}'{}", path.string(), split,
         *others.begin(), others.size() > 1 ? " and others" : "");
  if (found.empty())
    fail(ErrorKind::config, "'{}': no record files (*.tfrecord, *-00000-of-00005)", path.string());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> missing_shards(const std::vector<std::filesystem::path>& shards) {
  constexpr int kMaxListed = 100'000;  // a name may announce any number
  std::map<std::pair<std::string, int>, std::set<int>> present;
  for (const std::filesystem::path& path : shards)
    if (const std::optional<ShardName> name = parse_shard_name(path.filename().string()))
      present[{name->stem, name->shards}].insert(name->number);
  std::vector<std::string> missing;
  for (const auto& [set, numbers] : present)
    for (int number = 0; number < std::min(set.second, kMaxListed); ++number)
      if (!numbers.contains(number)) missing.push_back(shard_file(set.first, number, set.second));
  return missing;
}

}  // namespace trainyard::data

#include "data/source/record_set.h"

#include <fstream>

namespace trainyard::data {

namespace {

constexpr std::size_t kMaxNotes = 10;

void note(SetInfo& info, const std::string& damage) {
  if (info.damage.size() < kMaxNotes) info.damage.push_back(damage);
}

void widen(Range& range, std::int64_t value) {
  if (value <= 0) return;
  range.least = range.most == 0 ? value : std::min(range.least, value);
  range.most = std::max(range.most, value);
}

}  // namespace

SetInfo RecordSet::info(bool verify) const {
  SetInfo info;
  info.missing = missing_;
  for (const Shard& shard : shards_) {
    info.shards.push_back(
        {shard.path().filename().string(), shard.records(), shard.bytes(), shard.lost_bytes()});
    info.records += shard.records();
    info.bytes += shard.bytes();
    info.lost_bytes += shard.lost_bytes();
    if (shard.lost_bytes() > 0) note(info, shard.damage());
  }
  std::string why;
  for (std::int64_t id = 0; id < size(); ++id) {
    const std::optional<ImageExample> found = example(id, verify, why);
    if (!found) {
      ++info.damaged;
      note(info, why);
      continue;
    }
    ++info.labels[found->label];
    ++info.formats[std::string(found->format)];
    widen(info.height, found->height);
    widen(info.width, found->width);
  }
  return info;
}

RecordSet::RecordSet(const std::vector<std::filesystem::path>& files) : first_ids_{0} {
  shards_.reserve(files.size());
  for (const std::filesystem::path& file : files) {
    shards_.emplace_back(file);
    first_ids_.push_back(first_ids_.back() + shards_.back().records());
  }
}

std::shared_ptr<const RecordSet> RecordSet::open(const std::filesystem::path& path, const std::string& split,
                                                 Damage damage) {
  const std::vector<std::filesystem::path> files = find_shards(path, split);
  const std::shared_ptr<RecordSet> set(new RecordSet(files));
  // One file of several may be all that is wanted.
  if (std::filesystem::is_directory(path)) set->missing_ = missing_shards(files);
  const auto broken = std::find_if(set->shards_.begin(), set->shards_.end(),
                                   [](const Shard& shard) { return shard.lost_bytes() > 0; });
  if (broken != set->shards_.end() && (damage == Damage::refuse || set->size() == 0))
    fail(ErrorKind::config, "{}", broken->damage());
  if (set->size() == 0) fail(ErrorKind::config, "'{}': no records in {} files", path.string(), files.size());
  if (damage == Damage::refuse && !set->missing_.empty())
    fail(ErrorKind::config, "'{}': {} shards are missing, the first is '{}'", path.string(),
         set->missing_.size(), set->missing_.front());
  return set;
}

std::int64_t RecordSet::lost_bytes() const {
  std::int64_t bytes = 0;
  for (const Shard& shard : shards_) bytes += shard.lost_bytes();
  return bytes;
}

RecordSet::Place RecordSet::place_of(std::int64_t id) const {
  TRAINYARD_CHECK(id >= 0 && id < size());
  const auto after = std::upper_bound(first_ids_.begin(), first_ids_.end(), id);
  const auto place = static_cast<std::size_t>(after - first_ids_.begin()) - 1;
  return {shards_[place], id - first_ids_[place]};
}

std::string RecordSet::where(std::int64_t id) const {
  const auto [shard, record] = place_of(id);
  return fmt::format("'{}': record at byte {}", shard.path().string(), shard.offset(record));
}

std::optional<ImageExample> RecordSet::example(std::int64_t id, bool verify, std::string& why) const {
  const auto [shard, record] = place_of(id);
  const std::optional<Frame> frame = shard.frame(record);
  std::optional<ImageExample> found;
  if (!frame)
    why = "it has changed since the file was opened";
  else if (verify && !frame->sound())
    why = "its content does not agree with its checksum";
  else
    found = parse_image_example(frame->payload, why);
  if (!found) why = fmt::format("{}: {}", where(id), why);
  return found;
}

std::optional<Record> RecordSet::try_read(std::int64_t id, std::string& why) const {
  const std::optional<ImageExample> found = example(id, true, why);
  if (!found) return std::nullopt;
  return Record{.id = id, .label = found->label, .encoded = std::as_bytes(std::span(found->encoded))};
}

Record RecordSet::read(std::int64_t id) const {
  std::string why;
  const std::optional<Record> record = try_read(id, why);
  if (!record) fail(ErrorKind::config, "{}", why);
  return *record;
}

namespace {

class RecordSamples final : public SampleSource {
 public:
  RecordSamples(std::shared_ptr<const RecordSet> records, Damage damage, int classes)
      : records_(std::move(records)), damage_(damage), classes_(classes) {}

  std::int64_t size() const override { return records_->size(); }

  Sample read(std::int64_t index, Scratch&) const override {
    std::string why;
    const std::optional<Record> record = records_->try_read(index, why);
    if (!record && damage_ == Damage::refuse) fail(ErrorKind::config, "{}", why);
    if (!record) return {{}, -1};
    const bool known = record->label >= 0 && (classes_ == 0 || record->label < classes_);
    if (!known && damage_ == Damage::refuse)
      fail(ErrorKind::config, "{}: label {}, 0 to {} expected", where(index), record->label, classes_ - 1);
    return {record->encoded, known ? record->label : -1};
  }

  std::string where(std::int64_t index) const override { return records_->where(index); }

 private:
  const std::shared_ptr<const RecordSet> records_;
  const Damage damage_;
  const int classes_;
};

bool has_split(const std::vector<std::filesystem::path>& shards, const char* split) {
  return std::any_of(shards.begin(), shards.end(), [&](const std::filesystem::path& shard) {
    const std::optional<ShardName> name = parse_shard_name(shard.filename().string());
    return name && names_split(name->stem, split);
  });
}

constexpr const char* kLabelsFile = "labels.txt";

// Returns 0 when no file lists them.
int listed_classes(const std::filesystem::path& folder) {
  std::ifstream labels(folder / kLabelsFile);
  int classes = 0;
  for (std::string line; std::getline(labels, line);) classes += line.empty() ? 0 : 1;
  return classes;
}

int largest_label(const RecordSet& records) {
  const SetInfo info = records.info(false);
  if (info.labels.empty()) fail(ErrorKind::config, "{}", info.damage.empty() ? "no record" : info.damage[0]);
  if (info.labels.begin()->first < 0)
    fail(ErrorKind::config, "'{}' and the shards beside it: label {}, 0 or more expected",
         info.shards.front().file, info.labels.begin()->first);
  return info.labels.rbegin()->first;
}

// The splits that the names of shards speak of.
struct RecordSplits {
  std::string train, test;  // as find_shards takes them; train empty: all shards
  bool has_test = false;
};

RecordSplits find_record_splits(const std::filesystem::path& path) {
  const std::vector<std::filesystem::path> shards = find_shards(path, "");
  if (!std::filesystem::is_directory(path) || !has_split(shards, "train")) return {};
  return {"train", "test", has_split(shards, "test")};
}

}  // namespace

std::shared_ptr<const SampleSource> record_samples(std::shared_ptr<const RecordSet> records, Damage damage,
                                                   int classes) {
  return std::make_shared<RecordSamples>(std::move(records), damage, classes);
}

Dataset load_records(const std::filesystem::path& path) {
  const RecordSplits splits = find_record_splits(path);
  const auto train = RecordSet::open(path, splits.train, Damage::refuse);
  const auto test = splits.has_test ? RecordSet::open(path, splits.test, Damage::refuse) : nullptr;
  Dataset dataset;
  dataset.kind = SampleKind::encoded;
  dataset.classes = std::filesystem::is_directory(path) ? listed_classes(path) : 0;
  if (dataset.classes == 0)
    dataset.classes = 1 + std::max(largest_label(*train), test == nullptr ? 0 : largest_label(*test));
  dataset.train.samples = record_samples(train, Damage::refuse, dataset.classes);
  if (test != nullptr) {
    dataset.test.samples = record_samples(test, Damage::refuse, dataset.classes);
    return dataset;
  }
  HeldOut parts = hold_out(dataset.train.samples);
  dataset.train.samples = std::move(parts.train);
  dataset.test.samples = std::move(parts.test);
  dataset.note = fmt::format("no record files of a test split: {} of {} images are held out for evaluation",
                             dataset.test.size(), train->size());
  return dataset;
}

DatasetFiles list_records(const std::filesystem::path& path) {
  const RecordSplits splits = find_record_splits(path);
  DatasetFiles found{.root = path, .files = find_shards(path, splits.train), .note = ""};
  if (splits.has_test)
    for (std::filesystem::path& shard : find_shards(path, splits.test))
      if (std::find(found.files.begin(), found.files.end(), shard) == found.files.end())
        found.files.push_back(std::move(shard));
  if (const std::filesystem::path labels = path / kLabelsFile; std::filesystem::is_regular_file(labels))
    found.files.push_back(labels);
  return found;
}

}  // namespace trainyard::data

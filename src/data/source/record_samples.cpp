#include "data/source/record_samples.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "base/error.h"
#include "data/source/record_shard.h"

namespace trainyard::data {

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

// Returns 0 when no file lists them.
int listed_classes(const std::filesystem::path& folder) {
  std::ifstream labels(folder / "labels.txt");
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

}  // namespace

std::shared_ptr<const SampleSource> record_samples(std::shared_ptr<const RecordSet> records, Damage damage,
                                                   int classes) {
  return std::make_shared<RecordSamples>(std::move(records), damage, classes);
}

Dataset load_records(const std::filesystem::path& path) {
  const std::vector<std::filesystem::path> shards = find_shards(path, "");
  const bool folder = std::filesystem::is_directory(path), trains = folder && has_split(shards, "train"),
             tests = trains && has_split(shards, "test");
  const auto train = RecordSet::open(path, trains ? "train" : "", Damage::refuse);
  const auto test = tests ? RecordSet::open(path, "test", Damage::refuse) : nullptr;
  Dataset dataset;
  dataset.kind = SampleKind::encoded;
  dataset.classes = folder ? listed_classes(path) : 0;
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

}  // namespace trainyard::data

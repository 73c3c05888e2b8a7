#include "data/source/record_writer.h"

#include <system_error>

#include "base/error.h"
#include "data/source/record_shard.h"

namespace trainyard::data {

namespace {

// A second set of the same name would mix with the first.
void want_no_shards(const std::filesystem::path& folder, const std::string& stem) {
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder)) {
    const std::optional<ShardName> name = parse_shard_name(entry.path().filename().string());
    if (name && name->stem == stem)
      fail(ErrorKind::config, "'{}' is already there: remove that set, or choose another name",
           entry.path().string());
  }
}

}  // namespace

RecordWriter::RecordWriter(WriterOptions options)
    : options_(std::move(options)), stem_(options_.name + "-" + options_.split) {
  for (const std::string& word : {options_.name, options_.split})
    if (word.empty() || word.front() == '.' || word.find('/') != std::string::npos)
      fail(ErrorKind::config, "'{}' cannot be part of the names of record files", word);
  constexpr int kMaxShards = 99'999;  // what five digits tell apart
  if (options_.shards < 1 || options_.shards > kMaxShards || options_.shards > options_.records)
    fail(ErrorKind::config, "{} shards of {} records given, 1 to {} with a record in each expected",
         options_.shards, options_.records, kMaxShards);
  make_folders(options_.folder);
  if (options_.resume)
    take_over_shards();
  else
    want_no_shards(options_.folder, stem_);
}

RecordWriter::~RecordWriter() {
  if (finished_) return;
  std::error_code ignored;
  for (std::size_t i = taken_over_; i < complete_.size(); ++i) std::filesystem::remove(complete_[i], ignored);
}

std::filesystem::path RecordWriter::path_of(int shard) const {
  return options_.folder / shard_file(stem_, shard, options_.shards);
}

void RecordWriter::take_over_shards() {
  std::set<std::string> there;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(options_.folder)) {
    const std::string file = entry.path().filename().string();
    const std::optional<ShardName> name = parse_shard_name(file);
    if (name && name->stem == stem_) there.insert(file);
  }
  while (complete_shards() < options_.shards && there.erase(path_of(complete_shards()).filename()) > 0) {
    const int number = complete_shards();
    const Shard shard(path_of(number));
    const std::int64_t wanted = first_of_shard(number + 1) - first_of_shard(number);
    if (!shard.damage().empty() || shard.records() != wanted)
      fail(ErrorKind::config, "'{}' has {} whole records, {} expected: it is of another set or damaged",
           shard.path().string(), shard.records(), wanted);
    complete_.push_back(shard.path());
    added_ += shard.records();
    bytes_ += shard.bytes();
  }
  if (!there.empty())
    fail(ErrorKind::config, "'{}' does not go on from the {} shards of {} before it: remove that set",
         (options_.folder / *there.begin()).string(), complete_.size(), options_.shards);
  taken_over_ = complete_.size();
}

void RecordWriter::want_first_of_shard(int shard, const ImageExample& image) const {
  const Shard there(path_of(shard));
  const std::optional<Frame> frame = there.frame(0);
  if (!frame || frame->payload != write_image_example(image))
    fail(ErrorKind::config, "'{}' begins with another image: it was packed from something else",
         there.path().string());
}

void RecordWriter::add(const ImageExample& image) {
  TRAINYARD_CHECK(added_ < options_.records);
  const std::filesystem::path path = path_of(complete_shards());
  if (!file_) file_.emplace(path);
  frame_.clear();
  append_frame(frame_, write_image_example(image));
  file_->write(frame_);
  bytes_ += static_cast<std::int64_t>(frame_.size());
  if (++added_ < first_of_shard(complete_shards() + 1)) return;
  file_->commit();
  file_.reset();
  complete_.push_back(path);
}

void RecordWriter::finish() {
  TRAINYARD_CHECK(added_ == options_.records);
  finished_ = true;
}

void RecordWriter::stop() {
  file_.reset();
  added_ = first_of_shard(complete_shards());
  bytes_ = 0;
  for (const std::filesystem::path& shard : complete_)
    bytes_ += static_cast<std::int64_t>(std::filesystem::file_size(shard));
  finished_ = true;
}

}  // namespace trainyard::data

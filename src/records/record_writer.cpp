#include "records/record_writer.h"

#include <system_error>

#include "base/error.h"
#include "records/frame.h"
#include "records/shard_name.h"

namespace trainyard::records {
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
  want_no_shards(options_.folder, stem_);
}

RecordWriter::~RecordWriter() {
  if (finished_) return;
  std::error_code ignored;
  for (const std::filesystem::path& shard : complete_) std::filesystem::remove(shard, ignored);
}

std::int64_t RecordWriter::end_of_shard() const {
  return options_.records * (static_cast<std::int64_t>(complete_.size()) + 1) / options_.shards;
}

void RecordWriter::add(const ImageExample& image) {
  TRAINYARD_CHECK(added_ < options_.records);
  const std::filesystem::path path =
      options_.folder / shard_file(stem_, static_cast<int>(complete_.size()), options_.shards);
  if (!file_) file_.emplace(path);
  frame_.clear();
  append_frame(frame_, write_image_example(image));
  file_->write(frame_);
  bytes_ += static_cast<std::int64_t>(frame_.size());
  if (++added_ < end_of_shard()) return;
  file_->commit();
  file_.reset();
  complete_.push_back(path);
}

void RecordWriter::finish() {
  TRAINYARD_CHECK(added_ == options_.records);
  finished_ = true;
}

}  // namespace trainyard::records

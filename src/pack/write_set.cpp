#include "pack/write_set.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/cores.h"
#include "base/progress.h"
#include "base/stop_request.h"
#include "records/record_writer.h"

namespace trainyard::pack {
namespace {

constexpr std::int64_t kImagesAThread = 16;  // between two writes: enough to make up for starting threads
constexpr std::int64_t kRecordsAShard = 10'000;

void make_images(std::vector<PackedImage>& images, std::int64_t first,
                 const std::function<PackedImage(std::int64_t)>& make) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    try {
      for (std::size_t i; (i = next++) < images.size();)
        images[i] = make(first + static_cast<std::int64_t>(i));
    } catch (...) {
      next = images.size();
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < process_cores().size(); ++i) threads.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
}

records::ImageExample example_of(const PackedImage& image) {
  return {image.label,
          image.height,
          image.width,
          image.format,
          {reinterpret_cast<const char*>(image.encoded.data()), image.encoded.size()}};
}

}  // namespace

PackedSet write_set(const PackOptions& options, std::int64_t count,
                    const std::function<PackedImage(std::int64_t)>& make) {
  PackedSet set{options.name, options.split, options.shards, 0, count, 0, 0};
  if (set.shards == 0) set.shards = static_cast<int>((count + kRecordsAShard - 1) / kRecordsAShard);
  records::RecordWriter writer({options.to, options.name, options.split, set.shards, count, options.resume});
  for (int shard = 0; shard < writer.complete_shards(); ++shard)
    writer.want_first_of_shard(shard, example_of(make(writer.first_of_shard(shard))));
  ProgressBar progress("packing " + options.split, count, options.quiet);
  const auto block = kImagesAThread * static_cast<std::int64_t>(process_cores().size());
  std::vector<PackedImage> images;
  for (std::int64_t first = writer.added(); first < count && !StopRequest::asked(); first += block) {
    images.resize(static_cast<std::size_t>(std::min(block, count - first)));
    make_images(images, first, make);
    for (const PackedImage& image : images) {
      writer.add(example_of(image));
      set.classes = std::max(set.classes, image.label + 1);
    }
    progress.update(first + static_cast<std::int64_t>(images.size()));
  }
  if (writer.added() == count)
    writer.finish();
  else
    writer.stop();
  set.complete_shards = writer.complete_shards();
  set.records = writer.added();
  set.bytes = writer.bytes();
  return set;
}

}  // namespace trainyard::pack

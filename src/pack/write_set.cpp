#include "pack/write_set.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/cores.h"
#include "base/progress.h"
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

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

PackedSet write_set(const PackOptions& options, std::int64_t count,
                    const std::function<PackedImage(std::int64_t)>& make) {
  PackedSet set{options.name, options.split, options.shards, 0, count, 0};
  if (set.shards == 0) set.shards = static_cast<int>((count + kRecordsAShard - 1) / kRecordsAShard);
  records::RecordWriter writer({options.to, options.name, options.split, set.shards, count});
  ProgressBar progress("packing " + options.split, count, options.quiet);
  const auto block = kImagesAThread * static_cast<std::int64_t>(process_cores().size());
  std::vector<PackedImage> images;
  for (std::int64_t first = 0; first < count; first += block) {
    images.resize(static_cast<std::size_t>(std::min(block, count - first)));
    make_images(images, first, make);
    for (const PackedImage& image : images) {
      writer.add({image.label, image.height, image.width, image.format, text_of(image.encoded)});
      set.classes = std::max(set.classes, image.label + 1);
    }
    progress.update(first + static_cast<std::int64_t>(images.size()));
  }
  writer.finish();
  set.bytes = writer.bytes();
  return set;
}

}  // namespace trainyard::pack

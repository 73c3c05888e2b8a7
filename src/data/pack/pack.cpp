#include "data/pack/pack.h"

#include <atomic>
#include <system_error>
#include <thread>

#include "base/cores.h"
#include "base/file.h"
#include "base/sample_order.h"
#include "base/threads.h"
#include "data/decode/decode.h"
#include "data/source/record_writer.h"
#include "process/stop_request.h"

namespace trainyard::data {

std::string labels_text(const std::vector<std::string>& classes) {
  std::string text;
  for (std::size_t i = 0; i < classes.size(); ++i) text += fmt::format("{}:{}\n", i, classes[i]);
  return text;
}

namespace {

constexpr std::int64_t kImagesAThread = 16;  // between two writes: enough to make up for starting threads
constexpr std::int64_t kRecordsAShard = 10'000;

void make_images(std::vector<PackedImage>& images, std::int64_t first,
                 const std::function<PackedImage(std::int64_t)>& make) {
  std::atomic<std::size_t> next = 0;
  FirstError error;
  const auto work = [&] {
    try {
      for (std::size_t i; (i = next++) < images.size();)
        images[i] = make(first + static_cast<std::int64_t>(i));
    } catch (...) {
      next = images.size();
      error.keep_current();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < process_cores().size(); ++i) threads.emplace_back(work);
    work();
  }
  error.rethrow();
}

data::ImageExample example_of(const PackedImage& image) {
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
  data::RecordWriter writer({options.to, options.name, options.split, set.shards, count, options.resume});
  for (int shard = 0; shard < writer.complete_shards(); ++shard)
    writer.want_first_of_shard(shard, example_of(make(writer.first_of_shard(shard))));
  Progress progress(options.progress, "packing " + options.split, count);
  const auto block = kImagesAThread * static_cast<std::int64_t>(process_cores().size());
  std::vector<PackedImage> images;
  for (std::int64_t first = writer.added(); first < count && !process::StopRequest::asked(); first += block) {
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

PackedSet pack_dataset(const data::Dataset& dataset, data::Split split, const PackOptions& options) {
  const data::SplitData& source = dataset.split(split);
  const std::shared_ptr<const SampleSource> images = source.source();
  const Shape& shape = dataset.image_shape;
  const auto channels = static_cast<std::size_t>(shape[0]),
             plane = static_cast<std::size_t>(shape[1] * shape[2]);
  const int height = static_cast<int>(shape[1]), width = static_cast<int>(shape[2]);
  PackedSet set = write_set(options, dataset.size(split), [&](std::int64_t i) {
    SampleSource::Scratch scratch;
    data::Image image(width, height, shape[0]);
    const Sample sample = images->read(i, scratch);
    const auto* planes = reinterpret_cast<const std::uint8_t*>(sample.bytes.data());
    for (std::size_t pixel = 0; pixel < plane; ++pixel)
      for (std::size_t channel = 0; channel < channels; ++channel)
        image.data()[pixel * channels + channel] = planes[channel * plane + pixel];
    return PackedImage{sample.label, height, width, "png", data::encode_png(image)};
  });
  set.classes = dataset.classes;
  return set;
}

namespace {

bool is_image(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  const MappedFile file(path);  // what its header does not need is not read
  return read_image_header(std::as_bytes(std::span(file.data(), static_cast<std::size_t>(file.bytes()))))
      .has_value();
}

// Splits of one set share the file.
void want_same_labels(const std::filesystem::path& path, const std::string& labels) {
  if (!std::filesystem::exists(path)) return;
  const std::vector<std::byte> there = read_file(path);
  if (std::string_view(reinterpret_cast<const char*>(there.data()), there.size()) != labels)
    fail(ErrorKind::config, "'{}' names other classes: splits of one set must have the same", path.string());
}

}  // namespace

PackedFolder pack_folder(const std::filesystem::path& folder, std::uint64_t seed,
                         const PackOptions& options) {
  ClassFolders found = list_class_folders(folder);
  PackedFolder result;
  // The number of records decides which shard they go to, so files that are not records are found first.
  std::erase_if(found.files, [&](const ClassFile& file) {
    if (is_image(file.path)) return false;
    result.left_out.push_back(file.path);
    return true;
  });
  if (found.files.empty())
    fail(ErrorKind::config, "'{}': {} files in {} classes, none of them a JPEG or a PNG", folder.string(),
         result.left_out.size(), found.classes.size());
  want_same_labels(options.to / "labels.txt", labels_text(found.classes));
  const SampleOrder order(seed, static_cast<std::int64_t>(found.files.size()));
  result.set = write_set(options, order.size(), [&](std::int64_t i) {
    const ClassFile& file = found.files[static_cast<std::size_t>(order.index(i))];
    std::vector<std::byte> content = read_file(file.path);
    const std::optional<ImageHeader> header = read_image_header(content);
    if (!header) fail(ErrorKind::config, "'{}' has changed while it was packed", file.path.string());
    return PackedImage{file.label, header->height, header->width, header->format, std::move(content)};
  });
  result.set.classes = static_cast<int>(found.classes.size());
  if (result.set.complete_shards == 0) return result;  // stopped before there was anything to label
  AtomicFile labels(options.to / "labels.txt");
  labels.write(labels_text(found.classes));
  labels.commit();
  return result;
}

PackedSet pack_photos(const PhotoOptions& photos, const PackOptions& options) {
  constexpr int kQuality = 90;
  if (photos.images < 1) fail(ErrorKind::config, "{} images given, at least 1 expected", photos.images);
  const PhotoPainter painter(photos, options.split);
  PackedSet set = write_set(options, photos.images, [&](std::int64_t i) {
    const Photo photo = painter.paint(i);
    data::Image image(photo.width, photo.height, 3);
    std::copy(photo.pixels.begin(), photo.pixels.end(), image.data());
    return PackedImage{photo.label, photo.height, photo.width, "jpeg", data::encode_jpeg(image, kQuality)};
  });
  set.classes = photos.classes;
  return set;
}

}  // namespace trainyard::data

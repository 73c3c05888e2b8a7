#include "image/png.h"
#include "pack/pack.h"

namespace trainyard::pack {

PackedSet pack_dataset(const data::Dataset& dataset, data::Split split, const PackOptions& options) {
  const data::SplitData& source = dataset.split(split);
  const std::shared_ptr<const data::ImageSource> images = source.source();
  const Shape& shape = dataset.image_shape;
  const auto channels = static_cast<std::size_t>(shape[0]),
             plane = static_cast<std::size_t>(shape[1] * shape[2]);
  const int height = static_cast<int>(shape[1]), width = static_cast<int>(shape[2]);
  PackedSet set = write_set(options, dataset.size(split), [&](std::int64_t i) {
    std::vector<std::uint8_t> scratch(channels * plane);
    image::Image image(width, height, shape[0]);
    const std::uint8_t* planes = images->image(i, scratch.data());
    for (std::size_t pixel = 0; pixel < plane; ++pixel)
      for (std::size_t channel = 0; channel < channels; ++channel)
        image.data()[pixel * channels + channel] = planes[channel * plane + pixel];
    return PackedImage{source.labels.as<std::int32_t>()[static_cast<std::size_t>(i)], height, width, "png",
                       image::encode_png(image)};
  });
  set.classes = dataset.classes;
  return set;
}

}  // namespace trainyard::pack

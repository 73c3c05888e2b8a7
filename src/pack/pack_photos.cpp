#include <algorithm>

#include "base/error.h"
#include "image/jpeg.h"
#include "pack/pack.h"

namespace trainyard::pack {

PackedSet pack_photos(const PhotoOptions& photos, const PackOptions& options) {
  constexpr int kQuality = 90;
  if (photos.images < 1) fail(ErrorKind::config, "{} images given, at least 1 expected", photos.images);
  const PhotoPainter painter(photos, options.split);
  PackedSet set = write_set(options, photos.images, [&](std::int64_t i) {
    const Photo photo = painter.paint(i);
    image::Image image(photo.width, photo.height, 3);
    std::copy(photo.pixels.begin(), photo.pixels.end(), image.data());
    return PackedImage{photo.label, photo.height, photo.width, "jpeg", image::encode_jpeg(image, kQuality)};
  });
  set.classes = photos.classes;
  return set;
}

}  // namespace trainyard::pack

// Our side of bench/preprocess: makes the images that all sides decode, and times Inception preprocessing.
//   preprocess_bench make FOLDER COUNT
//   preprocess_bench run FOLDER SECONDS [fast]
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/philox.h"
#include "data/decode/decode.h"
#include "data/recipe/preprocess.h"

namespace trainyard {
namespace {

constexpr std::int64_t kWidth = 500, kHeight = 375;
constexpr int kQuality = 90;

// Random values on a grid, bilinear between them: one octave of what makes noise look like a landscape.
class Octave {
 public:
  Octave(std::uint64_t seed, std::uint64_t stream, double cells)
      : cells_(cells), columns_(static_cast<std::int64_t>(cells) + 2), random_(seed, stream) {}

  double at(std::int64_t x, std::int64_t y) const {
    const double u = static_cast<double>(x) / kWidth * cells_, v = static_cast<double>(y) / kWidth * cells_;
    const auto column = static_cast<std::int64_t>(u), row = static_cast<std::int64_t>(v);
    const double across = u - static_cast<double>(column), down = v - static_cast<double>(row);
    const auto corner = [&](std::int64_t right, std::int64_t below) {
      return static_cast<double>(
          to_unit_float(random_.word(static_cast<std::uint64_t>((row + below) * columns_ + column + right))));
    };
    return (corner(0, 0) * (1 - across) + corner(1, 0) * across) * (1 - down) +
           (corner(0, 1) * (1 - across) + corner(1, 1) * across) * down - 0.5;
  }

 private:
  double cells_;
  std::int64_t columns_;
  Philox random_;
};

// Light at scales from the image down to two pixels, each weaker than the one above it; colour at large
// scales only; edges; a grain. About as many bytes as a photograph has.
data::Image photo_like(std::uint64_t seed) {
  std::vector<Octave> light, red, blue;
  for (int octave = 0; octave < 8; ++octave) {
    const double cells = 2.0 * std::pow(2.0, octave);
    const auto stream = static_cast<std::uint64_t>(octave);
    light.emplace_back(seed, stream, cells);
    if (octave < 4) {
      red.emplace_back(seed, stream + 16, cells);
      blue.emplace_back(seed, stream + 32, cells);
    }
  }
  const auto sum = [](const std::vector<Octave>& octaves, double strongest, std::int64_t x, std::int64_t y) {
    double total = 0;
    for (const Octave& octave : octaves) {
      total += strongest * octave.at(x, y);
      strongest *= 0.72;
    }
    return total;
  };
  const Philox grain(seed, 99);
  data::Image picture(kWidth, kHeight, 3);
  for (std::int64_t y = 0; y < kHeight; ++y)
    for (std::int64_t x = 0; x < kWidth; ++x) {
      const std::uint32_t word = grain.word(static_cast<std::uint64_t>(y * kWidth + x));
      const double edge = sum({light[1]}, 1, x, y) > 0 ? 25 : -25;
      const double value =
          120 + edge + sum(light, 120, x, y) + 20 * (static_cast<double>(to_unit_float(word)) - 0.5);
      const double warm = sum(red, 70, x, y), cold = sum(blue, 70, x, y);
      const double channels[] = {value + warm, value - 0.5 * (warm + cold), value + cold};
      for (int c = 0; c < 3; ++c)
        picture.row(y)[3 * x + c] = static_cast<std::uint8_t>(std::clamp(channels[c], 0.0, 255.0));
    }
  return picture;
}

void make_images(const std::filesystem::path& folder, std::uint64_t count) {
  make_folders(folder);
  std::size_t bytes = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::vector<std::byte> encoded = data::encode_jpeg(photo_like(i), kQuality);
    AtomicFile file(folder / fmt::format("{:04}.jpg", i));
    file.write(encoded.data(), encoded.size());
    file.commit();
    bytes += encoded.size();
  }
  fmt::print("{{\"images\": {}, \"mean_bytes\": {}}}\n", count, bytes / count);
}

void run_images(const std::filesystem::path& folder, double seconds, bool fast) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::vector<std::byte>> images;
  for (const auto& path : paths) images.push_back(read_file(path));
  if (images.empty()) fail(ErrorKind::config, "'{}' holds no images", folder.string());
  const auto how = data::make_preprocessor({"inception", {3, 224, 224}, fast});
  std::vector<std::uint8_t> out(static_cast<std::size_t>(how->sample_bytes()));
  std::uint64_t seed = 0;
  const auto once_over = [&] {
    for (const auto& encoded : images) how->train(encoded, seed++, out.data());
  };
  once_over();
  seed = 0;
  const double began = now_seconds();
  do once_over();
  while (now_seconds() - began < seconds);
  fmt::print("{{\"images_per_second\": {:.1f}}}\n", static_cast<double>(seed) / (now_seconds() - began));
}

int run_command(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "make" && arguments.size() == 3)
    make_images(arguments[1], std::strtoull(arguments[2].c_str(), nullptr, 10));
  else if (command == "run" && (arguments.size() == 3 || (arguments.size() == 4 && arguments[3] == "fast")))
    run_images(arguments[1], std::strtod(arguments[2].c_str(), nullptr), arguments.size() == 4);
  else
    fail(ErrorKind::usage, "preprocess_bench make FOLDER COUNT | run FOLDER SECONDS [fast]");
  return 0;
}

}  // namespace
}  // namespace trainyard

int main(int count, char** arguments) {
  try {
    return trainyard::run_command({arguments + 1, arguments + count});
  } catch (const trainyard::Error& error) {
    fmt::print(stderr, "preprocess_bench: {}\n", error.what());
    return 1;
  }
}

#pragma once

#include "tensor/tensor.h"

namespace trainyard::data {

// SampleKind is the form of a sample's bytes.
enum class SampleKind : std::uint8_t {
  pixels,   // an image of the data set's size, u8 (C, H, W)
  encoded,  // a JPEG or a PNG of any size
  tokens,   // a sequence, i32 (length + 1)
  boxes,  // i32 (most, 5), then an image as `pixels`: of each box class, left, top, right, bottom; no box: -1
};

const char* name(SampleKind kind);  // "decoded images", "encoded images", "tokens", "images with boxes"

struct Sample {
  std::span<const std::byte> bytes;
  // The class; of tokens, how many of the sequence's steps count; of boxes, how many there are. Below 0: the
  // sample is damaged, it has no bytes, and the source was told to pass over damage.
  std::int32_t label = 0;
};

// Measures the cost of reading since the source was opened: zero where this program does not read itself.
struct ReadCost {
  std::int64_t bytes = 0;
  double seconds = 0;  // summed over the threads that read
};

// The samples of one split, wherever they lie. Any sample can be read at any time, so the order of a run is a
// matter of the view alone, and a resumed run needs no more than its step. Thread-safe.
class SampleSource {
 public:
  using Scratch = std::vector<std::uint8_t>;

  virtual ~SampleSource() = default;
  virtual std::int64_t size() const = 0;

  // The bytes stay where they lie, or are read into `scratch`, which belongs to the caller and grows as
  // needed. They are valid until the next call with this scratch. Error (io or config) names the file when
  // they cannot be read. REQUIRES: 0 <= index < size().
  virtual Sample read(std::int64_t index, Scratch& scratch) const = 0;

  // Names a sample in messages.
  virtual std::string where(std::int64_t index) const;
  virtual ReadCost cost() const { return {}; }
};

// Returns images (N, C, H, W) with their labels (N), both of which must outlive it.
std::unique_ptr<const SampleSource> images_in_memory(const HostTensor& images, const HostTensor& labels);

struct HeldOut {
  std::shared_ptr<const SampleSource> train, test;  // the second is empty where there is one sample only
};

// Takes a tenth of the samples for evaluation. The choice is random and depends on the number of samples
// alone, so that runs of any seed are evaluated on the same ones.
HeldOut hold_out(std::shared_ptr<const SampleSource> all);

}  // namespace trainyard::data

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/sample_order.h"
#include "tensor/dtype.h"
#include "tensor/image_recipe.h"

namespace trainyard::backend {

// All that a device needs to make the batches of a training run by itself, of a data set in its memory: the
// same samples in the same order, places and contrasts as data::BatchStream makes on the host.
struct InputBatch {
  SampleOrder order;  // over all images
  ImageRecipe recipe;
  std::int64_t channels = 1;
  PlaneSize image, output;
  std::int64_t batch = 1;
  std::int64_t worker = 0, workers = 1;

  std::int64_t image_bytes() const { return channels * image.height * image.width; }
  std::int64_t output_floats() const { return channels * output.height * output.width; }
};

// An InputRing is a ring of batches in a device's memory, sent by the host: that of step i lies at place i %
// places, its labels behind its images.
struct InputRing {
  int places = 1;
  std::size_t image_bytes = 0, label_bytes = 0;  // of a batch
  std::int64_t begins = 1;                       // of so many steps the device notes when they began

  int place_of(std::int64_t step) const { return static_cast<int>(step % places); }
  std::size_t labels_at() const { return align_up(image_bytes); }
  std::size_t place_bytes() const { return labels_at() + align_up(label_bytes); }
  std::size_t bytes() const { return static_cast<std::size_t>(places) * place_bytes(); }
};

// Names the sample in the device's memory from which an image of a batch is made.
struct GatheredSample {
  std::int32_t index = 0;  // counted in samples
  std::int32_t mirrored = 0;
};

// All that a device needs to make batches of preprocessed samples that lie in its memory, as bytes
// (height, width, channels) one behind the other. Which ones it takes for a step lies in a ring, sent by the
// host: where a ring of batches has images, this has a GatheredSample for each.
struct SampleGather {
  std::int64_t batch = 1, channels = 3;
  PlaneSize output;
  PixelMap map;

  std::int64_t sample_bytes() const { return channels * output.height * output.width; }
};

// Copies from the host to a device while its kernels run: a queue beside theirs. Each copy goes to one of a
// few places, which copies and kernels have in turn. Nothing waits in the caller but settle(), await_use()
// and the end.
// Used by one thread.
class CopyQueue {
 public:
  virtual ~CopyQueue() = default;  // waits for the copies

  // Returns the host memory that the queue copies from: zeroed, as much as was asked for.
  virtual std::byte* host() const = 0;
  // Starts a copy to a place, behind all that the device had been given to do before give_back(place).
  virtual void send(int place, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  // take(): work that the device is given from now on runs after the last send(place). give_back(): the place
  // is free again when all work that the device was given so far is done.
  virtual void take(int place) = 0;
  virtual void give_back(int place) = 0;
  // Waits for the last send(place); what it copied from may be changed then.
  virtual void settle(int place) = 0;
  // Returns whether the device has done all work that it was given before give_back(place). await_use() waits
  // until it has.
  virtual bool is_used(int place) = 0;
  virtual void await_use(int place) = 0;

  // The time at which a copy ran, for a trace. From watch(true) on the queue notes every copy; copies() waits
  // for the noted copies, returns them and forgets them. Times are by now_seconds(), as far as
  // Device::match_clocks() made the clocks agree.
  struct Copy {
    double began, ended;
    std::size_t bytes;
  };
  virtual void watch(bool /*on*/) {}
  virtual std::vector<Copy> copies() { return {}; }
};

}  // namespace trainyard::backend

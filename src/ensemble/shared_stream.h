#pragma once

#include <atomic>

#include "backend/device.h"
#include "ensemble/bounded_queue.h"
#include "ensemble/sample_block.h"

namespace trainyard::ensemble {

// Says what to do when a member of an ensemble does not take its samples for so long.
enum class Lost : std::uint8_t { wait, drop, abort };
struct Patience {
  double seconds = 60;
  Lost then = Lost::abort;
};

struct SharedControl;

// Blocks of samples from one process to several of its machine, through memory that all of them map: written
// once, read in place. Their pixels are copied once to each GPU of these, too, where readers open them. The
// memory is gone when the last process is, however it ended.
class SharedStream {
 public:
  // Error (io, device) when there is not the memory.
  SharedStream(const SampleBlock::Sizes& sizes, int slots, int readers,
               const std::vector<std::shared_ptr<backend::Device>>& gpus = {});
  ~SharedStream();  // ends it
  SharedStream(const SharedStream&) = delete;
  SharedStream& operator=(const SharedStream&) = delete;

  // Returns the address that readers open.
  const std::string& address() const { return address_; }

  // Returns the next block, empty, to be filled in place. Waits until every reader gave back what lay there;
  // it also waits for readers that have not come yet. Error (peer) names the reader that kept it waiting, as
  // `patience` says; otherwise `remark` is told, once for each.
  SampleBlock next(const Patience& patience, const std::function<void(const std::string&)>& remark);
  // Makes the block available to the readers.
  void publish();
  // Nothing comes behind what was published.
  void end();

  // False: it left, or was dropped.
  bool is_reading(int reader) const;
  int readers_left() const;

 private:
  std::optional<int> slowest() const;  // who keeps the next block from being filled

  struct GpuCopy {
    std::shared_ptr<backend::Device> gpu;
    backend::DeviceMemory samples;
  };

  std::shared_ptr<SharedControl> control_;
  std::vector<GpuCopy> gpu_copies_;
  std::string address_;
  std::vector<bool> remarked_;
};

class SharedReader {
 public:
  // Error (peer) when there is no such stream, or it has no reader of that number.
  SharedReader(const std::string& address, int reader);
  ~SharedReader();  // leaves
  SharedReader(const SharedReader&) = delete;
  SharedReader& operator=(const SharedReader&) = delete;

  // Returns the next block, which stays as it is until release(). None: the stream ended. Error (peer) when
  // the writer is gone, or after so many seconds without a block, or when this reader was dropped.
  std::optional<SampleBlock> next(double patience_seconds);
  void release();  // the first of those that it has; by any thread

  // Returns the name that Device::open() takes for the samples in the memory of the GPU at that address; "":
  // the samples are not there.
  std::string gpu_copy(const std::string& pci_address) const;
  // Returns the index, in samples, at which the block last returned by next() begins in that memory.
  std::int64_t gpu_index() const;
  void leave();  // no block is taken any more

  QueueFill fill() const;  // by any thread

 private:
  std::shared_ptr<SharedControl> control_;
  int reader_;
  std::uint64_t given_ = 0;  // blocks that next() gave
  std::atomic<double> wait_seconds_ = 0;
};

}  // namespace trainyard::ensemble

#pragma once

#include <memory>
#include <string>

#include "train/ensemble/bounded_queue.h"
#include "train/ensemble/shared_stream.h"
#include "train/ensemble/sharing.h"

namespace trainyard::train::ensemble {

// The samples of one member, block by block, however they come. Used by one thread.
class MemberStream {
 public:
  virtual ~MemberStream() = default;

  // Valid until release(). Null: that was all. Error (peer) when those who make or pass them are lost.
  virtual const SampleBlock* next() = 0;
  virtual void release() = 0;  // before the next next()

  // Wants no more, and keeps nobody waiting; what others need is still passed on. By the thread of next().
  virtual void leave() = 0;

  // Of what lies ready, in blocks. By any thread.
  virtual QueueFill fill() const = 0;
  double wait_seconds() const { return fill().pop_wait_seconds; }  // in next(), so far
};

// Takes part in a design from a thread of its own, which goes on while the member computes, until `ahead`
// lies full. When the stream goes, it waits for the members that want more. `sharing.deliver` is its own.
std::unique_ptr<MemberStream> take_part(Design design, Sharing sharing, comm::collective::Job& job,
                                        const BoundedQueue<OwnedBlock>::Limits& ahead);

// Reads what another process of this machine writes (shared_stream.h).
std::unique_ptr<MemberStream> read_in_place(std::shared_ptr<SharedReader> reader, double patience_seconds);

}  // namespace trainyard::train::ensemble

#include "comm/transport/frame_queue.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace trainyard::comm::transport {

void FrameQueue::add(Frame frame, std::span<const std::byte> payload, std::function<void()> sent) {
  frame.payload_bytes = static_cast<std::uint32_t>(payload.size());
  frames_.push_back({encode(frame), payload, std::move(sent)});
}

FrameQueue::Sent FrameQueue::advance(std::size_t bytes) {
  Sent sent;
  while (bytes > 0) {
    TRAINYARD_CHECK(!frames_.empty());
    Outgoing& first = frames_.front();
    const std::size_t of_first = std::min(bytes, first.bytes() - first.done);
    first.done += of_first;
    bytes -= of_first;
    if (first.done < first.bytes()) break;
    ++sent.frames;
    if (first.sent) sent.reports.push_back(std::move(first.sent));
    frames_.pop_front();
  }
  return sent;
}

}  // namespace trainyard::comm::transport

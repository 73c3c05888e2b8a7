#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/sample_gather.h"
#include "data/batch_maker.h"
#include "train/host_feed.h"
#include "train/session.h"

namespace trainyard::train {

// Who makes the batches of a device that is not the host. automatic: the device, where the images are in
// memory and fit into its own.
enum class Feed { automatic, device, host };

const char* name(Feed feed);  // "auto", "device", "host"
std::vector<std::string> feed_names();
std::optional<Feed> find_feed(const std::string& name);

// Batches on their way to a device while it uses one: places of the ring.
inline constexpr int kFeedPlaces = 4;

// The options with which the host makes a device's batches: ahead, by threads of the session's.
data::BatchStreamOptions host_options(const Session& session, data::BatchStreamOptions options);

// Lets the device take at the beginning of each step what the host makes. Error (device) when memory is
// short. REQUIRES: the device is not the host, no step was run yet.
std::unique_ptr<HostFeed> feed_from_host(Session& session, std::shared_ptr<const data::BatchMaker> maker);

// The same of samples in the device's memory, which the maker keeps there: it chooses a
// backend::GatheredSample for each image.
std::unique_ptr<HostFeed> feed_by_gather(Session& session, std::shared_ptr<const data::BatchMaker> maker,
                                         const backend::SampleGather& gather, std::byte* samples);

// The same of images: those that a BatchStream of these options makes. Null: the device makes them by itself.
// Error (usage) when it is asked to and cannot, Error (device) when memory is short. REQUIRES: the device is
// not the host, no step was run yet.
std::unique_ptr<HostFeed> feed_device(Session& session, const data::Dataset& dataset,
                                      const data::BatchStreamOptions& options, Feed feed);

}  // namespace trainyard::train

#include "train/exchange.h"

namespace trainyard::train {

namespace {

using comm::collective::Collective;

// Number of gradients that are sent at once while others are still computed: large enough that the cost of a
// message is dominated by its size.
constexpr std::size_t kBucketElements = std::size_t{1} << 18;

class AllReduce final : public Exchange {
 public:
  AllReduce(const std::vector<Session*>& sessions, const std::vector<Collective*>& ranks) {
    for (std::size_t i = 0; i < sessions.size(); ++i) members_.push_back({sessions[i], ranks[i], {}, 0});
  }

  void fetch(int) override {}

  // Layers end from the last to the first, so a bucket grows downwards as a rule.
  void ready(int device, std::size_t first, std::size_t elements) override {
    Member& member = members_[static_cast<std::size_t>(device)];
    Bucket& bucket = member.bucket;
    if (first + elements == bucket.first) {
      bucket = {first, bucket.elements + elements};
    } else if (bucket.first + bucket.elements == first) {
      bucket.elements += elements;
    } else {
      send(member);
      bucket = {first, elements};
    }
    if (bucket.elements >= kBucketElements) send(member);
  }

  void update(int device, const backend::StepContext& context) override {
    Member& member = members_[static_cast<std::size_t>(device)];
    if (member.sent + member.bucket.elements == 0) {
      member.session->executor().device().wait();
      member.rank->all_reduce_mean(gradients(member));
    } else {
      send(member);
      TRAINYARD_CHECK(member.sent == gradients(member).size());
      member.rank->finish();
      member.sent = 0;
    }
    member.session->executor().run_update(context);
  }

  Session& keeper() override { return *members_.front().session; }

 private:
  struct Bucket {
    std::size_t first = 0, elements = 0;
  };
  struct Member {
    Session* session;
    Collective* rank;
    Bucket bucket;     // final, and not sent yet
    std::size_t sent;  // elements, in this step
  };

  static std::span<float> gradients(const Member& member) {
    return member.session->numbers(plan::Region::gradients);
  }

  static void send(Member& member) {
    if (member.bucket.elements > 0) {
      member.session->executor().device().wait();
      member.rank->start(gradients(member).subspan(member.bucket.first, member.bucket.elements));
    }
    member.sent += member.bucket.elements;
    member.bucket = {};
  }

  std::vector<Member> members_;  // by device of this process
};

}  // namespace

std::unique_ptr<Exchange> make_allreduce(const std::vector<Session*>& sessions,
                                         const std::vector<Collective*>& ranks) {
  TRAINYARD_CHECK(sessions.size() == ranks.size());
  return std::make_unique<AllReduce>(sessions, ranks);
}

namespace {

using comm::collective::copy_floats;
using plan::Region;

class TowersOnDevice final : public Exchange {
 public:
  explicit TowersOnDevice(const Devices& devices) : devices_(devices) {}

  void fetch(int device) override { devices_.group.broadcast(device, 0, floats(device, Region::parameters)); }

  void update(int device, const backend::StepContext& context) override {
    devices_.group.reduce_mean(device, 0, floats(device, Region::gradients));
    if (device == 0) keeper().executor().run_update(context);
  }

  Session& keeper() override { return *devices_.sessions.front(); }

 private:
  std::span<float> floats(int device, Region region) const {
    return devices_.sessions[static_cast<std::size_t>(device)]->executor().floats(region);
  }

  Devices devices_;
};

SessionOptions with_optimizer(SessionOptions options) {
  options.optimizer_state = true;
  return options;
}

// The host is one more session, whose gradients nobody computes: its activations never become memory.
class TowersOnHost final : public Exchange {
 public:
  explicit TowersOnHost(const Devices& devices)
      : devices_(devices), host_(with_optimizer(devices.sessions.front()->options())) {
    const std::size_t count = devices.sessions.size(), length = gradients().size();
    for (std::size_t part = 0; part < count; ++part) {
      const std::size_t begin = length * part / count, end = length * (part + 1) / count;
      parts_.push_back({gradients().subspan(begin, end - begin), {}});
      for (Session* session : devices.sessions)
        parts_.back().sent.push_back(
            session->executor().floats(Region::gradients).subspan(begin, end - begin));
    }
  }

  // The update before was done when device 0's thread ended its step.
  void fetch(int device) override {
    copy_floats(host_.executor().floats(Region::parameters), floats(device, Region::parameters));
  }

  void update(int device, const backend::StepContext& context) override {
    const Part& part = parts_[static_cast<std::size_t>(device)];
    devices_.group.barrier();
    comm::collective::mean_in_order(part.sent, part.mean);
    devices_.group.barrier();
    if (device != 0) return;
    host_.executor().run_update(context);
    // Running statistics are no parameters: they stay on the devices, and device 0's are the ones that count.
    copy_floats(floats(0, Region::statistics), host_.executor().floats(Region::statistics));
  }

  Session& keeper() override { return host_; }

 private:
  // A slice of the gradients, which one device's cores average for the host: they are the host's cores, too.
  struct Part {
    std::span<float> mean;               // in the host's memory
    std::vector<std::span<float>> sent;  // on each device
  };

  std::span<float> gradients() { return host_.executor().floats(Region::gradients); }
  std::span<float> floats(int device, Region region) const {
    return devices_.sessions[static_cast<std::size_t>(device)]->executor().floats(region);
  }

  Devices devices_;
  Session host_;
  std::vector<Part> parts_;  // one a device
};

}  // namespace

std::unique_ptr<Exchange> make_towers_on_device(const Devices& devices) {
  return std::make_unique<TowersOnDevice>(devices);
}

std::unique_ptr<Exchange> make_towers_on_host(const Devices& devices) {
  return std::make_unique<TowersOnHost>(devices);
}

}  // namespace trainyard::train

#include "ensemble/stream_use.h"

#include "base/json.h"

namespace trainyard::ensemble {

StreamUse use_since(const meter::CpuSnapshot& before) {
  return {meter::read_cpu().since(before), meter::read_thread_times()};
}

void add_use(record::RunRecord& run, const StreamUse& use, FillLog& log) {
  run.figures["process_user_seconds"] = use.cpu.user_seconds;
  run.figures["process_system_seconds"] = use.cpu.system_seconds;
  Json threads = Json::array(), names = Json::array(), samples = Json::array();
  for (const meter::ThreadTimes& times : use.threads)
    threads.push_back({{"name", times.name},
                       {"threads", times.threads},
                       {"user_seconds", times.user_seconds},
                       {"system_seconds", times.system_seconds}});
  run.details["threads"] = json_text(threads);
  for (const FillLog::Queue& queue : log.queues()) names.push_back(queue.name);
  for (const FillLog::Sample& sample : log.finish()) {
    Json row{sample.seconds, sample.cpu_seconds};
    for (const QueueFill& fill : sample.fills)
      row.push_back(
          fill.most_items > 0 ? static_cast<double>(fill.items) / static_cast<double>(fill.most_items) : 0);
    samples.push_back(row);
  }
  run.details["queues"] = json_text(Json{{"names", names}, {"samples", samples}});
}

}  // namespace trainyard::ensemble

#pragma once

#include <vector>

#include "meter/cpu.h"
#include "meter/thread_times.h"
#include "record/run_record.h"
#include "train/ensemble/fill_log.h"

namespace trainyard::cli {

// What a process used while it took part in the stream.
struct StreamUse {
  meter::CpuUse cpu;
  std::vector<meter::ThreadTimes> threads;  // since they began
};

StreamUse use_since(const meter::CpuSnapshot& before);

// And how full its queues were meanwhile; ends the log.
void add_use(record::RunRecord& run, const StreamUse& use, train::ensemble::FillLog& log);

}  // namespace trainyard::cli

#include "report/sections.h"

namespace trainyard::report {

std::string method_section() {
  return R"(<section id="method">
<details><summary><h2>How the numbers are made</h2></summary>
<ul>
<li>A <b>run</b> is one process. Its throughput is the images of a step, counted from the data consumed by all devices,
over the mean time of its steady steps, stalls included.</li>
<li><b>Warm-up</b> steps that the study asked for are in no statistic. Of the timed steps, the prefix before the steady
state is left out too; how many is in the table, and they are shaded in the step times.</li>
<li><b>Outliers</b> are marked, and stay in every statistic.</li>
<li>The <b>95 % interval</b> of a cell is that of the median <i>between its runs</i>: steps of one run resemble each other, so
the spread of steps says little about the next run. It rests on the order of the runs, so that a run which was held up does not move it far.
Where nodes differ by more than their runs explain, the node is the unit. A cell of one run has no interval.</li>
<li><b>Run-to-run CV</b> is the standard deviation between runs over their mean. <b>Jitter</b> is 1.4826 times the median
absolute deviation of the speeds of a run's steps, over its speed.</li>
<li>Where a replicate was tried several times, the attempt that went well counts, or else the last one.</li>
<li><b>Efficiency</b> in scaling charts is against the fewest threads or devices of the same line.</li>
</ul>
</details>
</section>
)";
}

}  // namespace trainyard::report

# Headers that most of our files parse, parsed once a target. Only a matter of build time: every file still includes
# what it uses, which scripts/headers checks for headers, and -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON for sources.
set(TRAINYARD_PRECOMPILED
    <algorithm>
    <any>
    <array>
    <cmath>
    <cstdint>
    <cstring>
    <filesystem>
    <functional>
    <map>
    <memory>
    <string>
    <vector>
    <fmt/core.h>)

# The standard headers that most of our files read, parsed once a target. Only a matter of build time: every file still includes
# what it uses, which scripts/headers checks for headers, and -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON for sources.
set(TRAINYARD_PRECOMPILED <base/standard.h>)

// Emulated: see wgmma.cuh.
#pragma once

#include <ptx/wgmma.cuh>

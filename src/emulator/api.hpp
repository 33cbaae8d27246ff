#pragma once

// What other libraries may call. Everything else is hidden: the ladder is compiled twice, for the GPU and for the
// emulator, and the two must not meet.
#define HG_EMULATOR_API __attribute__((visibility("default")))

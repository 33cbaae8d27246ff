#pragma once

// Marks what other libraries may call. Everything else is hidden, because the ladder is compiled twice, for the GPU and
// for the emulator, and the two must not be mixed up.
#define HG_EMULATOR_API __attribute__((visibility("default")))

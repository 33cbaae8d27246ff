#pragma once

/* What a shared library shows of itself. Who compiles the sources into a program of their own may define it
 * away. */
#ifndef HG_API
#define HG_API __attribute__((visibility("default")))
#endif

#pragma once

/* Marks what a shared library exports. A program that compiles the sources into itself may define it as nothing. */
#ifndef HG_API
#define HG_API __attribute__((visibility("default")))
#endif

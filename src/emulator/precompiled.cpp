// A source file for the precompiled header that the emulated kernels share (CMakeLists.txt).

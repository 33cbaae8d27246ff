# Writes HEADER with `#define HG_GIT_COMMIT "<short hash>[-dirty]"`, or "unknown" outside a git checkout.
set(commit unknown)
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=10 --match=
                OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE result)
if(result EQUAL 0)
  set(commit ${described})
endif()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#pragma once\n\n#define HG_GIT_COMMIT \"${commit}\"\n")

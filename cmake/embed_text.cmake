# Writes HEADER with `constexpr std::string_view NAME`, which holds the text of the file TEXT.
file(READ ${TEXT} text)
file(WRITE ${HEADER} "#pragma once

#include <string_view>

inline constexpr std::string_view ${NAME} = R\"embedded(${text})embedded\";
")

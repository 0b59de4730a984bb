# partita::partita, the C library, beside this file: find_package(partita) and target_link_libraries(... partita::partita)
get_filename_component(_partita_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
find_path(_partita_include partita.h PATHS "${_partita_lib}/../include" "${_partita_lib}/../../include" NO_DEFAULT_PATH
          NO_CACHE REQUIRED)
if(NOT TARGET partita::partita)
  add_library(partita::partita SHARED IMPORTED)
  set_target_properties(partita::partita PROPERTIES
    IMPORTED_LOCATION "${_partita_lib}/libpartita.so.0"
    IMPORTED_SONAME libpartita.so.0
    INTERFACE_INCLUDE_DIRECTORIES "${_partita_include}")
endif()

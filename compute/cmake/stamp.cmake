# cmake -DROOT=compute -DVERSION=0.1.0 -DOUT=stamp.h -P stamp.cmake: the version with a hash of the headers that program,
# library and modules share. Written only when it changes.
file(GLOB_RECURSE headers RELATIVE ${ROOT} ${ROOT}/*.h)
list(FILTER headers EXCLUDE REGEX "^(network|text/spm)/") # the modules' own
list(SORT headers)
foreach(header ${headers})
  file(SHA256 ${ROOT}/${header} hash)
  string(APPEND all "${header} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 12 hash)
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define COUNTERPOINT_STAMP \"${VERSION}+${hash}\"\n")

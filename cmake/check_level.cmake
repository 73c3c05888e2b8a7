# cmake -D OBJECT=... -D OBJDUMP=... -P check_level.cmake: fails where the object of a level has code that runs before main(), which
# would run that level's instructions on every machine.
execute_process(COMMAND ${OBJDUMP} --section-headers ${OBJECT} OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)
if(sections MATCHES "[.](init_array|ctors)")
  file(REMOVE ${OBJECT})
  message(FATAL_ERROR "${OBJECT}: a static object of src/backend/onednn has a constructor; make it constinit or a function's")
endif()

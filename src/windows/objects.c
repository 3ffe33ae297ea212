/* Objects that are loaded while the program runs: DLLs. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include <windows.h>

static char error[200];

static void note_error(void)
{
    if (!FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
                        GetLastError(), 0, error, sizeof error, NULL))
        snprintf(error, sizeof error, "error %lu of Windows", GetLastError());
}

void *dlopen(const char *path, int flags)
{
    HMODULE object = LoadLibraryA(path);

    if (!object)
        note_error();
    return object;
}

void *dlsym(void *object, const char *name)
{
    void *found = (void *)(uintptr_t)GetProcAddress(object, name);

    if (!found)
        note_error();
    return found;
}

int dlclose(void *object)
{
    return FreeLibrary(object) ? 0 : -1;
}

const char *dlerror(void)
{
    return error;
}

bool posix_is_code(const void *address)
{
    const DWORD executes =
        PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY;
    MEMORY_BASIC_INFORMATION memory;

    return VirtualQuery(address, &memory, sizeof memory) && memory.State == MEM_COMMIT &&
           memory.Type == MEM_IMAGE && memory.Protect & executes;
}

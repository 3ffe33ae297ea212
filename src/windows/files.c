/* Files as POSIX has them. All are binary: a text's lines end with \n alone. */
#include "windows/own.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <windows.h>
#include <winioctl.h>

__attribute__((constructor)) static void begin(void)
{
    _fmode = _O_BINARY;
    for (int file = 0; file < 3; file++)
        _setmode(file, _O_BINARY);
}

int posix_failed(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
        errno = ENOENT;
        break;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
        errno = EEXIST;
        break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
        errno = EACCES;
        break;
    case ERROR_DIR_NOT_EMPTY:
        errno = ENOTEMPTY;
        break;
    default:
        errno = EIO;
    }
    return -1;
}

/* ---- What a file is -------------------------------------------------------------------------- */

/* Windows counts in 100 ns since 1601. */
static struct timespec time_of(FILETIME time)
{
    const uint64_t ticks = (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;

    return (struct timespec){(time_t)(ticks / 10000000) - (time_t)11644473600,
                             (long)(ticks % 10000000) * 100};
}

static int describe(HANDLE file, struct posix_stat *out)
{
    BY_HANDLE_FILE_INFORMATION is;

    memset(out, 0, sizeof *out);
    if (GetFileType(file) != FILE_TYPE_DISK) {
        out->st_mode = S_IFCHR | 0666;
        return 0;
    }
    if (!GetFileInformationByHandle(file, &is))
        return posix_failed();
    out->st_dev = is.dwVolumeSerialNumber;
    out->st_ino = (uint64_t)is.nFileIndexHigh << 32 | is.nFileIndexLow;
    out->st_size = (int64_t)((uint64_t)is.nFileSizeHigh << 32 | is.nFileSizeLow);
    out->st_mode = is.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY  ? S_IFDIR | 0777
                   : is.dwFileAttributes & FILE_ATTRIBUTE_READONLY ? S_IFREG | 0444
                                                                   : S_IFREG | 0666;
    out->st_mtim = time_of(is.ftLastWriteTime);
    return 0;
}

int posix_stat(const char *path, struct posix_stat *out)
{
    HANDLE file = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                              OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    int result;

    if (file == INVALID_HANDLE_VALUE)
        return posix_failed();
    result = describe(file, out);
    CloseHandle(file);
    return result;
}

int posix_fstat(int file, struct posix_stat *out)
{
    return describe((HANDLE)_get_osfhandle(file), out);
}

int fchmod(int file, mode_t mode)
{
    return 0;
}

/* ---- Names ----------------------------------------------------------------------------------- */

int posix_mkdir(const char *path, mode_t mode)
{
    return CreateDirectoryA(path, NULL) ? 0 : posix_failed();
}

int(posix_rename)(const char *from, const char *to)
{
    return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) ? 0 : posix_failed();
}

char *realpath(const char *path, char *none)
{
    char full[MAX_PATH];
    DWORD length = GetFullPathNameA(path, sizeof full, full, NULL);

    if (!length || length >= sizeof full || GetFileAttributesA(full) == INVALID_FILE_ATTRIBUTES) {
        errno = ENOENT;
        return NULL;
    }
    for (char *at = full; *at; at++)
        if (*at == '\\')
            *at = '/';
    return strdup(full);
}

ssize_t readlink(const char *path, char *out, size_t bytes)
{
    errno = EINVAL;
    return -1;
}

int geteuid(void)
{
    return 0;
}

char *mkdtemp(char *pattern)
{
    char *digits = pattern + strlen(pattern) - 6;

    for (unsigned i = 0; i < 1000; i++) {
        snprintf(digits, 7, "%03x%03x", (unsigned)GetCurrentProcessId() & 0xfff,
                 (unsigned)(GetTickCount() + i) & 0xfff);
        if (CreateDirectoryA(pattern, NULL))
            return pattern;
    }
    errno = EEXIST;
    return NULL;
}

int setenv(const char *name, const char *value, int overwrites)
{
    return !overwrites && getenv(name) ? 0 : _putenv_s(name, value);
}

/* ---- Content --------------------------------------------------------------------------------- */

static OVERLAPPED place_of(off_t offset)
{
    return (OVERLAPPED){.Offset = (DWORD)offset, .OffsetHigh = (DWORD)((uint64_t)offset >> 32)};
}

/* The file's own place stays, as POSIX wants it. */
static int64_t own_place(HANDLE file)
{
    LARGE_INTEGER place = {0};

    SetFilePointerEx(file, place, &place, FILE_CURRENT);
    return place.QuadPart;
}

static void set_own_place(HANDLE file, int64_t place)
{
    SetFilePointerEx(file, (LARGE_INTEGER){.QuadPart = place}, NULL, FILE_BEGIN);
}

ssize_t pread(int file, void *out, size_t bytes, off_t offset)
{
    HANDLE handle = (HANDLE)_get_osfhandle(file);
    OVERLAPPED place = place_of(offset);
    const int64_t before = own_place(handle);
    DWORD moved = 0;
    bool is_read = ReadFile(handle, out, (DWORD)bytes, &moved, &place);

    if (!is_read && GetLastError() != ERROR_HANDLE_EOF)
        return posix_failed();
    set_own_place(handle, before);
    return moved;
}

ssize_t pwrite(int file, const void *from, size_t bytes, off_t offset)
{
    HANDLE handle = (HANDLE)_get_osfhandle(file);
    OVERLAPPED place = place_of(offset);
    const int64_t before = own_place(handle);
    DWORD moved = 0;

    if (!WriteFile(handle, from, (DWORD)bytes, &moved, &place))
        return posix_failed();
    set_own_place(handle, before);
    return moved;
}

int posix_ftruncate(int file, off_t bytes)
{
    HANDLE handle = (HANDLE)_get_osfhandle(file);
    const int64_t before = own_place(handle);
    bool is_set;

    set_own_place(handle, bytes);
    is_set = SetEndOfFile(handle);
    set_own_place(handle, before);
    return is_set ? 0 : posix_failed();
}

int fsync(int file)
{
    return _commit(file);
}

int fallocate(int file, int mode, off_t offset, off_t bytes)
{
    errno = ENOTSUP;
    return -1;
}

/* Bytes that were never written cost no space: the file is sparse where the file system can. */
int memfd_create(const char *name, unsigned flags)
{
    char folder[MAX_PATH], path[MAX_PATH];
    HANDLE file;
    DWORD got;

    if (flags & MFD_ALLOW_SEALING) {
        errno = EINVAL;
        return -1;
    }
    if (!GetTempPathA(sizeof folder, folder) || !GetTempFileNameA(folder, "dry", 0, path))
        return posix_failed();
    file = CreateFileA(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                       FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return posix_failed();
    DeviceIoControl(file, FSCTL_SET_SPARSE, NULL, 0, NULL, 0, &got, NULL);
    return _open_osfhandle((intptr_t)file, _O_RDWR | _O_BINARY);
}

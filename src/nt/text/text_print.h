/*
 * The C run time's functions that format, for one width of characters.
 *
 * Place      nt, private: included by text.c and wide_text.c, each of which has said what UNIT is
 *            (char, WCHAR) and which function NT_PRINT() is of format.c.
 * Source     Public documentation of sprintf, _snprintf, sprintf_s, _snprintf_s and their wide
 *            forms.
 */
static int NTAPI print_within(UNIT *out, SIZE_T room, const UNIT *format, nt_va_list arguments)
{
    size_t needed = NT_PRINT(out, room, true, format, &arguments);

    return needed < room ? (int)needed : -1;
}

/* The old ones write no zero where the text fills the buffer, and say -1 only when it is longer. */
static int NTAPI print_old(UNIT *out, SIZE_T room, const UNIT *format, nt_va_list arguments)
{
    size_t needed = NT_PRINT(out, room, false, format, &arguments);

    return needed <= room ? (int)needed : -1;
}

static int NTAPI print_safely(UNIT *out, SIZE_T room, const UNIT *format, nt_va_list arguments)
{
    int length;

    if (!out || !room || !format)
        return -1;
    length = print_within(out, room, format, arguments);
    if (length < 0)
        out[0] = 0;
    return length;
}

static int NTAPI print_cut_safely(UNIT *out, SIZE_T room, SIZE_T most, const UNIT *format,
                                  nt_va_list arguments)
{
    size_t needed;

    if (!out || !room || !format)
        return -1;
    needed = NT_PRINT(out, most < room ? most + 1 : room, true, format, &arguments);
    if (needed <= most && needed < room)
        return (int)needed;
    if (most != NT_TRUNCATE && most >= room)
        out[0] = 0;
    return -1;
}

#define WITH_ARGUMENTS(last, call)                                                                 \
    nt_va_list arguments;                                                                          \
    int length;                                                                                    \
                                                                                                   \
    NT_VA_START(arguments, last);                                                                  \
    length = call;                                                                                 \
    NT_VA_END(arguments);                                                                          \
    return length

/* The kernel's swprintf has no size, as it was before the standard gave it one. */
static int NTAPI print_anywhere(UNIT *out, const UNIT *format, ...)
{
    WITH_ARGUMENTS(format, print_within(out, INT32_MAX, format, arguments));
}

static int NTAPI print_old_arguments(UNIT *out, SIZE_T room, const UNIT *format, ...)
{
    WITH_ARGUMENTS(format, print_old(out, room, format, arguments));
}

static int NTAPI print_arguments_safely(UNIT *out, SIZE_T room, const UNIT *format, ...)
{
    WITH_ARGUMENTS(format, print_safely(out, room, format, arguments));
}

static int NTAPI print_arguments_cut_safely(UNIT *out, SIZE_T room, SIZE_T most, const UNIT *format,
                                            ...)
{
    WITH_ARGUMENTS(format, print_cut_safely(out, room, most, format, arguments));
}

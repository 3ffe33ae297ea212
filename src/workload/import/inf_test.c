#include "workload/import/inf.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct workload_inf inf;
static struct workload_error error;

static bool read_inf(const char *text, const char *id)
{
    return workload_inf_read("t.inf", text, strlen(text), id, &inf, &error);
}

static const char whole[] =
    "; a comment\r\n"
    "[Version]\r\n"
    "Class = Display\r\n"
    "[Manufacturer]\r\n"
    "%Mfg% = Models, NTx86, NTamd64.10.0\r\n"
    "[models.ntAMD64.10.0]\r\n"
    "%Dev% = Inst, PCI\\VEN_1AF4&DEV_1050&SUBSYS_1100abcd&REV_01, PCI\\VEN_1AF4&DEV_1050\r\n"
    "\"Other\" = Inst2, ACPI\\OTHER\r\n"
    "[Models]\r\n"
    "Plain = Inst2, PCI\\VEN_0001&DEV_0002\r\n"
    "[Inst.NTamd64]\r\n"
    "AddReg = Regs, \\\r\n"
    "   More ; goes on\r\n"
    "[Inst]\r\n"
    "AddReg = Never\r\n"
    "[Never]\r\n"
    "HKR,,Never,%DWORD%,1\r\n"
    "[Regs]\r\n"
    "HKR,,EnableFoo,%DWORD%,0x10\r\n"
    "HKR,\"Sub Key\",Text,,\"a \"\"b\"\", c; d 100%%\"\r\n"
    "HKR,,Bin,1,00,ff, 10\r\n"
    "HKCU,,X,,y\r\n"
    "[More]\r\n"
    "HKLM,SYSTEM\\Scheduler,EnablePreemption,%DWORD%,0\r\n"
    "HKR,,List,0x00010000,a,b\r\n"
    "HKR,,Gone,0x00000004\r\n"
    "[Inst.NTamd64.Services]\r\n"
    "AddService = vgpu, 2, Svc\r\n"
    "[Svc]\r\n"
    "AddReg = SvcRegs\r\n"
    "[SvcRegs]\r\n"
    "HKR,Parameters,Level,0x00010001,-1\r\n"
    "[Inst.NTamd64.HW]\r\n"
    "AddReg = Msi\r\n"
    "[Msi]\r\n"
    "HKR,\"Interrupt "
    "Management\\MessageSignaledInterruptProperties\",MessageNumberLimit,%DWORD%,4\r\n"
    "HKR,\"Interrupt "
    "Management\\MessageSignaledInterruptProperties\",MessageNumberLimit,%DWORD%,64\r\n"
    "[Inst2]\r\n"
    "AddReg = More\r\n"
    "[Strings]\r\n"
    "Mfg = \"Some; vendor\"\r\n"
    "Dev = \"My GPU\"\r\n"
    "DWORD = 0x00010001\r\n";

static void an_inf_becomes_words(void **state)
{
    assert_true(read_inf(whole, NULL));
    assert_string_equal(inf.words,
                        "pci:vendor=0x1af4,pci:device=0x1050,pci:subsystem=0x1100,"
                        "pci:subsystem-vendor=0xabcd,pci:revision=0x1,value:EnableFoo=0x10,"
                        "text:Sub%20Key\\Text=a%20%22b%22%2C%20c;%20d%20100%25,bytes:Bin=00ff10,"
                        "value:\\Registry\\Machine\\SYSTEM\\Scheduler\\EnablePreemption=0x0,"
                        "value:Parameters\\Level=0xffffffff,pci:messages=4");
    assert_true(workload_surroundings_check(inf.words, &error));
    assert_int_equal(inf.models, 2);
    assert_string_equal(inf.model, "My GPU, PCI\\VEN_1AF4&DEV_1050&SUBSYS_1100abcd&REV_01");
    assert_int_equal(inf.left_out, 4);
    assert_non_null(strstr(inf.first_left_out, "line 22: it is below another root"));
}

static void a_hardware_id_chooses_the_model(void **state)
{
    assert_true(read_inf(whole, "acpi\\other"));
    assert_string_equal(
        inf.words,
        "id=ACPI\\OTHER,value:\\Registry\\Machine\\SYSTEM\\Scheduler\\EnablePreemption=0x0");
    assert_true(read_inf(whole, "PCI\\VEN_1AF4&DEV_1050"));
    assert_memory_equal(inf.words, "pci:vendor=0x1af4,pci:device=0x1050,value:EnableFoo", 51);
    assert_false(read_inf(whole, "PCI\\VEN_0001&DEV_0002")); /* of the plain section */
    assert_non_null(strstr(error.text, "none of its models has the hardware ID"));
}

static void utf16_is_read_by_its_mark(void **state)
{
    static const char text[] = "[Manufacturer]\nA=M\n[M]\nB=I,ROOT\\X\n";
    unsigned char little[2 * sizeof text] = {0xff, 0xfe}, big[2 * sizeof text] = {0xfe, 0xff};
    char marked[sizeof text + 3] = "\xef\xbb\xbf";

    for (size_t i = 0; i + 1 < sizeof text; i++) {
        little[2 + 2 * i] = (unsigned char)text[i];
        big[3 + 2 * i] = (unsigned char)text[i];
    }
    assert_true(workload_inf_read("t.inf", little, sizeof little, NULL, &inf, &error));
    assert_string_equal(inf.words, "id=ROOT\\X");
    assert_true(workload_inf_read("t.inf", big, sizeof big, NULL, &inf, &error));
    assert_string_equal(inf.words, "id=ROOT\\X");
    strcat(marked, text);
    assert_true(read_inf(marked, NULL));
    assert_string_equal(inf.words, "id=ROOT\\X");
}

static void the_architecture_may_be_left_to_stampinf(void **state)
{
    assert_true(read_inf("[Manufacturer]\n%A%=M, NT$ARCH$.10.0\n[M.NT$ARCH$.10.0]\nB=I,ROOT\\X\n"
                         "[I.nt$Arch$]\nAddReg=R\n[R]\nHKR,,One,0x10001,1\n"
                         "[Strings]\nA=\"$ARCH\"",
                         NULL));
    assert_string_equal(inf.words, "id=ROOT\\X,value:One=0x1");
}

static void what_is_no_inf_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"", "no model with a hardware ID"},
        {"[Manufacturer]\nA=M\n", "no model with a hardware ID"},
        {"\n\n[Version", "t.inf:3: a section's name has no end"},
        {"[Manufacturer]\nA=M\n[M]\nB=I\n", "no model"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        assert_false(read_inf(wrong[i].text, NULL));
        assert_non_null(strstr(error.text, wrong[i].why));
    }
}

/* Each of 60 lines names 60 sections of 100 lines, each with names to look up. */
static void sections_that_name_each_other_end(void **state)
{
    static char text[4 << 20];
    size_t length = (size_t)sprintf(text, "[Manufacturer]\nA=M\n[M]\nB=I,ROOT\\X\n[I]\n");

    for (unsigned i = 0; i < 4000; i++) {
        length += (size_t)sprintf(text + length, "AddReg=");
        for (unsigned j = 0; j < 60; j++)
            length += (size_t)sprintf(text + length, "%sR", j ? "," : "");
        length += (size_t)sprintf(text + length, "\n");
    }
    length += (size_t)sprintf(text + length, "[R]\n");
    for (unsigned i = 0; i < 4000; i++)
        length += (size_t)sprintf(text + length, "HKR,,%%a%%%%b%%%%c%%,4\n");
    assert_false(read_inf(text, NULL));
    assert_non_null(strstr(error.text, "name each other too often"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_inf_becomes_words),
        cmocka_unit_test(a_hardware_id_chooses_the_model),
        cmocka_unit_test(utf16_is_read_by_its_mark),
        cmocka_unit_test(the_architecture_may_be_left_to_stampinf),
        cmocka_unit_test(what_is_no_inf_is_refused_with_its_line),
        cmocka_unit_test(sections_that_name_each_other_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

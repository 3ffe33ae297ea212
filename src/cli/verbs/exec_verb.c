/*
 * drydock exec: an application, with its user-mode driver, on the memory manager.
 */
#include "cli/cli.h"

#include "bench/config/command_line.h"
#include "bench/config/run_config.h"
#include "bench/exec/program.h"
#include "bench/exec/server.h"
#include "report/document.h"
#include "report/report.h"
#include "report/text_json.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define OPTIONS(ROW)                                                                               \
    ROW(LOCAL_MEMORY, "local-memory", 0, "SIZE", "local memory of the board (256M)")               \
    ROW(SYSTEM_MEMORY, "system-memory", 0, "SIZE", "system memory of the machine (4G)")            \
    ROW(SOCKET, "socket", 0, "PATH", "where clients find the server (in a folder of its own)")     \
    ROW(JOIN, "join", 0, "PATH", "start PROGRAM as a client of the server that listens there")     \
    ROW(RECORD, "record", 0, "FILE",                                                               \
        "write what the clients do as a case that plays without them")                             \
    ROW(OUT, "out", 0, "DIR", "a folder with what happened: record.ddr and run.json")              \
    ROW(REPORT, "report", 0, NULL, "a page for a browser: report.html in that folder (runs/...)")  \
    ROW(STACKS, "stacks", 0, NULL, "findings say the functions that led to the call, too (slow)")  \
    ROW(SPIN, "spin", 0, "US", "both sides look at a call so long before they sleep (0: not)")     \
    ROW(JSON, CLI_JSON)                                                                            \
    ROW(SEED, "seed", 0, "N", "of what the machine chooses (1)")                                   \
    ROW(DRIVER, "driver", 0, "NAME", "ref, the reference miniport, or an image: ./mygpu.sys")      \
    ROW(GPU, "gpu", 0, "NAME", "sgpu, or a model: ./mygpu.so (what the driver is for)")            \
    ROW(WDDM, "wddm", 0, "LEVEL", "26 for WDDM 2.6, ... (the driver's)")                           \
    ROW(OPTION, "option", 0, "KEY=VALUE", "an option of cases, as often as you like")
CLI_OPTIONS(OPTIONS)

#define MOST_CASE_OPTIONS 64u

struct request {
    const char *values[sizeof options / sizeof options[0]];
    const char *case_options[MOST_CASE_OPTIONS]; /* "KEY=VALUE" */
    unsigned case_option_count;
    char **program;
    uint64_t local_bytes, system_bytes, seed, spin_us;
    char command[1024]; /* as it was given */
};

static bool take_value(struct request *request, unsigned option, const char *value)
{
    if (option == OPTION_OPTION) {
        if (request->case_option_count == MOST_CASE_OPTIONS)
            return false;
        request->case_options[request->case_option_count++] = value;
    }
    request->values[option] = value;
    return true;
}

/* "--name VALUE" or "--name=VALUE"; false: none of the verb's options, or too many of it. */
static bool take_option(struct request *request, const struct cli_arguments *arguments, size_t *at)
{
    const char *word = arguments->raw[*at];

    for (unsigned i = 0; strncmp(word, "--", 2) == 0 && options[i].name; i++) {
        const size_t length = strlen(options[i].name);

        if (strncmp(word + 2, options[i].name, length) != 0)
            continue;
        if (!options[i].value) {
            if (word[2 + length])
                continue;
            return take_value(request, i, "");
        }
        if (word[2 + length] == '=')
            return take_value(request, i, word + 3 + length);
        if (!word[2 + length] && *at + 1 < arguments->raw_count)
            return take_value(request, i, arguments->raw[++*at]);
    }
    return false;
}

static bool take_arguments(const struct cli_arguments *arguments, struct request *request)
{
    size_t at = 0;

    for (; at < arguments->raw_count && strcmp(arguments->raw[at], "--") != 0; at++) {
        if (arguments->raw[at][0] != '-')
            break;
        if (!take_option(request, arguments, &at)) {
            cli_error("exec does not take '%s' here (drydock exec --help)", arguments->raw[at]);
            return false;
        }
    }
    at += at < arguments->raw_count && strcmp(arguments->raw[at], "--") == 0;
    if (at >= arguments->raw_count) {
        cli_error("exec takes a program: drydock exec -- PROGRAM [ARGUMENT...]");
        return false;
    }
    request->program = calloc(arguments->raw_count - at + 1, sizeof *request->program);
    for (size_t i = at; request->program && i < arguments->raw_count; i++)
        request->program[i - at] = (char *)(uintptr_t)arguments->raw[i];
    return request->program &&
           cli_number("local-memory",
                      request->values[OPTION_LOCAL_MEMORY] ? request->values[OPTION_LOCAL_MEMORY]
                                                           : "256M",
                      UINT64_C(8) << 20, UINT64_C(1) << 40, &request->local_bytes) &&
           cli_number("system-memory",
                      request->values[OPTION_SYSTEM_MEMORY] ? request->values[OPTION_SYSTEM_MEMORY]
                                                            : "4G",
                      UINT64_C(64) << 20, UINT64_C(1) << 40, &request->system_bytes) &&
           cli_number("seed", request->values[OPTION_SEED] ? request->values[OPTION_SEED] : "1", 0,
                      UINT64_MAX, &request->seed) &&
           cli_number("spin", request->values[OPTION_SPIN] ? request->values[OPTION_SPIN] : "0", 0,
                      EXEC_MOST_SPIN_US, &request->spin_us);
}

/* Beside the program when it is in its build folder, else where it is installed. */
static bool find_library(char folder[4096])
{
    static const char *const places[] = {"", "/../lib/drydock", "/../lib64/drydock",
                                         "/../lib/x86_64-linux-gnu/drydock"};
    char path[4400];
    char own[4096];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);

    own[length > 0 ? length : 0] = '\0';
    if (strrchr(own, '/'))
        *strrchr(own, '/') = '\0';
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        snprintf(path, sizeof path, "%s%s/libdxcore.so", own, places[i]);
        if (access(path, R_OK))
            continue;
        snprintf(folder, 4096, "%.2000s%s", own, places[i]);
        return true;
    }
    cli_error("there is no libdxcore.so beside '%s' or in its lib/drydock", own);
    return false;
}

static enum cli_status join_server(const struct request *request, const char *folder)
{
    if (exec_set_environment(request->values[OPTION_JOIN], folder))
        execvp(request->program[0], request->program);
    cli_error("cannot start '%s'", request->program[0]);
    return CLI_USAGE;
}

static uint64_t calls_of(const struct exec_server *server)
{
    uint64_t calls = 0;

    for (unsigned i = 0; i < D3DKMT_FN_COUNT; i++)
        calls += server->counts.front.calls[i];
    return calls;
}

/* Advice is told, and counts for nothing. */
static uint64_t findings_of(const struct exec_server *server, const struct run_result *result)
{
    uint64_t count = result->finding_count;

    for (unsigned i = 0; i < server->breach_count; i++)
        count += !client_rule_is_advice(server->breaches[i].rule);
    return count;
}

/* "1 finding", "2 findings". */
static const char *count_of(char out[48], uint64_t count, const char *word)
{
    snprintf(out, 48, "%llu %s%s", (unsigned long long)count, word, count == 1 ? "" : "s");
    return out;
}

static void tell_breach(const struct exec_server *server, const struct exec_breach *breach)
{
    char number[48];

    cli_note("%s: %s %s", client_rule_is_advice(breach->rule) ? "advice" : "finding",
             client_rule_id(breach->rule), breach->text);
    cli_note("  rule       %s (data/d3dkmt/contract.md)", client_rule_text(breach->rule));
    cli_note("  process    %u (pid %d); broken %s in all", breach->process, breach->pid,
             count_of(number, server->broken[breach->rule], "time"));
    for (unsigned i = 0; i < 7 && breach->places[i][0]; i++)
        cli_note("  %s %s", i ? "          " : "from      ", breach->places[i]);
}

static void tell(const struct exec_server *server, const struct run_result *result)
{
    char lanes[48], number[6][48];

    snprintf(lanes, sizeof lanes, " (%llu by lanes)",
             (unsigned long long)server->counts.lane_messages);
    cli_note("%s, %s%s, %s; %s, %s moved in, %llu out; %s%s",
             count_of(number[0], server->counts.clients, "client"),
             count_of(number[1], calls_of(server), "call"),
             server->counts.lane_messages ? lanes : "",
             count_of(number[2], server->counts.front.submissions, "submission"),
             count_of(number[3], result->statistics.evictions, "eviction"),
             count_of(number[4], result->statistics.moved_in_bytes, "byte"),
             (unsigned long long)result->statistics.moved_out_bytes,
             count_of(number[5], findings_of(server, result), "finding"),
             server->counts.died ? "; clients ended with what they had" : "");
    if (server->counts.front.demotions)
        cli_note("%s of %s: what did not fit side by side took turns",
                 count_of(number[0], server->counts.front.demotions, "demotion"),
                 count_of(number[1], server->counts.front.demoted_bytes, "byte"));
    if (server->counts.left_out)
        cli_note("%s not run: the GPU's model has no execution units, and what kernels should have "
                 "written is not there",
                 count_of(number[0], server->counts.left_out, "kernel"));
    for (unsigned i = 0; i < result->finding_count; i++)
        cli_note("finding: %s%s%s", result->findings[i].rule,
                 result->findings[i].rule[0] ? " " : "", result->findings[i].text);
    for (unsigned i = 0; i < server->breach_count; i++)
        tell_breach(server, &server->breaches[i]);
    if (WIFSIGNALED(server->program_status))
        cli_note("the program was ended by signal %d", WTERMSIG(server->program_status));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *breach_json(const struct exec_server *server, const struct exec_breach *breach)
{
    json_t *places = json_array();

    for (unsigned i = 0; i < 7 && breach->places[i][0]; i++)
        json_array_append_new(places, report_text_json(breach->places[i]));
    return json_pack(
        "{s:s, s:s, s:o, s:o, s:b, s:i, s:i, s:I, s:o}", "rule", client_rule_id(breach->rule),
        "says", client_rule_text(breach->rule), "text", report_text_json(breach->text), "argument",
        report_argument_json(&breach->argument), "is_advice",
        (int)client_rule_is_advice(breach->rule), "process", (int)breach->process, "pid",
        breach->pid, "broken", (json_int_t)server->broken[breach->rule], "stack", places);
}

static bool print_json(const struct exec_server *server, const struct run_result *result)
{
    const struct d3dkmt_statistics *front = &server->counts.front;
    json_t *json = report_document("exec"), *calls = json_object(), *breaches = json_array();
    json_t *findings = json_array();

    for (unsigned i = 0; i < D3DKMT_FN_COUNT; i++) {
        if (front->calls[i])
            json_object_set_new(calls, d3dkmt_function_name(i),
                                json_integer((json_int_t)front->calls[i]));
    }
    for (unsigned i = 0; i < result->finding_count; i++)
        json_array_append_new(findings, json_pack("{s:s, s:s, s:o}", "kind",
                                                  run_finding_kind_name(result->findings[i].kind),
                                                  "rule", result->findings[i].rule, "text",
                                                  report_text_json(result->findings[i].text)));
    for (unsigned i = 0; i < server->breach_count; i++)
        json_array_append_new(breaches, breach_json(server, &server->breaches[i]));
#define NUMBER(key, value) json_object_set_new(json, key, json_integer((json_int_t)(value)))
    json_object_set_new(json, "program", report_text_json(server->config.program[0]));
    NUMBER("exit_status",
           WIFEXITED(server->program_status) ? WEXITSTATUS(server->program_status) : -1);
    NUMBER("signal", WIFSIGNALED(server->program_status) ? WTERMSIG(server->program_status) : 0);
    NUMBER("clients", server->counts.clients);
    NUMBER("died", server->counts.died);
    json_object_set_new(json, "calls", calls);
    NUMBER("lane_calls", server->counts.lane_messages);
    NUMBER("looks", server->counts.looks);
    NUMBER("refused_messages", server->counts.refused_messages);
    NUMBER("submissions", front->submissions);
    NUMBER("refused_residency", front->refused_residency);
    NUMBER("starved_requests", front->starved_requests);
    NUMBER("demotions", front->demotions);
    NUMBER("demoted_bytes", front->demoted_bytes);
    NUMBER("evictions", result->statistics.evictions);
    NUMBER("moved_in_bytes", result->statistics.moved_in_bytes);
    NUMBER("moved_out_bytes", result->statistics.moved_out_bytes);
#undef NUMBER
    json_object_set_new(json, "findings", findings);
    json_object_set_new(json, "client_findings", breaches);
    return cli_print_json(json);
}

/* ---- The board ------------------------------------------------------------------------------- */

static bool set_option(struct workload *workload, const char *key, const char *value)
{
    struct workload_error error;

    if (workload_set_option(workload, key, value, &error))
        return true;
    cli_error("%s", error.text);
    return false;
}

/* Options of cases that a run of applications has: NULL, with a word, when one is not one. */
static struct workload *read_options(const struct request *request)
{
    static const char nothing[] = "drydock-case 1\n";
    static const struct {
        unsigned option;
        const char *key;
    } own[] = {{OPTION_DRIVER, "driver"}, {OPTION_GPU, "gpu"}, {OPTION_WDDM, "wddm"}};
    struct workload_error error;
    struct workload *workload;
    bool is_right = true;

    if (!workload_parse(nothing, sizeof nothing - 1, "exec", &workload, &error)) {
        cli_error("%s", error.text);
        return NULL;
    }
    for (unsigned i = 0; is_right && i < sizeof own / sizeof own[0]; i++) {
        const char *value = request->values[own[i].option];

        is_right = !value || ((own[i].option != OPTION_DRIVER || cli_find_driver(value)) &&
                              set_option(workload, own[i].key, value));
    }
    for (unsigned i = 0; is_right && i < request->case_option_count; i++) {
        const char *equals = strchr(request->case_options[i], '=');
        char key[64];

        is_right = equals && (size_t)(equals - request->case_options[i]) < sizeof key;
        if (!is_right) {
            cli_error("option --option: '%s' is not KEY=VALUE", request->case_options[i]);
            break;
        }
        snprintf(key, sizeof key, "%.*s", (int)(equals - request->case_options[i]),
                 request->case_options[i]);
        is_right = set_option(workload, key, equals + 1);
    }
    if (is_right)
        return workload;
    workload_free(workload);
    return NULL;
}

static void configure(const struct request *request, const struct workload *options_of_case,
                      struct run_config *config)
{
    run_config_defaults(config);
    config->model = RUN_GPUMMU;
    config->is_model_given = true;
    config->scatter = MACHINE_CONTIGUOUS; /* content is real bytes: scattered pages cost time */
    run_config_from_workload(config, options_of_case);
    config->local_bytes = request->local_bytes;
    config->ram_bytes = request->system_bytes;
    config->seed = request->seed;
    config->checks_content = false;
    config->reference = RUN_REFERENCE_NEVER;
}

/* ---- The folder ------------------------------------------------------------------------------ */

/* Of --out, or for --report alone one of its own: "runs/clpeak-exec-1". False: there is none. */
static bool folder_path(const struct request *request, char path[512])
{
    const char *name = strrchr(request->program[0], '/');

    if (request->values[OPTION_OUT])
        snprintf(path, 512, "%s", request->values[OPTION_OUT]);
    else
        snprintf(path, 512, "runs/%s-exec-%" PRIu64, name ? name + 1 : request->program[0],
                 request->seed);
    return request->values[OPTION_OUT] || request->values[OPTION_REPORT];
}

/* The folder and the record in it; true as well where none is wanted. */
static bool open_folder(const struct request *request, struct report_folder *folder, int *record)
{
    char path[512], error[512];

    if (!folder_path(request, path))
        return true;
    if (!report_folder_begin(folder, path, error)) {
        cli_error("%s", error);
        return false;
    }
    *record = cli_open_record(folder);
    return *record >= 0;
}

/* The programs have ended. False, with a message: the folder, or its page, is not there. */
static bool finish_folder(const struct request *request, struct report_folder *folder, int record,
                          const struct run_result *result)
{
    const struct report_origin origin = {NULL, request->command};
    char path[600], error[256] = "";
    bool is_fine = !result->record_error[0];

    if (!folder->is_open)
        return true;
    if (!is_fine)
        snprintf(error, sizeof error, "%s", result->record_error);
    is_fine = is_fine && report_finish_record(record, result, &origin, error);
    if (!is_fine) {
        cli_error("record.ddr: %s", error);
        return false;
    }
    if (!cli_finish_folder(folder, result, &origin) ||
        (request->values[OPTION_REPORT] && !cli_report_run(folder->path, path)))
        return false;
    cli_note("written to %s", request->values[OPTION_REPORT] ? path : folder->path);
    return true;
}

/* What is said of it when it is over. */
static enum cli_status tell_end(const struct request *request, const struct exec_server *server,
                                const struct run_result *result)
{
    const bool is_refused = server->error[0] || result->outcome == RUN_REFUSED;

    if (is_refused || result->outcome == RUN_BROKEN) {
        cli_error("%s", server->error[0] ? server->error : result->error);
        return is_refused ? CLI_USAGE : CLI_INTERNAL;
    }
    if (!request->values[OPTION_JSON])
        tell(server, result);
    else if (!print_json(server, result))
        return CLI_INTERNAL;
    return result->outcome == RUN_CLEAN && !findings_of(server, result) && !server->program_status
               ? CLI_FINE
               : CLI_FINDINGS;
}

/* ---- An end in the middle -------------------------------------------------------------------- */

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static char last_words[512]; /* "": nobody is served */

/* The folder of the server's socket, and the socket, which go with the process that made them. */
static char own_folder[100], own_socket[sizeof((struct sockaddr_un){0}).sun_path];
static pid_t owner;

static void remove_own_folder(void)
{
    if (getpid() != owner) /* a child of a model's or a driver's */
        return;
    unlink(own_socket);
    rmdir(own_folder);
}

static bool make_folder_in(const char *folder)
{
    static const char name[] = "drydock-exec-XXXXXX";

    /* Clients that are somewhere else know the socket by its name. */
    if (!folder || folder[0] != '/' || strlen(folder) + sizeof name >= sizeof own_folder)
        return false;
    snprintf(own_folder, sizeof own_folder, "%s/%s", folder, name);
    return mkdtemp(own_folder) != NULL;
}

/* In TMPDIR where it can be, and where its name is not too long for the address of a socket. */
static bool make_own_folder(void)
{
    if (!make_folder_in(getenv("TMPDIR")) && !make_folder_in("/tmp"))
        return false;
    snprintf(own_socket, sizeof own_socket, "%s/socket", own_folder);
    owner = getpid();
    return true;
}

static void tell_last_words(const char *what)
{
    ssize_t ignored = write(STDERR_FILENO, what, strlen(what));

    ignored = write(STDERR_FILENO, last_words, strlen(last_words));
    (void)ignored;
    remove_own_folder();
}

static void end_by_signal(int number)
{
    tell_last_words("drydock: ended by a signal");
    signal(number, SIG_DFL);
    raise(number);
}

enum { INTERRUPTS = 3 };

static const int interrupts[INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction former[INTERRUPTS];

static void end_by_interrupt(int number)
{
    remove_own_folder();
    for (size_t i = 0; i < INTERRUPTS; i++) {
        if (interrupts[i] == number)
            sigaction(number, &former[i], NULL);
    }
    raise(number);
}

/* exit(), called by a plug-in: its status would be this verb's. */
static void end_by_exit(void)
{
    if (!last_words[0])
        return;
    tell_last_words("drydock: something has ended the process");
    _exit(CLI_USAGE);
}

/* The model and the driver are in this process, and what they do to it is nobody's finding. */
static void watch_end(const struct request *request)
{
    static bool is_watching;
    const char *gpu = request->values[OPTION_GPU], *driver = request->values[OPTION_DRIVER];

    snprintf(last_words, sizeof last_words,
             " while clients were served, in the GPU model '%.150s', the driver '%.150s' or the "
             "bench, which are one process here\n",
             gpu ? gpu : "the driver's", driver ? driver : "ref");
    if (!is_watching)
        atexit(end_by_exit);
    is_watching = true;
    for (size_t i = 0; i < sizeof fatal_signals / sizeof fatal_signals[0]; i++)
        sigaction(
            fatal_signals[i],
            &(struct sigaction){.sa_handler = end_by_signal, .sa_flags = SA_ONSTACK | SA_RESETHAND},
            NULL);
    for (size_t i = 0; i < INTERRUPTS; i++) {
        /* One that the caller has us ignore stays ignored. */
        if (sigaction(interrupts[i], NULL, &former[i]) == 0 && former[i].sa_handler != SIG_IGN)
            sigaction(interrupts[i], &(struct sigaction){.sa_handler = end_by_interrupt}, NULL);
    }
}

static void leave_end(void)
{
    last_words[0] = '\0';
}

static struct exec_server_config server_config(const struct request *request, const char *folder)
{
    return (struct exec_server_config){
        .socket_path = request->values[OPTION_SOCKET] ? request->values[OPTION_SOCKET] : own_socket,
        .program = request->program,
        .library_dir = folder,
        .driver = request->values[OPTION_DRIVER],
        .record = request->values[OPTION_RECORD],
        .speaks_aside = request->values[OPTION_JSON] != NULL,
        .spin_ns = request->spin_us * 1000,
    };
}

static enum cli_status serve(const struct request *request, const char *folder)
{
    struct exec_server *server = calloc(1, sizeof *server);
    struct run_result *result = calloc(1, sizeof *result);
    enum cli_status status = CLI_INTERNAL;
    struct workload *options_of_case = read_options(request);
    struct report_folder results = {.is_open = false};
    struct run_config config;
    int record = 0;

    /* Told before the program is started, not when it has ended. */
    if (!options_of_case ||
        (request->values[OPTION_RECORD] && !cli_may_write(request->values[OPTION_RECORD])) ||
        !open_folder(request, &results, &record)) {
        status = CLI_USAGE;
        goto free_memory;
    }
    if (!server || !result || !make_own_folder()) {
        cli_error("no memory, or no folder for a socket");
        goto free_memory;
    }
    server->config = server_config(request, folder);
    if (request->values[OPTION_STACKS])
        setenv("DRYDOCK_STACKS", "1", 1);
    configure(request, options_of_case, &config);
    config.record_file = record;
    watch_end(request);
    exec_serve(server, &config, result);
    leave_end();
    remove_own_folder();
    status = tell_end(request, server, result);
    if (status < CLI_USAGE && !finish_folder(request, &results, record, result))
        status = CLI_USAGE;
    run_result_fini(result);
free_memory:
    if (record > 0)
        close(record);
    report_folder_abandon(&results);
    if (options_of_case)
        workload_free(options_of_case);
    free(server);
    free(result);
    return status;
}

static enum cli_status run(const struct cli_arguments *arguments)
{
    struct request request = {0};
    enum cli_status status = CLI_USAGE;
    char folder[4096];

    snprintf(request.command, sizeof request.command, "drydock exec");
    for (size_t i = 0; i < arguments->raw_count; i++)
        command_line_append(request.command, sizeof request.command, arguments->raw[i]);
    if (take_arguments(arguments, &request) && find_library(folder))
        status =
            request.values[OPTION_JOIN] ? join_server(&request, folder) : serve(&request, folder);
    free(request.program);
    return status;
}

const struct cli_verb cli_exec = {
    .name = "exec",
    .usage = "[options] -- PROGRAM [ARGUMENT...]",
    .summary = "Runs an application that speaks D3DKMT on the memory manager",
    .details =
        "The program finds our libdxcore.so before any other. Its calls go to a server in this\n"
        "process: the Drydock GPU, the reference driver, all rules checked, of the driver and of\n"
        "the program. Exit status 1: the program failed, or there are findings. With --json what\n"
        "the program prints goes to standard error. Another program joins the same adapter with\n"
        "--join PATH, the path being that of --socket. --report makes a page of what happened,\n"
        "with the calls of the clients (docs/applications.md).",
    .options = options,
    .takes_all = true,
    .run = run,
};

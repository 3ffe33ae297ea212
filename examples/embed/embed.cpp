// libvidmm in C++: the same machine and driver as in embed.c, with objects that end themselves, and
// the notes of the manager (vidmm/notes.h) counted by kind.
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

// Behind the C++ library, for which __in is a name of its own: to drivers it is a mark (ntdef.h).
#include "machine.h"

#include <vidmm/notes.h>

namespace {

void expect(NTSTATUS status, const char *what)
{
    if (!NT_SUCCESS(status))
        throw std::runtime_error(what);
}

struct PrivateData {
    uint64_t size;
    uint32_t flags, index;
};

// An adapter: the machine, the manager over it, a process and a device.
class Adapter {
public:
    Adapter()
    {
        vidmm_config config{};
        vidmm_failure failure{};

        expect(machine_begin(&machine_), "the machine");
        config.platform = machine_platform(&machine_);
        config.events.context = this;
        config.events.told = [](void *context, const vidmm_note *note) {
            static_cast<Adapter *>(context)->notes_[note->kind]++;
        };
        expect(vidmm_create(machine_.miniport, &config, &machine_.vidmm), "the manager");
        expect(vidmm_start(machine_.vidmm, &failure), failure.text);
        expect(vidmm_process_create(machine_.vidmm, &process_), "a process");
        expect(vidmm_device_create(process_, &device_), "a device");
        expect(vidmm_context_create(device_, 0, nullptr, 0, &context_), "a context");
    }
    Adapter(const Adapter &) = delete;
    Adapter &operator=(const Adapter &) = delete;
    ~Adapter()
    {
        vidmm_context_destroy(context_);
        run();
        vidmm_device_destroy(device_);
        run();
        vidmm_process_destroy(process_);
        vidmm_stop(machine_.vidmm);
        vidmm_destroy(machine_.vidmm);
        machine_.vidmm = nullptr;
        machine_end(&machine_);
    }

    struct End {
        void operator()(vidmm_allocation *allocation) const { vidmm_allocation_destroy(allocation); }
    };
    using Surface = std::unique_ptr<vidmm_allocation, End>;

    Surface make(uint64_t bytes, uint32_t index)
    {
        const PrivateData data{bytes, 0, index};
        vidmm_allocation *allocation = nullptr;

        expect(vidmm_allocation_create(device_, &data, sizeof data, nullptr, &allocation), "a surface");
        return Surface(allocation);
    }
    NTSTATUS use(const Surface &surface)
    {
        const vidmm_reference reference{surface.get(), true};
        NTSTATUS ended = STATUS_PENDING;

        expect(vidmm_render(
                   context_, "", 1, 1, &reference,
                   [](void *context, NTSTATUS status, uint64_t, uint64_t) {
                       *static_cast<NTSTATUS *>(context) = status;
                   },
                   &ended),
               "a submission");
        run();
        return ended;
    }
    void run() { machine_run(&machine_); }
    unsigned notes(int kind) { return notes_[kind]; }

private:
    machine machine_{};
    vidmm_process *process_ = nullptr;
    vidmm_device *device_ = nullptr;
    vidmm_context *context_ = nullptr;
    std::map<int, unsigned> notes_;
};

} // namespace

int main()
try {
    auto adapter = std::make_unique<Adapter>();
    unsigned victims;
    {
        std::vector<Adapter::Surface> surfaces;

        for (uint32_t i = 0; i < 6; i++)
            surfaces.push_back(adapter->make(uint64_t{4} << 20, i));
        for (unsigned i = 0; i < 18; i++)
            if (adapter->use(surfaces[i % surfaces.size()]) != STATUS_SUCCESS)
                return 1;
        victims = adapter->notes(VIDMM_NOTE_VICTIM);
    }
    adapter->run();
    std::printf("libvidmm %s: %u victims in 18 submissions\n", vidmm_version(), victims);
    return victims == 0;
} catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
}

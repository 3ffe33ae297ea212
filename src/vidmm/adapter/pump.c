#include "vidmm/adapter/pump.h"

#include "vidmm/vidmm_private.h"

void vidmm_pump(struct vidmm *vidmm)
{
    const struct pump_step *step;

    if (vidmm->is_pumping || vidmm->callback_depth) {
        vidmm->pump_again = true;
        return;
    }
    vidmm->is_pumping = true;
    do {
        vidmm->pump_again = false;
        for (step = vidmm->pump_steps; step->run; step++) {
            if ((step->power_states >> vidmm->power.state & 1) && step->run(vidmm))
                vidmm->pump_again = true;
        }
    } while (vidmm->pump_again);
    if (notes_are_heard(vidmm))
        vidmm->notes.tell_samples(vidmm);
    vidmm->is_pumping = false;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/wait_reason.h"

#include <string.h>

#include "base/text.h"

/* So many innermost frames are looked at: a method of Ruby's own may call another one. */
#define FRAMES 3u

static const struct {
	const char *method;
	uint32_t state;
} reasons[] = {
	{ "Thread::Queue#pop", STATE_QUEUE },
	{ "Thread::SizedQueue#pop", STATE_QUEUE },
	{ "Thread::SizedQueue#push", STATE_QUEUE },
	{ "Thread::Mutex#lock", STATE_MUTEX },
	{ "Thread::Mutex#synchronize", STATE_MUTEX },
	{ "Monitor#enter", STATE_MUTEX },
	{ "Monitor#synchronize", STATE_MUTEX },
	{ "Thread::ConditionVariable#wait", STATE_CONDVAR },
	{ "Thread::Mutex#sleep", STATE_CONDVAR },
	{ "Thread#join", STATE_JOIN },
	{ "Thread#value", STATE_JOIN },
	{ "Ractor.receive", STATE_RACTOR },
	{ "Ractor#receive", STATE_RACTOR },
	{ "Ractor#take", STATE_RACTOR },
	{ "Ractor.yield", STATE_RACTOR },
	{ "Ractor.select", STATE_RACTOR },
	{ "Kernel#sleep", STATE_SLEEP },
};

uint32_t wait_reason(struct vm *vm, const struct sample_event *e, const struct sample_frame *frames)
{
	struct text name = { 0 };
	uint32_t state = e->state;

	if (e->state != STATE_SLEEP || e->kind != SAMPLE_RUBY || DETAIL_KIND(e->detail) ||
	    vm->layout.section.abi_minor >= 1)
		return state;
	for (uint32_t i = 0; i < FRAMES && i < e->nr_frames; i++) {
		const struct symbol *symbol;

		if (frames[i].id < RB_DEBUG_EXT_ID_FIRST || frames[i].id >> 31)
			continue;
		symbol = symbols__get(&vm->symbols, frames[i].id);
		if (!symbol || symbol->state != SYMBOL_OK)
			continue;
		text__clear(&name);
		symbols__add_name(symbol, &name);
		for (size_t k = 0; !name.failed && k < sizeof(reasons) / sizeof(reasons[0]); k++)
			if (!strcmp(text__string(&name), reasons[k].method)) {
				state = reasons[k].state;
				goto cleanup;
			}
	}
cleanup:
	text__free(&name);
	return state;
}

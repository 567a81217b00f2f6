/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/uprobe_multi.h"
#include "source/permission.h"
#include "source/usdt.h"

/* More threads than this would not make it faster: the kernel lets about so many wait for one moment. */
#define CLOSERS_MAX 128u
#define CLOSER_STACK (64u << 10)
#define LINKS_MAX (1u << 20)

static pthread_once_t looked = PTHREAD_ONCE_INIT;
static bool has_multi;

static void look_for_multi(void)
{
	has_multi = uprobe_multi__exists();
}

void usdt__prepare(struct bpf_program *program)
{
	pthread_once(&looked, look_for_multi);
	if (has_multi)
		bpf_program__set_expected_attach_type(program, UPROBE_MULTI_ATTACH);
}

static int attach_all(struct bpf_program *program, const char *path, const struct usdt_place *places, uint32_t count,
		      struct usdt_links *links)
{
	uint64_t offsets[USDT_PLACES_MAX], semaphores[USDT_PLACES_MAX];
	int fd;

	for (uint32_t i = 0; i < count; i++) {
		offsets[i] = places[i].offset;
		semaphores[i] = places[i].semaphore;
	}
	fd = uprobe_multi__create(bpf_program__fd(program), path, offsets, semaphores, count);
	if (fd < 0)
		return fd;
	links->all = fd;
	return 0;
}

static int attach_each(struct bpf_program *program, const char *path, const struct usdt_place *places, uint32_t count,
		       struct usdt_links *links)
{
	for (uint32_t i = 0; i < count; i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = places[i].semaphore);
		struct bpf_link *link = bpf_program__attach_uprobe_opts(program, -1, path, places[i].offset, &opts);
		int err = -errno;

		if (!link) {
			while (links->count)
				bpf_link__destroy(links->each[--links->count]);
			return err;
		}
		links->each[links->count++] = link;
	}
	return 0;
}

int usdt__attach(struct bpf_program *program, int fd, const struct usdt_place *places, uint32_t count,
		 struct usdt_links *links, struct diag *d)
{
	bool multi = bpf_program__expected_attach_type(program) == UPROBE_MULTI_ATTACH;
	char path[64];
	int err;

	if (!count || count > USDT_PLACES_MAX)
		return diag__set(d, DIAG_INTERNAL, EINVAL, "a probe of the program has %u places", count);
	/* The kernel follows this to the open file, wherever that is, also if it has been deleted. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(links, 0, sizeof(*links));
	err = multi ? attach_all(program, path, places, count, links) : attach_each(program, path, places, count, links);
	links->attached = !err;
	if (!err)
		return 0;
	if (err == -EPERM || err == -EACCES) {
		permission__missing(d, err, "attach a BPF program to a probe");
		if (!multi)
			diag__hint(d, "run extprof as root, or give it the capability CAP_SYS_ADMIN too: before Linux 6.6 kernels that "
				   "were mended since July 2025 want it for probes");
		return err;
	}
	diag__set(d, DIAG_NO_BPF, -err, "cannot attach to a probe of the program: %s", strerror(-err));
	diag__hint(d, "probes need a kernel with CONFIG_UPROBE_EVENTS");
	return err;
}

void usdt__detach(struct usdt_links *links, struct usdt_bin *bin)
{
	if (!links->attached)
		return;
	links->attached = false;
	/* To wait for several of these at a time does not make it faster. */
	if (links->count) {
		while (links->count)
			bpf_link__destroy(links->each[--links->count]);
		return;
	}
	if (array__reserve(&bin->links, bin->count, 1, &bin->room, LINKS_MAX, sizeof(*bin->links)))
		close(links->all);
	else
		bin->links[bin->count++] = links->all;
}

struct closers {
	const struct usdt_bin *bin;
	uint32_t next;
};

static void *close_links(void *context)
{
	struct closers *c = context;
	uint32_t i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->bin->count)
		close(c->bin->links[i]);
	return NULL;
}

void usdt_bin__empty(struct usdt_bin *bin)
{
	struct closers c = { .bin = bin };
	pthread_t threads[CLOSERS_MAX];
	uint32_t count = 0;
	sigset_t all, before;
	pthread_attr_t attr;

	/* This thread is one of them.  Signals are for those that the program knows of. */
	if (bin->count > 1 && !pthread_attr_init(&attr)) {
		pthread_attr_setstacksize(&attr, CLOSER_STACK);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		while (count < CLOSERS_MAX - 1 && count < bin->count - 1 &&
		       !pthread_create(&threads[count], &attr, close_links, &c))
			count++;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		pthread_attr_destroy(&attr);
	}
	close_links(&c);
	while (count)
		pthread_join(threads[--count], NULL);
	free(bin->links);
	memset(bin, 0, sizeof(*bin));
}

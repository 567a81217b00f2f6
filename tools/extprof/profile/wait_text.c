/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/wait_text.h"

#include <string.h>

#include "wire/states.h"

const char *wait_text__kind(uint32_t kind)
{
	static const char *const names[] = {
		[FILE_REGULAR] = "file", [FILE_DIRECTORY] = "directory", [FILE_PIPE] = "pipe",
		[FILE_SOCKET] = "socket", [FILE_DEVICE] = "device", [FILE_TERMINAL] = "terminal",
		[FILE_EVENTFD] = "eventfd", [FILE_TIMERFD] = "timerfd", [FILE_SIGNALFD] = "signalfd",
		[FILE_PIDFD] = "pidfd", [FILE_INOTIFY] = "inotify", [FILE_EPOLL] = "epoll",
	};

	return kind < sizeof(names) / sizeof(names[0]) && names[kind] ? names[kind] : "file";
}

const char *wait_text__file(const char *text, bool *is_own)
{
	static const char peer[] = "socket to ", own[] = "socket at ";

	*is_own = !strncmp(text, own, sizeof(own) - 1);
	if (*is_own || !strncmp(text, peer, sizeof(peer) - 1))
		return text + sizeof(own) - 1;
	for (uint32_t kind = 0; kind < FILE_KINDS; kind++) {
		size_t size = strlen(wait_text__kind(kind));

		if (!strncmp(text, wait_text__kind(kind), size) && text[size] == ' ')
			return text + size + 1;
	}
	return text;
}

bool wait_text__names(const struct frame *detail, const struct frame *thread)
{
	const char *before = !strcmp(detail->key, "waker") ? "woken by " : !strcmp(detail->key, "joined") ? "joins " : "";
	struct text text = { 0 };
	bool names = false;

	/* "[thread burner (77)]" */
	frame__add_text(thread, &text);
	if (!strncmp(detail->name, before, strlen(before)) && !text.failed && text.length > 2) {
		const char *name = detail->name + strlen(before);
		size_t length = text.length - 2;

		names = !strncmp(name, text.data + 1, length) && (!name[length] || !strncmp(name + length, " in ", 4));
	}
	text__free(&text);
	return names;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of samples that somebody made up.  Each input is what is compressed in one, so that the checksum is right, and
 * then a whole block as it is. */
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "recording/block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct block_codec codec;
	static uint8_t block[BLOCK_SIZE_MAX];
	uLongf length = sizeof(block) - 9;
	long count;

	if (!codec.raw && block_codec__init(&codec))
		abort();
	block__decode(&codec, data, size);
	if (size > BLOCK_RAW_MAX || compress2(block + 9, &length, data, size, 1) != Z_OK)
		return 0;
	for (int i = 0; i < 4; i++) {
		block[1 + i] = (uint8_t)(size >> 8 * i);
		block[5 + i] = (uint8_t)(crc32(0, data, (uInt)size) >> 8 * i);
	}
	for (uint8_t format = BLOCK_FORMAT_WITHOUT_FIBERS; format <= BLOCK_FORMAT_WITH_BOTH; format++) {
		block[0] = format;
		count = block__decode(&codec, block, length + 9);
		/* What was accepted can be written again. */
		if (count > 0 && block__encode(&codec, codec.samples, (uint32_t)count, 1001001) <= 0)
			abort();
	}
	return 0;
}

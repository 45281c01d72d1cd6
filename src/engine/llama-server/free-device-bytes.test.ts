import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freeDeviceBytes, readFreeBytes } from './free-device-bytes.ts'

test.each([
  ['Available devices:\n  (none)\n', 0],
  [
    'Available devices:\n  CUDA0: NVIDIA A10 (22731 MiB, 20000 MiB free)\n  CUDA1: NVIDIA A10 (22731 MiB, 1000 MiB free)\n',
    21_000,
  ],
  ['', 0],
])('the free memory in %j is summed', (list, mebibytes) => {
  expect(readFreeBytes(list)).toBe(mebibytes * 2 ** 20)
})

test('a program that does not list devices counts as having none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-devices-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const program = async (name: string, text: string) => {
    await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`)
    await chmod(join(folder, name), 0o755)
    return join(folder, name)
  }
  const lists = '[ "$1" = --list-devices ] && echo "  Vulkan0: a card (8000 MiB, 500 MiB free)"'
  expect(await freeDeviceBytes(await program('lists', lists))).toBe(500 * 2 ** 20)
  expect(await freeDeviceBytes(await program('refuses', 'echo "error: invalid argument: $1" >&2; exit 1'))).toBe(0)
  expect(await freeDeviceBytes(join(folder, 'absent'))).toBe(0)
})

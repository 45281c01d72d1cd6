import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { knowsArgument } from './knows-argument.ts'

test.each([
  { help: '-cram, --cache-ram N   set the maximum cache size', isKnown: true },
  { help: '--cache-ram-other N   something else', isKnown: false },
])('a server with the help $help knows --cache-ram: $isKnown', async ({ help, isKnown }) => {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-help-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const binary = join(folder, 'server')
  await writeFile(binary, `#!/bin/sh\necho '${help}'\n`)
  await chmod(binary, 0o755)
  expect(await knowsArgument(binary, '--cache-ram')).toBe(isKnown)
})

test('a program that cannot be run knows no argument', async () => {
  expect(await knowsArgument('/absent/llama-server', '--cache-ram')).toBe(false)
})

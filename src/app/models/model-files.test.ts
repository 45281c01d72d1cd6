import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openHub } from '../../../test/support/upstream/hub.ts'
import { listenOnLoopback } from '../../../test/support/upstream/loopback.ts'
import { type ConfiguredModel, modelFromSource } from '../../config/models.ts'
import { builtinFile, builtinModel } from '../../registry/names/builtin-model.ts'
import { parseSource } from '../../registry/names/sources.ts'
import { roomFor } from './memory/memory-sharing.ts'
import { createModelFiles } from './model-files.ts'

const never = new AbortController().signal
const home = join(dirname(builtinModel.path), 'nothing-here')
const filesOf = (...all: readonly ConfiguredModel[]) =>
  createModelFiles({
    models: { all: () => all.map((config) => ({ id: config.id, config })) },
    home,
    sharing: { room: () => roomFor(8e9, 1) },
  })

describe('the estimate of a load', () => {
  test('of a model that is not here is the same as once it is, and only the beginning of its file is fetched', async () => {
    const hub = await openHub()
    const before = await readdir(tmpdir())
    const ahead = await filesOf().estimate({ name: 'owner/vision-GGUF' }, never)
    const here = await filesOf().estimate({ name: builtinModel.path }, never)
    expect(ahead).toEqual({ ...here, source: 'hf:owner/vision-GGUF' })
    expect(ahead.bytes).toBeGreaterThan(hub.sizeBytes)
    const files = hub.seen.filter(({ url }) => url.includes('/resolve/'))
    expect(files.map(({ url }) => url).join()).not.toContain('mmproj')
    expect(files.every(({ headers }) => Number(headers.range?.split('-')[1]) < hub.sizeBytes / 2)).toBe(true)
    expect((await readdir(tmpdir())).filter((name) => name.startsWith('dragoman-headers') && !before.includes(name))).toEqual([])
  })

  test('has the projector, the draft model and the adapters', async () => {
    const { path } = builtinModel
    const alone = { ...modelFromSource({ type: 'path', path }, 'one'), mmproj: 'none' as const }
    const adapter = parseSource(builtinFile('dragoman-tiny-mmproj.gguf') ?? '')
    const draft = { source: [parseSource(path)] }
    const load = { contextLength: 512 }
    const small = await filesOf(alone).plan('one', load)
    const large = await filesOf({ ...alone, draft, adapters: [{ name: 'small', source: [adapter], scale: 1 }] }).plan('one', load)
    expect(large?.sizeBytes).toBeGreaterThan(2 * (small?.sizeBytes ?? 0))
    expect(large?.bytes).toBeGreaterThan((small?.bytes ?? 0) + (small?.sizeBytes ?? 0))
  })

  test.each<[string, number, Record<string, string>, string]>([
    ['a server that does not send parts of files', 200, {}, 'does not send parts of files'],
    ['a file of another kind', 206, { 'content-range': 'bytes 0-65535/999999' }, 'this is not a GGUF file'],
  ])('is refused for %s', async (_, status, headers, why) => {
    const { origin, close } = await listenOnLoopback((_request, response) => {
      response.writeHead(status, headers).end('<html>'.repeat(20_000))
    })
    onTestFinished(close)
    await expect(filesOf().estimate({ name: `${origin}/m.gguf` }, never)).rejects.toThrow(why)
  })
})
